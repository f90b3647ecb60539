//! Calls without the service's types: `cargo run -p examples --bin generic`.
//!
//! Gateways, test tools and consoles know a service by its name alone. Values come and go as `Value`, as JSON, or as a
//! type of the caller's own.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{
    Instance,
    config::{ProtocolConfig, ReferenceConfig},
    hessian2::Value,
    java::thrown,
};
use examples::users::{User, UserServiceServer, Users};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::builder()
        .application("generic")
        .protocol("dubbo", ProtocolConfig::new().name("dubbo").port(0))
        .provide(UserServiceServer::new(Users))
        .build()?;
    instance.start().await?;

    let port = instance.exported()[0].port().unwrap_or_default();
    let options = ReferenceConfig::new()
        .url([format!("dubbo://127.0.0.1:{port}")])
        .version("1.0.0");
    let users = instance
        .generic_with("com.example.UserService", options)
        .await?;

    let types: Option<&[&str]> = Some(&["java.lang.String"]);
    let ada = users.invoke("getUser", types, vec!["ada".into()]).await?;
    println!("value: {:?}", ada.message());

    let json = users.invoke_json("getUsers", None, r#"[["ada", "grace"]]"#)?;
    println!("json: {}", json.await?.message());

    let grace = users.invoke_as::<User>("getUser", types, vec!["grace".into()]);
    println!("typed: {:?}", grace.await?.message());

    if let Err(status) = users
        .invoke("getUser", types, vec![Value::from("no")])
        .await
    {
        let class = thrown(&status).map(|throwable| throwable.class().to_owned());
        println!("thrown: {class:?}");
    }
    println!("echo: {:?}", users.echo("still there?").await?.message());
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
