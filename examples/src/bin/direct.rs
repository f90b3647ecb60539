//! A consumer without any file: `cargo run -p examples --bin direct -- tri://127.0.0.1:50051`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{Instance, config::ReferenceConfig};
use examples::greet::{GreetRequest, GreeterClient};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "tri://127.0.0.1:50051".to_owned());
    let instance = Instance::builder().application("direct").build()?;
    let options = ReferenceConfig::new()
        .url([url])
        .timeout(Duration::from_millis(500));
    let greeter: GreeterClient = instance.refer_with(options).await?;

    let request = GreetRequest {
        name: "direct".to_owned(),
    };
    let response = greeter
        .greet(request)
        .timeout(Duration::from_millis(200))
        .await?;
    println!("{}", response.message().greeting);
    Ok(())
}
