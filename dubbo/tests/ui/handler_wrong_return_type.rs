//! The message is returned without the response around it.

mod greet {
    include!("generated/greet.rs");
}

use dubbo::{Request, Response, Status, Streaming};
use greet::{GreetRequest, GreetResponse, Greeter};

struct Hello;

impl Greeter for Hello {
    async fn greet(&self, _: Request<GreetRequest>) -> Result<GreetResponse, Status> {
        Ok(GreetResponse::default())
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
