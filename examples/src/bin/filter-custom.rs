//! A filter of one's own: linked by name, named by the configuration of both sides, free to await and to look at
//! everything.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{sync::Arc, time::Duration};

use dubbo::{
    Filter, Instance, Invocation, Next, RpcResult,
    config::{ProtocolConfig, ReferenceConfig, ServiceConfig},
};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};

/// Says who calls what, and how it went. It sees all four kinds of call.
struct Audit;

#[dubbo::async_trait]
impl Filter for Audit {
    async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
        let method = invocation.method.clone();
        let side = next.url().param("side").unwrap_or("consumer").to_owned();
        invocation.attachments.append("seen-by", "audit");
        tokio::time::sleep(Duration::from_millis(1)).await; // anything can be awaited, such as a token service
        let result = next.run(invocation).await;
        println!(
            "{side}: {method:?} {}",
            if result.is_ok() { "worked" } else { "failed" }
        );
        result
    }
}

// From now on a configuration, in YAML or in code, may say `filter: audit`.
dubbo::extension!(dyn Filter, "audit", |_context| Ok(Arc::new(Audit)));

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance = Instance::builder()
        .application("filter")
        .protocol("tri", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .provide_with(
            GreeterServer::new(Polite),
            ServiceConfig::new().filter(["default", "audit"]),
        )
        .build()?;
    instance.start().await?;
    let url = format!("tri://{}", instance.exported()[0].address());
    let options = ReferenceConfig::new().url([url]).filter(["audit"]);
    let greeter: GreeterClient = instance.refer_with(options).await?;

    let request = GreetRequest {
        name: "filter".to_owned(),
    };
    println!("{}", greeter.greet(request).await?.message().greeting);
    Ok(())
}
