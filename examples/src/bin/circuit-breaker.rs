//! A breaker: after some failures calls are refused without being sent, later a few are let through to see, and when those
//! work it closes.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use dubbo::{Instance, Status, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ill, came) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let (is_ill, counted) = (Arc::clone(&ill), Arc::clone(&came));
    let handler = Answering(move |name: String| {
        counted.fetch_add(1, Ordering::Relaxed);
        let ill = is_ill.load(Ordering::Relaxed);
        async move {
            if ill {
                return Err(Status::unavailable("the database is away"));
            }
            Ok(format!("Hello, {name}!"))
        }
    });
    let (_provider, url) = serve("clinic", 0, handler).await?;
    let consumer =
        Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/circuit-breaker.yaml"))?.build()?;
    let options = ReferenceConfig::new().url([url]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;

    for _ in 0..10 {
        greeter.greet(from("you")).await.err();
    }
    println!("of 10 calls {} were sent", came.load(Ordering::Relaxed));
    if let Err(status) = greeter.greet(from("you")).await {
        println!("refused: {status}");
    }
    ill.store(false, Ordering::Relaxed);
    loop {
        match greeter.greet(from("you")).await {
            Ok(response) => break println!("later: {}", response.message().greeting),
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    for _ in 0..10 {
        greeter.greet(from("you")).await?;
    }
    println!("closed again");
    Ok(())
}
