//! Ours: what is measured of the interop service, with the default filters.

use dubbo::{
    Instance, Request, Response, Status, Streaming,
    config::{ProtocolConfig, ServiceConfig},
    stream,
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

    async fn greet_server_stream(
        &self,
        request: Request<pb::GreetRequest>,
    ) -> Result<Response<Streaming<pb::GreetResponse>>, Status> {
        let request = request.into_message();
        let name = request.name;
        let greetings = (0..request.count).map(move |seq| {
            Ok(pb::GreetResponse {
                greeting: format!("hello {name} #{seq}"),
                seq,
            })
        });
        Ok(Response::stream(stream::iter(greetings)))
    }
}
