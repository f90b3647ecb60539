//! A provider that serves only callers with its token: those who found it in the registry, or were told.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{Instance, config::ReferenceConfig};
use examples::{
    Polite,
    answering::from,
    greet::{GreeterClient, GreeterServer},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/token.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;

    let listed: GreeterClient = instance.refer().await?;
    say(&listed, "by the registry").await;

    // Somebody who knows nothing but the address.
    let address = instance.exported()[0].address();
    for (who, url) in [
        ("a stranger", format!("tri://{address}")),
        ("a guest", format!("tri://{address}?token=guess")),
        ("a friend", format!("tri://{address}?token=s3cret")),
    ] {
        let consumer = Instance::builder().application("other").build()?;
        let options = ReferenceConfig::new().url([url]);
        let direct: GreeterClient = consumer.refer_with(options).await?;
        say(&direct, who).await;
    }
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

async fn say(greeter: &GreeterClient, who: &str) {
    match greeter.greet(from(who)).await {
        Ok(response) => println!("{}", response.message().greeting),
        Err(status) => println!("{who}: {status}"),
    }
}
