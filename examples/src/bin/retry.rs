//! A call that fails is tried again, by a policy of its method: how often, on whom, after which pause, and what for.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use dubbo::{Instance, Status, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&attempts);
    let moody = Answering(move |name: String| {
        let nth = counted.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            match name.as_str() {
                "rude" => Err(Status::business("we do not greet the rude")),
                "patient" if nth < 3 => Err(Status::unavailable("not in the mood")),
                "unlucky" => Err(Status::unavailable("never in the mood")),
                name => Ok(format!("Hello, {name}!")),
            }
        }
    });
    let (_provider, url) = serve("moody", 0, moody).await?;
    let consumer = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/retry.yaml"))?.build()?;
    let options = ReferenceConfig::new().url([url]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;

    for name in ["patient", "rude", "unlucky"] {
        attempts.store(0, Ordering::Relaxed);
        let answer = greeter.greet(from(name)).await;
        let said = match answer {
            Ok(response) => response.into_message().greeting,
            Err(status) => status.to_string(),
        };
        println!(
            "{name}: {} attempts: {said}",
            attempts.load(Ordering::Relaxed)
        );
    }
    Ok(())
}
