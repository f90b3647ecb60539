//! Ours, over the classic protocol: `ping` of the interop service with the default filters.

use bench::ping::{PingService, PingServiceServer};
use dubbo::{
    Instance, Status,
    config::{ProtocolConfig, ServiceConfig},
};

#[tokio::main]
async fn main() -> Result<(), dubbo::Error> {
    let address = bench::address();
    let protocol = ProtocolConfig::new()
        .name("dubbo")
        .ip(address.ip().to_string())
        .port(address.port());
    let instance = Instance::builder()
        .application("bench")
        .protocol("dubbo", protocol)
        .provide_with(PingServiceServer::new(Echo), ServiceConfig::new())
        .build()?;
    instance.start().await?;
    instance.serve().await
}

struct Echo;

impl PingService for Echo {
    async fn ping(&self, data: Vec<u8>) -> Result<Vec<u8>, Status> {
        Ok(data)
    }
}
