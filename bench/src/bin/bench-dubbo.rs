//! Ours: what is measured of the interop service, with the default filters.

use dubbo::{
    Instance, Request, Response, Status, Streaming,
    config::{
        Environment, LoadOptions, ProtocolConfig, ServiceConfig, TripleConfig, TripleServerConfig,
    },
    stream,
};

#[allow(clippy::pedantic, missing_docs, unreachable_pub)]
mod pb {
    dubbo::include_proto!("dubbo.interop.v1");
}

#[tokio::main]
async fn main() -> Result<(), dubbo::Error> {
    let address = bench::address();
    // 500 answers of 1 MiB to one connection are more than it may hold by default; no peer limits that.
    let any = TripleServerConfig::new().max_unfinished_size(0);
    let protocol = ProtocolConfig::new()
        .name("tri")
        .ip(address.ip().to_string())
        .port(address.port())
        .triple(TripleConfig::new().server(any));
    // The environment may say more, such as what is observed.
    let options = LoadOptions::text("bench.yaml", "dubbo: {}");
    let options = options.environment(Environment::of_process());
    let instance = Instance::load_with(&options)?
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
