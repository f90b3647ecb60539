//! How long a call may take, and what becomes of one whose time is over: on both sides.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{Call, CallContext, Instance, Response, Status, config::ReferenceConfig};
use tokio::time::{Instant, sleep};

/// Somebody who takes a minute for everything.
#[dubbo::service(interface = "com.example.Sloth")]
trait Sloth {
    /// From branch to branch.
    async fn climb(&self, context: CallContext) -> Result<String, Status>;

    /// Along a branch.
    async fn walk(&self, context: CallContext) -> Result<String, Status>;
}

struct Slow;

impl Sloth for Slow {
    async fn climb(&self, context: CallContext) -> Result<String, Status> {
        take_a_minute(&context).await
    }

    async fn walk(&self, context: CallContext) -> Result<String, Status> {
        take_a_minute(&context).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/timeout.yaml"))?
        .provide(SlothServer::new(Slow))
        .build()?;
    instance.start().await?;
    let url = format!("tri://{}", instance.exported()[0].address());
    let options = ReferenceConfig::new().url([url]);
    let sloth: SlothClient = instance.refer_with(options).await?;

    say("of the service", sloth.walk()).await;
    say("of the method", sloth.climb()).await;
    say(
        "of the call",
        sloth.climb().timeout(Duration::from_millis(100)),
    )
    .await;
    // `timeout` bounds an attempt; this bounds all attempts together, as the time that a caller of ours has left would.
    let soon = Instant::now() + Duration::from_millis(200);
    say("until then", sloth.walk().deadline(soon)).await;

    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Makes a call that nobody answers in time.
async fn say(what: &str, call: Call<'_, Response<String>>) {
    match call.await {
        Ok(response) => println!("{what}: {}", response.message()),
        Err(status) => println!("{what}: {status}"),
    }
}

/// The provider knows how long its caller waits, and is stopped when that is over: at the `await`, by being dropped.
async fn take_a_minute(context: &CallContext) -> Result<String, Status> {
    let _stopped = Stopped(format!("{:?}", context.method()));
    let left = context
        .deadline()
        .map(|at| at.duration_since(Instant::now()));
    println!("provider: {:?} within {left:.1?}", context.method());
    sleep(Duration::from_mins(1)).await;
    Ok("done".to_owned())
}

struct Stopped(String);

impl Drop for Stopped {
    fn drop(&mut self) {
        println!("provider: {} is stopped", self.0);
    }
}
