//! The provider of a pair: `cargo run -p examples --bin greeter-provider`, then `--bin greeter-consumer` elsewhere.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::Instance;
use examples::{Polite, greet::GreeterServer};

#[tokio::main]
async fn main() -> Result<(), dubbo::Error> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/provider.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    println!("serving {}", instance.exported()[0]);
    instance.serve().await // until SIGTERM or SIGINT, then without losing a call
}
