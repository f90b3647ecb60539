//! One service over Triple, the classic protocol and JSON over HTTP, another beside it, and one port for all of that, wired by
//! `multi-protocol.yaml`: `cargo run -p examples --bin multi-protocol`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::Instance;
use examples::{
    Polite,
    asking::ask,
    greet::{GreetRequest, GreeterClient, GreeterServer},
    users::{UserServiceClient, UserServiceServer, Users},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/multi-protocol.yaml");
    let instance = Instance::load(file)?
        .provide(GreeterServer::new(Polite))
        .provide(UserServiceServer::new(Users))
        .build()?;
    instance.start().await?;
    for url in instance.exported() {
        println!(
            "{} at {}://{}",
            url.service_key(),
            url.protocol(),
            url.address()
        );
    }

    for reference in ["over-triple", "over-dubbo"] {
        let users: UserServiceClient = instance.refer_as(reference).await?;
        let ada = users.get_user("ada".to_owned()).await?;
        println!("{reference}: {}", ada.message().name);
    }
    let body = r#"["ada"]"#;
    let head = "tri-service-version: 1.0.0\r\ncontent-type: application/json\r\ncontent-length: ";
    let request = format!(
        "POST /com.example.UserService/getUser HTTP/1.1\r\n{head}{}\r\n\r\n{body}",
        body.len()
    );
    let answer = ask("127.0.0.1:20881", &request).await?;
    println!("as JSON: {}", answer.lines().last().unwrap_or_default());

    let greeter: GreeterClient = instance.refer().await?;
    let name = "Dubbo".to_owned();
    let greeting = greeter.greet(GreetRequest { name }).await?;
    println!("{}", greeting.message().greeting);
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
