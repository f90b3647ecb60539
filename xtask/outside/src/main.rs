//! A provider and a consumer of a user: built by `cargo xtask ci outside` on `dubbo` and `dubbo-build` alone.

mod outside {
    dubbo::include_proto!("outside");
}

use std::{error::Error, time::Duration};

use dubbo::{
    Instance, Request, Response, Status,
    config::{ProtocolConfig, ReferenceConfig},
};
use outside::{PingRequest, PingResponse, Pinger, PingerClient, PingerServer};

struct Echo;

impl Pinger for Echo {
    async fn ping(&self, request: Request<PingRequest>) -> Result<Response<PingResponse>, Status> {
        let text = request.into_message().text;
        Ok(Response::new(PingResponse { text }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::builder()
        .application("outside")
        .protocol("triple", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .provide(PingerServer::new(Echo))
        .build()?;
    instance.start().await?;

    let url = format!("tri://{}", instance.exported()[0].address());
    let pinger: PingerClient = instance
        .refer_with(ReferenceConfig::new().url([url]))
        .await?;
    let request = PingRequest {
        text: "from outside".to_owned(),
    };
    let response = pinger.ping(request).await?;
    assert_eq!(response.message().text, "from outside");

    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
