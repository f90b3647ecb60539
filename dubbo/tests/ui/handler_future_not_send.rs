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
        let words = Rc::new(request.into_message().name.len());
        future::ready(()).await;
        let greeting = format!("hello, {words} letters");
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
