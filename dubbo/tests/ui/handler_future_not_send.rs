//! Something that must stay on its thread is held while another future is awaited.

mod greet {
    include!("generated/greet.rs");
}

use std::{future, rc::Rc};

use dubbo::{Request, Response, Status, Streaming};
use greet::{GreetRequest, GreetResponse, Greeter};

struct Hello;

impl Greeter for Hello {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let name = Rc::new(request.into_message().name);
        future::ready(()).await;
        let greeting = format!("hello {name}");
        Ok(GreetResponse { greeting }.into())
    }

    async fn greet_many(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        drop(request);
        Err(Status::unavailable("later"))
    }
}

fn main() {}
