//! The provider of a pair: `cargo run -p examples --bin greeter-provider`, then `--bin greeter-consumer` elsewhere.

use dubbo::Instance;
use examples::{Polite, greet::GreeterServer};

#[tokio::main]
async fn main() -> Result<(), dubbo::Error> {
    Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/provider.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?
        .serve()
        .await
}
