//! A provider that serves OpenAPI documents of its services beside them, as `openapi.yaml` says.
//!
//! `cargo run -p examples --bin openapi` serves until Ctrl-C and tells where the documents are; with `-- --exit` it ends
//! at once.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::Instance;
use examples::{
    Polite,
    greet::GreeterServer,
    users::{UserServiceServer, Users},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.yaml"))?
        .provide(GreeterServer::new(Polite))
        .provide(UserServiceServer::new(Users))
        .build()?;
    instance.start().await?;

    let address = instance.exported()[0].address();
    println!("Try, in another terminal:");
    for page in ["openapi.json", "openapi.yaml", "users.yaml", "swagger-ui"] {
        println!("  curl http://{address}/dubbo/openapi/{page}");
    }
    if std::env::args().any(|arg| arg == "--exit") {
        instance.shutdown(std::time::Duration::ZERO).await;
        return Ok(());
    }
    println!("serving");
    instance.serve().await?;
    Ok(())
}
