//! An error that is no status is passed on with `?`.

mod greet {
    include!("generated/greet.rs");
}

use dubbo::{Request, Response, Status, Streaming};
use greet::{GreetRequest, GreetResponse, Greeter};

struct Hello;

impl Greeter for Hello {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let count = u32::from_str_radix(&request.message().name, 10)?;
        let greeting = format!("hello {count}");
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
