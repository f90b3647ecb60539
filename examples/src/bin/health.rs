//! A consumer watches the health of a service, as gRPC's load balancers and the consumers of dubbo-go do: it hears that the
//! provider is about to go while calls are still answered, and that another one has taken its place.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{error::Error, time::Duration};

use dubbo::{
    Code, Instance, Status,
    config::{ProtocolConfig, ReferenceConfig, ShutdownConfig},
};
use examples::{
    Polite,
    answering::from,
    greet::{GreeterClient, GreeterServer},
    health::{HealthCheckRequest, HealthClient},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let first = provider(0).await?;
    let url = first.exported()[0].clone();
    let options = || {
        let address = format!("tri://{}", url.address());
        // Nobody is there for a while.
        ReferenceConfig::new().url([address]).check(false)
    };
    let consumer = Instance::builder().application("consumer").build()?;
    let greeter: GreeterClient = consumer.refer_with(options()).await?;
    let health: HealthClient = consumer.refer_with(options()).await?;

    let answer = health.check(about("greet.Greeter")).await?;
    println!("now: {}", answer.message().status().as_str_name());
    let unknown = health.check(about("greet.Nobody")).await.err();
    println!("nobody: {:?}", unknown.map(|status| status.code()));

    let mut watch = health.watch(about("greet.Greeter")).await?.into_message();
    if let Some(told) = watch.message().await? {
        println!("watched: {}", told.status().as_str_name());
    }
    let answer = greeter.greet(from("early bird")).await?;
    println!("{}", answer.message().greeting);
    let stopped = tokio::spawn(async move { first.shutdown(Duration::from_secs(5)).await });
    if let Some(told) = watch.message().await? {
        println!("watched: {}", told.status().as_str_name());
    }
    let answer = greeter.greet(from("latecomer")).await?;
    println!("{}", answer.message().greeting);
    let end = watch.message().await.err();
    println!("the watch ends: {:?}", end.map(|status| status.code()));
    stopped.await?;

    let _second = provider(url.port().unwrap_or_default()).await?;
    let told = loop {
        match watched(&health).await {
            Ok(told) => break told,
            // It found nobody while there was nobody, and has not tried again yet.
            Err(status) if status.code() == Code::Unavailable => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(status) => return Err(status.into()),
        }
    };
    println!("again: {told}");
    Ok(())
}

/// A provider on this port. When it stops, it serves whoever has not heard of it yet, until a second has passed without a
/// call.
async fn provider(port: u16) -> Result<Instance, dubbo::Error> {
    let instance = Instance::builder()
        .application("provider")
        .protocol("tri", ProtocolConfig::new().ip("127.0.0.1").port(port))
        .shutdown(ShutdownConfig::new().offline_request_window_timeout(Duration::from_secs(1)))
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    Ok(instance)
}

/// What a new watch says first.
async fn watched(health: &HealthClient) -> Result<&'static str, Status> {
    let mut watch = health.watch(about("greet.Greeter")).await?.into_message();
    let told = watch.message().await?.unwrap_or_default();
    Ok(told.status().as_str_name())
}

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest {
        service: service.to_owned(),
    }
}
