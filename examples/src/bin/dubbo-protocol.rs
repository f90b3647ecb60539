//! The same service over the classic `dubbo` protocol, wired by `dubbo-protocol.yaml`.
//!
//! `cargo run -p examples --bin dubbo-protocol` serves until Ctrl-C; with `-- --exit` it ends after its own calls.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use dubbo::Instance;
use examples::users::{UserServiceClient, UserServiceServer, Users, who_is_missing};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/dubbo-protocol.yaml");
    let instance = Instance::load(file)?
        .provide(UserServiceServer::new(Users))
        .build()?;
    instance.start().await?;

    let users: UserServiceClient = instance.refer().await?;
    let grace = users.get_user("grace".to_owned()).await?;
    println!("{:?}", grace.message());
    if let Err(status) = users.get_user("nobody".to_owned()).await {
        println!("missing: {:?}", who_is_missing(&status));
    }

    if std::env::args().any(|arg| arg == "--exit") {
        instance.shutdown(std::time::Duration::from_secs(5)).await;
        return Ok(());
    }
    println!("Serving at {}", instance.exported()[0]);
    instance.serve().await?;
    Ok(())
}
