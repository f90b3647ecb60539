//! A provider is told to stop while it has a call in flight, and no call fails.
//!
//! `cargo run -p examples --bin graceful-shutdown -- provider` in two terminals, `-- consumer` in a third; then stop a provider
//! with Ctrl-C, or `kill`. The consumer says what it hears of that, and how its calls went.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{collections::HashSet, env, error::Error, future::ready, process, time::Duration};

use dubbo::{Instance, InstanceBuilder, Status, config::ReferenceConfig};
use examples::{
    answering::{Answering, from},
    greet::{GreeterClient, GreeterServer},
    health::{HealthCheckRequest, HealthClient},
};
use tokio::{sync::watch, time::sleep};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/graceful-shutdown.yaml");
    match env::args().nth(1).as_deref() {
        Some("provider") => provide(Instance::load(file)?.application("provider")).await,
        Some("consumer") => consume(Instance::load(file)?.application("consumer")).await,
        _ => Err("which part? `-- consumer` or `-- provider`".into()),
    }
}

async fn provide(builder: InstanceBuilder) -> Result<(), Box<dyn Error>> {
    let (told, ending) = watch::channel(false);
    // The call that is in the way: it is not done before the end has begun, and takes its time then, too.
    let answer = Answering(move |name: String| {
        let mut ending = ending.clone();
        async move {
            if name == LONG {
                println!("a long call is in flight");
                let _ = ending.wait_for(|it| *it).await;
                sleep(Duration::from_secs(2)).await;
                println!("the long call is done");
            }
            Ok(format!("Hello, {name}, from process {}!", process::id()))
        }
    });
    let instance = builder
        .provide(GreeterServer::new(answer))
        .on_stopping(move |_| {
            println!("told to stop");
            told.send_replace(true);
            ready(())
        })
        .build()?;
    instance.start().await?;
    println!("process {}: {}", process::id(), instance.exported()[0]);
    instance.serve().await?; // until SIGTERM or SIGINT, then as the configuration says
    println!("ended");
    Ok(())
}

async fn consume(builder: InstanceBuilder) -> Result<(), Box<dyn Error>> {
    let instance = builder.build()?;
    let greeter: GreeterClient = instance.refer().await?;
    let first = loop {
        match providers(&instance).await.pop() {
            Some((address, _)) => break address,
            None => sleep(PACE).await,
        }
    };
    let at_it = ReferenceConfig::new().url([first.clone()]);
    let health: HealthClient = instance.refer_with(at_it).await?;

    let patience = greeter.greet(from(LONG)).timeout(Duration::from_mins(5));
    let (mut calls, mut failed) = (0, 0);
    let others = async {
        let (mut known, mut heard) = (Vec::new(), HashSet::new());
        loop {
            let providers = providers(&instance).await;
            if known != providers {
                println!("providers: {providers:?}");
                known = providers;
            }
            calls += 1;
            match greeter.greet(from("you")).await {
                Ok(answer) if !heard.contains(&answer.message().greeting) => {
                    println!("{}", answer.message().greeting);
                    heard.insert(answer.into_message().greeting);
                }
                Ok(_) => {}
                Err(status) => {
                    failed += 1;
                    println!("{status}");
                }
            }
            sleep(PACE).await;
        }
    };
    tokio::select! {
        answer = patience => println!("{}", answer?.message().greeting),
        never = watched(&health, &first) => never?,
        () = others => {}
    }
    println!("{calls} other calls, and {failed} of them failed");
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// The providers that the consumer knows, each with why it is not called, if so.
async fn providers(instance: &Instance) -> Vec<(String, Option<String>)> {
    let references = instance.status().await.references.into_iter();
    let greeters = references.filter(|one| one.service == "greet.Greeter");
    let sources = greeters.flat_map(|one| one.sources);
    let providers = sources.flat_map(|source| source.providers);
    providers
        .map(|one| (one.address, one.unavailable))
        .collect()
}

/// Says what the provider at `address` says of its health, and goes on when it says nothing more.
async fn watched(health: &HealthClient, address: &str) -> Result<(), Status> {
    let service = "greet.Greeter".to_owned();
    let mut watch = health
        .watch(HealthCheckRequest { service })
        .await?
        .into_message();
    while let Ok(Some(told)) = watch.message().await {
        println!("{address} says {}", told.status().as_str_name());
    }
    println!("{address} says nothing more");
    std::future::pending().await
}

const LONG: &str = "patience";

const PACE: Duration = Duration::from_millis(20);
