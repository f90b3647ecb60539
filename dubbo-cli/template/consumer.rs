//! Greets by name: `cargo run --bin consumer -- Ada`.

use std::time::Duration;

use dubbo::Instance;
use {{package}}::greeter::{GreetRequest, GreeterClient};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "Dubbo".to_owned());
    let instance = Instance::load("consumer.yaml")?.build()?;
    let greeter: GreeterClient = instance.refer().await?;
    let response = greeter.greet(GreetRequest { name }).await?;
    println!("{}", response.message().greeting);
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
