//! Streams in all three directions, against a provider in the same program on a free port.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::{
    Instance,
    config::{ProtocolConfig, ReferenceConfig},
    stream,
};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::builder()
        .application("streaming")
        .protocol("tri", ProtocolConfig::new().ip("127.0.0.1").port(0))
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    let url = format!("tri://{}", instance.exported()[0].address());
    let greeter: GreeterClient = instance
        .refer_with(ReferenceConfig::new().url([url]))
        .await?;
    let named = |name: &str| GreetRequest {
        name: name.to_owned(),
    };

    // One request, many responses.
    let mut greetings = greeter
        .greet_many(named("server stream"))
        .await?
        .into_message();
    while let Some(response) = greetings.message().await? {
        println!("{}", response.greeting);
    }

    // Many requests, one response. Any `Stream` of requests will do.
    let everyone = stream::iter([named("Ada"), named("Grace")]);
    println!("{}", greeter.greet_all(everyone).await?.message().greeting);

    // Both ways, each answer before the next question. `send` waits when the peer is slow.
    let (requests, feed) = stream::channel(1);
    let mut greetings = greeter.greet_each(feed).await?.into_message();
    for name in ["ping", "pong"] {
        requests.send(named(name)).await?;
        if let Some(response) = greetings.message().await? {
            println!("{}", response.greeting);
        }
    }
    drop(requests); // half-close: no more questions
    println!("end of stream: {}", greetings.message().await?.is_none());
    Ok(())
}
