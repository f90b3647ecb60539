//! A load balance and a cluster from a crate that the framework knows nothing of: see `examples/acme-dubbo`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::future::ready;

// Links it. What it has is found by name.
use acme_dubbo as _;
use dubbo::{Instance, Status, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named = |name: &'static str| {
        Answering(move |caller: String| {
            ready(match caller.as_str() {
                "" => Err(Status::unavailable("nobody there")),
                caller => Ok(format!("Hello, {caller}, from {name}!")),
            })
        })
    };
    let (_dear, dear) = serve("dear", 0, named("dear")).await?;
    let (_cheap, cheap) = serve("cheap", 0, named("cheap")).await?;
    let consumer = Instance::load(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/custom-extension.yaml"
    ))?
    .build()?;
    let options = ReferenceConfig::new().url([
        format!("{dear}&acme.price=9"),
        format!("{cheap}&acme.price=2"),
    ]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;

    for name in ["Ada", "Grace"] {
        println!("{}", greeter.greet(from(name)).await?.message().greeting);
    }
    if let Err(status) = greeter.greet(from("")).await {
        println!("{status}");
    }
    Ok(())
}
