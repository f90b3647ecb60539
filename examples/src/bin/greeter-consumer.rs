//! The consumer of a pair: it calls the provider at the address in `consumer.yaml`, without a registry.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::Instance;
use examples::greet::{GreetRequest, GreeterClient};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance =
        Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/consumer.yaml"))?.build()?;
    let greeter: GreeterClient = instance.refer().await?;
    for name in ["Ada", "Grace", "Radia"] {
        let request = GreetRequest {
            name: name.to_owned(),
        };
        println!("{}", greeter.greet(request).await?.message().greeting);
    }
    Ok(())
}
