//! The client of tonic, on one connection, calling as it is told to on its standard input.

use std::error::Error;

use bench::calls::{self, Caller};
use bytes::Bytes;
use tonic::transport::{Channel, Endpoint};

#[allow(clippy::pedantic, missing_docs, unreachable_pub)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/tonic/dubbo.interop.v1.rs"));
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let endpoint = Endpoint::from_shared(format!("http://{}", bench::address()))?
        .tcp_nodelay(true)
        .initial_stream_window_size(bench::STREAM_WINDOW)
        .initial_connection_window_size(bench::CONNECTION_WINDOW);
    let channel = runtime.block_on(endpoint.connect())?;
    let client = pb::greeter_client::GreeterClient::new(channel);
    calls::serve(&runtime, &Tonic(client))?;
    Ok(())
}

#[derive(Clone)]
struct Tonic(pb::greeter_client::GreeterClient<Channel>);

impl Caller for Tonic {
    async fn ping(&self, payload: Bytes) -> Result<Bytes, String> {
        let answer = self.0.clone().ping(pb::PingMessage { payload }).await;
        Ok(answer
            .map_err(|error| error.to_string())?
            .into_inner()
            .payload)
    }

    async fn stream(&self, name: String, count: u32) -> Result<u32, String> {
        let request = pb::GreetRequest {
            name,
            count: count.cast_signed(),
        };
        let greetings = self.0.clone().greet_server_stream(request).await;
        let mut greetings = greetings.map_err(|error| error.to_string())?.into_inner();
        let mut came = 0;
        while let Some(greeting) = greetings.message().await.map_err(|e| e.to_string())? {
            drop(greeting);
            came += 1;
        }
        Ok(came)
    }
}
