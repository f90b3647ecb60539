//! Messages of a proto file travel as JSON, where the configuration says so: the code is the same.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{sync::Arc, time::Duration};

use dubbo::{Filter, Instance, Invocation, Next, RpcResult, spi::invocation::Body};
use examples::{
    Polite,
    answering::from,
    greet::{GreeterClient, GreeterServer},
};

/// Shows what has come, as it was sent.
struct Wire;

#[dubbo::async_trait]
impl Filter for Wire {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        if let Body::Unary(payload) = &invocation.body {
            let bytes = payload.value_bytes(0).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            println!("{payload:?}: {}", text.escape_default());
        }
        next.run(invocation).await
    }
}

dubbo::extension!(dyn Filter, "wire", |_context| Ok(Arc::new(Wire)));

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/pb-json.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    for reference in ["as-the-provider-says", "as-usual"] {
        let greeter: GreeterClient = instance.refer_as(reference).await?;
        let response = greeter.greet(from(reference)).await?;
        println!("{}", response.message().greeting);
    }
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
