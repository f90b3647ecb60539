//! Three providers get a call at once. Who answers first wins, and the others hear that nobody waits any more.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{sync::Arc, time::Duration};

use dubbo::{Instance, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};
use tokio::{
    sync::{Barrier, mpsc},
    time::sleep,
};

/// Says so when its call is cancelled: then what the handler holds is dropped before its work is done.
struct Working {
    who: &'static str,
    done: bool,
    tell: mpsc::UnboundedSender<&'static str>,
}

impl Working {
    fn end(mut self) {
        self.done = true;
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if !self.done {
            self.tell.send(self.who).ok();
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (tell, mut cancelled) = mpsc::unbounded_channel();
    // Nobody answers before all have been called: how long it takes to connect plays no part here.
    let called = Arc::new(Barrier::new(3));
    let (mut providers, mut urls) = (Vec::new(), Vec::new());
    for (name, takes) in [("slow", 60_000), ("quick", 20), ("slower", 120_000)] {
        let (tell, called) = (tell.clone(), Arc::clone(&called));
        let handler = Answering(move |caller: String| {
            let working = Working {
                who: name,
                done: false,
                tell: tell.clone(),
            };
            let called = Arc::clone(&called);
            async move {
                called.wait().await;
                sleep(Duration::from_millis(takes)).await;
                working.end();
                Ok(format!("Hello, {caller}, from {name}!"))
            }
        });
        let (provider, url) = serve(name, 0, handler).await?;
        providers.push(provider);
        urls.push(url);
    }
    let consumer = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/forking.yaml"))?.build()?;
    let options = ReferenceConfig::new().url(urls);
    let greeter: GreeterClient = consumer.refer_with(options).await?;

    let response = greeter.greet(from("forking")).await?;
    println!("{}", response.message().greeting);
    let mut losers = [cancelled.recv().await, cancelled.recv().await];
    losers.sort_unstable();
    for loser in losers.into_iter().flatten() {
        println!("{loser} was told to stop");
    }
    Ok(())
}
