//! A script says which providers a call may go to: `cargo run -p examples --features script --bin router-script`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::future::ready;

use dubbo::{Instance, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named = |name: &'static str| {
        Answering(move |caller: String| ready(Ok(format!("Hello, {caller}, from {name}!"))))
    };
    let (_hz, hz) = serve("greeters", 0, named("Hangzhou")).await?;
    let (_sh, sh) = serve("greeters", 0, named("Shanghai")).await?;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/router-script.yaml");
    let consumer = Instance::load(file)?.build()?;
    let options =
        ReferenceConfig::new().url([format!("{hz}&region=hz"), format!("{sh}&region=sh")]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;
    for user in ["ada", "grace"] {
        let response = greeter.greet(from(user)).attach("user", user).await?;
        println!("{}", response.message().greeting);
    }
    Ok(())
}
