//! A provider and a consumer in one program, wired by `quickstart.yaml`.
//!
//! `cargo run -p examples --bin quickstart` serves until Ctrl-C; with `-- --exit` it ends after its own calls.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::Instance;
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/quickstart.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;

    let greeter: GreeterClient = instance.refer().await?;
    let name = || GreetRequest {
        name: "Dubbo".to_owned(),
    };
    let response = greeter.greet(name()).await?;
    println!("{}", response.message().greeting);

    let mut greetings = greeter.greet_many(name()).await?.into_message();
    while let Some(response) = greetings.message().await? {
        println!("  {}", response.greeting);
    }

    if std::env::args().any(|arg| arg == "--exit") {
        instance.shutdown(std::time::Duration::from_secs(5)).await;
        return Ok(());
    }
    let address = instance.exported()[0].address();
    println!("Serving at {address}. Try, in another terminal:");
    println!("  cargo run -p examples --bin direct -- tri://{address}");
    instance.serve().await?;
    Ok(())
}
