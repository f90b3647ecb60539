//! A call that nobody waits for goes on without its caller: when its provider is away, it is made again until that is back.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::{Instance, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::GreeterClient,
};
use tokio::{net::TcpListener, sync::mpsc};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A port at which nobody is, yet.
    let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let consumer =
        Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/failback.yaml"))?.build()?;
    let options = ReferenceConfig::new().url([format!("tri://127.0.0.1:{port}")]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;

    let response = greeter.greet(from("failback")).await?;
    let ignored = response.attachment("dubbo-ignored").unwrap_or("nothing");
    println!("answered at once; {ignored}");

    let (tell, mut told) = mpsc::unbounded_channel();
    let greets = Answering(move |name: String| {
        let told = tell.send(name.clone());
        async move {
            told.ok();
            Ok(format!("Hello, {name}!"))
        }
    });
    let (_provider, _) = serve("late", port, greets).await?;
    println!("the provider is there now");
    let name = told.recv().await.ok_or("the provider has gone")?;
    println!("the call came: {name}");
    Ok(())
}
