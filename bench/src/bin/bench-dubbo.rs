//! Ours: the interop service's `Ping` with the default filters.

use dubbo::{
    Instance, Request, Response, Status,
    config::{ProtocolConfig, ServiceConfig},
};

#[allow(clippy::pedantic, missing_docs, unreachable_pub)]
mod pb {
    dubbo::include_proto!("dubbo.interop.v1");
}

#[tokio::main]
async fn main() -> Result<(), dubbo::Error> {
    let address = bench::address();
    let protocol = ProtocolConfig::new()
        .name("tri")
        .ip(address.ip().to_string())
        .port(address.port());
    let instance = Instance::builder()
        .application("bench")
        .protocol("tri", protocol)
        .provide_with(pb::GreeterServer::new(Echo), ServiceConfig::new())
        .build()?;
    instance.start().await?;
    instance.serve().await
}

struct Echo;

impl pb::Greeter for Echo {
    async fn ping(
        &self,
        request: Request<pb::PingMessage>,
    ) -> Result<Response<pb::PingMessage>, Status> {
        Ok(Response::new(request.into_message()))
    }
}
