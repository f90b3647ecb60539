//! Serves the greeter until Ctrl-C: `cargo run --bin provider`.

use dubbo::{Instance, Request, Response, Status};
use {{package}}::greeter::{GreetRequest, GreetResponse, Greeter, GreeterServer};

struct Polite;

impl Greeter for Polite {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let name = &request.message().name;
        if name.is_empty() {
            return Err(Status::invalid_argument("a name is needed"));
        }
        let greeting = format!("Hello, {name}!");
        Ok(Response::new(GreetResponse { greeting }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load("provider.yaml")?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    for url in instance.exported() {
        println!("serving at {}://{}", url.protocol(), url.address());
    }
    instance.serve().await?;
    Ok(())
}
