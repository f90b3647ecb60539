//! What the examples share: the generated code of `proto/greet.proto`, and the handler that most of them serve.

/// The service, its client and its messages, as `dubbo-build` generated them.
#[allow(
    missing_docs,
    reason = "generated from a proto file whose fields need no words"
)]
pub mod greet {
    dubbo::include_proto!("greet");
}

/// `grpc.health.v1`, which every Triple port serves.
#[allow(missing_docs, reason = "as above")]
pub mod health {
    dubbo::include_proto!("grpc.health.v1");
}

/// `grpc.reflection.v1`, which every Triple port serves.
#[allow(missing_docs, reason = "as above")]
pub mod reflection {
    dubbo::include_proto!("grpc.reflection.v1");
}

pub mod answering;
pub mod asking;
pub mod registries;
pub mod users;

use dubbo::{Request, Response, Status, Streaming, stream};
use greet::{GreetRequest, GreetResponse, Greeter};

/// Greets everyone.
#[derive(Debug)]
pub struct Polite;

impl Greeter for Polite {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        Ok(Response::new(hello(&request.message().name)))
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let name = request.into_message().name;
        let greetings = (1..=3).map(move |n| Ok(hello(&format!("{name} ({n} of 3)"))));
        Ok(Response::stream(stream::iter(greetings)))
    }

    async fn greet_all(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        let mut requests = request.into_message();
        let mut names = Vec::new();
        while let Some(request) = requests.message().await? {
            names.push(request.name);
        }
        Ok(Response::new(hello(&names.join(", "))))
    }

    async fn greet_each(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let mut requests = request.into_message();
        let (sender, greetings) = Streaming::channel(1);
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                if sender.send(hello(&request.name)).await.is_err() {
                    break; // the caller has gone
                }
            }
        });
        Ok(Response::new(greetings))
    }
}

/// A greeting for `name`.
pub fn hello(name: &str) -> GreetResponse {
    GreetResponse {
        greeting: format!("Hello, {name}!"),
    }
}

/// The pages of `docs/`: their programs compile, and run unless they would serve.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/from-dubbo-go.md")]
    struct FromDubboGo;

    #[doc = include_str!("../../docs/from-tonic.md")]
    struct FromTonic;

    #[doc = include_str!("../../docs/http.md")]
    struct Http;

    #[doc = include_str!("../../docs/testing.md")]
    struct Testing;
}
