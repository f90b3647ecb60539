//! A handler has state that threads cannot share.

mod greet {
    include!("generated/greet.rs");
}

use std::cell::Cell;

use dubbo::{Request, Response, Status, Streaming};
use greet::{GreetRequest, GreetResponse, Greeter};

struct Counting {
    calls: Cell<u64>,
}

impl Greeter for Counting {
    async fn greet(&self, _: Request<GreetRequest>) -> Result<Response<GreetResponse>, Status> {
        self.calls.set(self.calls.get() + 1);
        Ok(GreetResponse::default().into())
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
