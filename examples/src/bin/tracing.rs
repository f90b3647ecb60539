//! One trace over three programs and two protocols: a shop calls a greeter over Triple, and while that serves the call it calls
//! the users over the classic protocol. `cargo run -p examples --features otel --bin tracing` prints the spans, a line each.
//!
//! For a collector instead, such as Jaeger's:
//!
//! ```text
//! DUBBO_OTEL_TRACING_EXPORTER=otlp-http DUBBO_OTEL_TRACING_ENDPOINT=127.0.0.1:4318 DUBBO_OTEL_TRACING_INSECURE=true \
//!   cargo run -p examples --features otel --bin tracing
//! ```

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{error::Error, time::Duration};

use dubbo::{
    Instance, InstanceBuilder,
    config::{ProtocolConfig, ReferenceConfig},
};
use examples::{
    answering::{Answering, from},
    greet::{GreeterClient, GreeterServer},
    users::{UserServiceClient, UserServiceServer, Users},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let users = program("users")?
        .protocol(
            "dubbo",
            ProtocolConfig::new().name("dubbo").ip("127.0.0.1").port(0),
        )
        .provide(UserServiceServer::new(Users))
        .build()?;
    users.start().await?;

    // The greeter is a consumer, too. What it calls while it serves belongs to the trace of what it serves.
    let calls = program("greeter")?.build()?;
    let client: UserServiceClient = calls.refer_with(of(&users)).await?;
    let answer = Answering(move |id: String| {
        let client = client.clone();
        async move {
            let user = client.get_user(id).await?;
            Ok(format!("Hello, {}!", user.message().name))
        }
    });
    let greeter = program("greeter")?
        .protocol("tri", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .provide(GreeterServer::new(answer))
        .build()?;
    greeter.start().await?;

    let shop = program("shop")?.build()?;
    let client: GreeterClient = shop.refer_with(of(&greeter)).await?;
    let answer = client.greet(from("ada")).await?;
    println!("{}", answer.message().greeting);
    drop(client);

    // Spans go in batches; the rest goes now.
    for instance in [shop, greeter, calls, users] {
        instance.shutdown(Duration::from_secs(5)).await;
    }
    Ok(())
}

/// One of the programs. Its name is the `service.name` of its spans.
fn program(name: &str) -> Result<InstanceBuilder, dubbo::Error> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tracing.yaml");
    Ok(Instance::load(file)?.application(name))
}

/// Where a provider is.
fn of(provider: &Instance) -> ReferenceConfig {
    let url = &provider.exported()[0];
    ReferenceConfig::new().url([format!("{}://{}", url.protocol(), url.address())])
}
