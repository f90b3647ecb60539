//! How calls fail, and what the caller sees.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{
    Code, Instance, Request, Response, Status, Streaming,
    config::{ProtocolConfig, ReferenceConfig},
};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer};

struct Strict;

impl Greeter for Strict {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let message = request.message().clone();
        match message.name.as_str() {
            "" => Err(Status::invalid_argument("a name is needed").with_detail(&message)),
            "rude" => Err(Status::business("we do not greet the rude")),
            "slow" => {
                tokio::time::sleep(Duration::from_mins(1)).await; // dropped when the caller stops waiting
                Ok(Response::new(GreetResponse::default()))
            }
            name => Err(Status::not_found(format!("nobody is called {name}"))),
        }
    }

    async fn greet_many(
        &self,
        _request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("see the example `streaming`"))
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
        .application("errors")
        .protocol("tri", ProtocolConfig::new().ip("127.0.0.1").port(0))
        .provide(GreeterServer::new(Strict))
        .build()?;
    instance.start().await?;
    let url = format!("tri://{}", instance.exported()[0].address());
    let options = ReferenceConfig::new()
        .url([url])
        .timeout(Duration::from_millis(200))
        .retries(1);
    let greeter: GreeterClient = instance.refer_with(options).await?;

    for name in ["", "rude", "Nemo", "slow"] {
        let request = GreetRequest {
            name: name.to_owned(),
        };
        let Err(status) = greeter.greet(request).await else {
            return Err("a greeting from someone strict".into());
        };
        println!("{name:?}: {status}");
        println!(
            "  retry: {:?}, by the application: {}",
            status.retry(),
            status.code() == Code::Business
        );
        if let Some(detail) = status.detail::<GreetRequest>() {
            println!("  detail: {detail:?}");
        }
    }
    Ok(())
}
