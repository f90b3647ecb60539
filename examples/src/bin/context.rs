//! What travels beside a message: attachments, deadlines, response headers and trailers.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{
    Instance, Request, Response, Status, Streaming,
    config::{ProtocolConfig, ReferenceConfig},
};
use examples::{
    greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer},
    hello,
};

struct Attentive;

impl Greeter for Attentive {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let tenant = request
            .attachments()
            .get("tenant")
            .unwrap_or("nobody")
            .to_owned();
        let context = request.context();
        println!(
            "provider: {:?} for {tenant}, bounded: {}",
            context.method(),
            context.deadline().is_some()
        );
        Ok(Response::new(hello(&tenant))
            .header("served-by", "attentive")
            .trailer("cost", "7"))
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        // A stream's trailers can be said while it runs: keep the context.
        let context = request.context().clone();
        let (sender, greetings) = Streaming::channel(1);
        tokio::spawn(async move {
            let sent = sender.send(hello("stream")).await;
            context
                .reply()
                .trailer("sent", if sent.is_ok() { "1" } else { "0" });
        });
        Ok(Response::new(greetings))
    }

    async fn greet_all(
        &self,
        _request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("see the example `streaming`"))
    }

    async fn greet_each(
        &self,
        _request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("see the example `streaming`"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::builder()
        .application("context")
        .protocol("tri", ProtocolConfig::new().ip("127.0.0.1").port(0))
        .provide(GreeterServer::new(Attentive))
        .build()?;
    instance.start().await?;
    let url = format!("tri://{}", instance.exported()[0].address());
    let greeter: GreeterClient = instance
        .refer_with(ReferenceConfig::new().url([url]))
        .await?;

    let call = greeter
        .greet(GreetRequest::default())
        .attach("tenant", "acme")
        .timeout(Duration::from_secs(1));
    let response = call.await?;
    println!("{}", response.message().greeting);
    println!(
        "header served-by: {:?}",
        response.headers().get("served-by")
    );
    println!("trailer cost: {:?}", response.trailers().get("cost"));

    let mut greetings = greeter
        .greet_many(GreetRequest::default())
        .await?
        .into_message();
    while greetings.message().await?.is_some() {}
    println!(
        "trailer sent: {:?}",
        greetings
            .trailers()
            .and_then(|trailers| trailers.get("sent"))
    );
    Ok(())
}
