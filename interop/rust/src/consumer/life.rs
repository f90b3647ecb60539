//! Connections that are idle, and calls that the interface does not have.

use std::time::Duration;

use dubbo::{Status, service};
use serde_json::Value;
use tokio::time::sleep;

use super::{Target, outcome::Fault};
use crate::user::UserServiceClient;

/// Methods that the interface does not have, or not so.
#[service(interface = "org.apache.dubbo.interop.UserService")]
trait Stranger {
    async fn no_such_method(&self, s: String) -> Result<String, Status>;
    async fn hello(&self, a: String, b: String) -> Result<String, Status>;
    #[dubbo(name = "hello")]
    async fn hello_number(&self, n: i32) -> Result<String, Status>;
}

/// Is silent for longer than a connection may be without heartbeats that are answered.
pub(super) async fn heartbeat(target: &Target<'_>) -> Result<Value, Fault> {
    let client: UserServiceClient = target
        .refer(|options| options.param("heartbeat", "1000"))
        .await?;
    let before = target.label(client.remote()).await?.into_message();
    sleep(Duration::from_millis(4500)).await;
    let after = target.label(client.remote()).await?.into_message();
    Ok(if before == after {
        "the same connection".into()
    } else {
        "another connection".into()
    })
}

pub(super) async fn unknown_method(target: &Target<'_>) -> Result<Value, Fault> {
    let client: StrangerClient = target.refer(|options| options).await?;
    let answer = target.label(client.no_such_method("x".to_owned())).await?;
    Ok(answer.into_message().into())
}

pub(super) async fn wrong_arguments(target: &Target<'_>) -> Result<Value, Fault> {
    let client: StrangerClient = target.refer(|options| options).await?;
    let answer = target
        .label(client.hello("a".to_owned(), "b".to_owned()))
        .await?;
    Ok(answer.into_message().into())
}

pub(super) async fn wrong_type(target: &Target<'_>) -> Result<Value, Fault> {
    let client: StrangerClient = target.refer(|options| options).await?;
    let answer = target.label(client.hello_number(5)).await?;
    Ok(answer.into_message().into())
}
