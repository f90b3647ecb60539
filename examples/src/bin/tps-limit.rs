//! A provider that takes so many calls in a time, and says to whom it refuses when to come again.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::{Instance, config::ReferenceConfig};
use examples::{
    Polite,
    answering::from,
    greet::{GreeterClient, GreeterServer},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tps-limit.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    let url = format!("tri://{}", instance.exported()[0].address());
    let options = ReferenceConfig::new().url([url]).retries(0);
    let greeter: GreeterClient = instance.refer_with(options).await?;

    for n in 1..=3 {
        match greeter.greet(from(&n.to_string())).await {
            Ok(response) => println!("{}", response.message().greeting),
            Err(status) => {
                println!("{n}: {}", status.code());
                println!("  certainly not done: {}", status.is_not_processed());
                println!("  says when to come again: {}", status.pushback().is_some());
            }
        }
    }
    Ok(())
}
