//! Every call is a future: several go on at once, one goes on by itself, and nobody waits for one that is one-way.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{
    Instance, Status,
    config::{ProtocolConfig, ReferenceConfig},
};
use tokio::time::{Instant, sleep};

/// Somebody who takes half a second for a letter.
#[dubbo::service(interface = "com.example.Postman")]
trait Postman {
    /// Takes it there, and says so.
    async fn deliver(&self, letter: String) -> Result<String, Status>;

    /// `void post(String letter)`: over `dubbo` the caller does not wait for it.
    #[dubbo(oneway)]
    async fn post(&self, letter: String) -> Result<(), Status>;
}

struct Busy;

impl Postman for Busy {
    async fn deliver(&self, letter: String) -> Result<String, Status> {
        sleep(Duration::from_millis(500)).await;
        Ok(format!("{letter} is there"))
    }

    async fn post(&self, letter: String) -> Result<(), Status> {
        let said = self.deliver(letter).await?;
        println!("provider: {said}");
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::builder()
        .application("async")
        .protocol(
            "dubbo",
            ProtocolConfig::new().name("dubbo").ip("127.0.0.1").port(0),
        )
        .provide(PostmanServer::new(Busy))
        .build()?;
    instance.start().await?;
    let url = format!("dubbo://{}", instance.exported()[0].address());
    let options = ReferenceConfig::new().url([url]);
    let postman: PostmanClient = instance.refer_with(options).await?;
    let letter = str::to_owned;

    // Several at once. The first that fails ends the wait for the others; `tokio::join!` waits for all.
    let begin = Instant::now();
    let (one, other) = tokio::try_join!(
        postman.deliver(letter("one")),
        postman.deliver(letter("the other"))
    )?;
    println!("{}, and {}", one.message(), other.message());
    println!(
        "both in the time of one: {}",
        begin.elapsed() < Duration::from_millis(900)
    );

    // One that goes on by itself, with what is to be done when it is over. A call that is not in a task is given up by
    // dropping it.
    let sender = postman.clone();
    let task = tokio::spawn(async move {
        let answer = sender.deliver("by itself".to_owned()).await;
        answer.map(|response| println!("later: {}", response.message()))
    });
    println!("meanwhile");
    task.await??;

    // One-way: sent, and no more is known.
    let begin = Instant::now();
    postman.post(letter("one-way")).await?;
    println!(
        "sent without waiting: {}",
        begin.elapsed() < Duration::from_millis(400)
    );

    instance.shutdown(Duration::from_secs(5)).await; // what is being served is finished first
    Ok(())
}
