//! A service without a proto file, over Triple: `cargo run -p examples --bin non-idl`.
//!
//! The trait is written by hand after a Java interface (`src/users.rs`); Dubbo Java and dubbo-go call it and are called.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::time::Duration;

use dubbo::{
    Instance,
    config::{ProtocolConfig, ReferenceConfig},
};
use examples::users::{UserServiceClient, UserServiceServer, Users, who_is_missing};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::builder()
        .application("non-idl")
        .protocol("tri", ProtocolConfig::tri().port(0))
        .provide(UserServiceServer::new(Users))
        .build()?;
    instance.start().await?;

    let address = instance.exported()[0].address();
    let options = ReferenceConfig::new().url([format!("tri://127.0.0.1:{}", port(&address))]);
    let users: UserServiceClient = instance.refer_with(options).await?;

    let ada = users.get_user("ada".to_owned()).await?.into_message();
    println!("{ada:?}");
    let all = users.get_users(vec!["ada".to_owned(), "grace".to_owned()]);
    let all = all.timeout(Duration::from_millis(500)).await?;
    println!("{} users", all.message().len());
    let renamed = users.rename(ada, "Countess".to_owned()).await?;
    println!("{}", renamed.message());

    let missing = users.get_user("nobody".to_owned()).await;
    if let Err(status) = missing {
        println!("{status}");
        println!("missing: {:?}", who_is_missing(&status));
    }
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or(address)
}
