//! One rpc is left out.

mod greet {
    include!("generated/greet.rs");
}

use dubbo::{Request, Response, Status};
use greet::{GreetRequest, GreetResponse, Greeter};

struct Hello;

impl Greeter for Hello {
    async fn greet(&self, _: Request<GreetRequest>) -> Result<Response<GreetResponse>, Status> {
        Ok(GreetResponse::default().into())
    }
}

fn main() {}
