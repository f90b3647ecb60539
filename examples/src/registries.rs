//! The program of the examples `registry-…`: a provider or a consumer that know of each other by a registry alone.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{env, error::Error, time::Duration};

use dubbo::Instance;

use crate::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};

/// Runs the part that the program's argument names, wired by `file`.
///
/// # Errors
///
/// The argument names no part, the configuration is wrong, or the part failed.
pub async fn run(file: &str) -> Result<(), Box<dyn Error>> {
    let file = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    match env::args().nth(1).as_deref() {
        Some("provider") => provide(&file).await,
        Some("consumer") => consume(&file).await,
        _ => Err("which part? `-- provider` in one terminal, `-- consumer` in another".into()),
    }
}

async fn provide(file: &str) -> Result<(), Box<dyn Error>> {
    let instance = Instance::load(file)?
        .application("greeter-provider")
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    println!("registered: {}", instance.exported()[0]);
    instance.serve().await?; // until SIGTERM or SIGINT, then without losing a call
    println!("gone from the registry");
    Ok(())
}

async fn consume(file: &str) -> Result<(), Box<dyn Error>> {
    let instance = Instance::load(file)?
        .application("greeter-consumer")
        .build()?;
    let greeter: GreeterClient = instance.refer().await?; // fails, and says why, if nobody provides it
    for name in ["Ada", "Grace", "Radia"] {
        let request = GreetRequest {
            name: name.to_owned(),
        };
        println!("{}", greeter.greet(request).await?.message().greeting);
    }
    println!("{}", instance.explain("greet.Greeter").await?);
    instance.shutdown(Duration::from_secs(5)).await; // the registry forgets it at once
    Ok(())
}
