//! What is counted of calls, for Prometheus: on a page that it asks for, and pushed to a gateway.
//! `cargo run -p examples --features prometheus --bin prometheus`.
//!
//! With `-- --serve` it goes on calling until Ctrl-C: for a Prometheus that asks, and a Grafana with `dashboards/dubbo.json`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{error::Error, time::Duration};

use axum::{Router, http::Uri};
use dubbo::{
    Instance, Status,
    config::{LoadOptions, ProtocolConfig, ReferenceConfig},
};
use examples::{
    answering::{Answering, from},
    asking::ask,
    greet::{GreeterClient, GreeterServer},
};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (sender, mut pushed) = mpsc::channel(1);
    let gateway = gateway(sender).await?;
    let url = format!("http://{}", gateway.mounted()[0].address());
    let file = LoadOptions::path(concat!(env!("CARGO_MANIFEST_DIR"), "/prometheus.yaml"));
    let variables = [("PUSHGATEWAY", url)].into_iter().collect();
    let instance = Instance::load_with(&file.environment(variables))?
        .provide(GreeterServer::new(Answering(
            async |name: String| match name.as_str() {
                "nobody" => Err(Status::business("nobody is greeted")),
                name => Ok(format!("Hello, {name}!")),
            },
        )))
        .build()?;
    instance.start().await?;
    let address = format!("tri://{}", instance.exported()[0].address());
    let greeter: GreeterClient = instance
        .refer_with(ReferenceConfig::new().url([address]))
        .await?;

    call(&greeter).await;
    let port = instance.metrics_address().map_or(0, |it| it.port());
    let page = format!("127.0.0.1:{port}");
    println!("curl http://{page}/metrics");
    say(&ask(&page, "GET /metrics HTTP/1.1\r\n\r\n").await?);

    if std::env::args().any(|arg| arg == "--serve") {
        println!("serving");
        let calls = async {
            loop {
                call(&greeter).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            ended = instance.serve() => ended?,
            () = calls => {}
        }
    }
    // What has been counted since the last push is pushed now.
    instance.shutdown(Duration::from_secs(5)).await;
    while let Ok((path, numbers)) = pushed.try_recv() {
        println!("pushed to {path}");
        say(&numbers);
    }
    Ok(())
}

/// Three calls that work, and one that the application refuses.
async fn call(greeter: &GreeterClient) {
    for name in ["Ada", "Grace", "Radia", "nobody"] {
        if let Err(status) = greeter.greet(from(name)).await {
            println!("{status}");
        }
    }
}

/// In place of Prometheus' gateway: an HTTP service that keeps what it was sent last.
async fn gateway(pushed: mpsc::Sender<(String, String)>) -> Result<Instance, dubbo::Error> {
    let take = async move |uri: Uri, numbers: String| {
        let _full = pushed.try_send((uri.path().to_owned(), numbers));
    };
    let instance = Instance::builder()
        .application("gateway")
        .protocol("tri", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .http("/metrics", Router::new().fallback(take))
        .build()?;
    instance.start().await?;
    Ok(instance)
}

/// A few numbers of the many: the name, and what it counts.
fn say(numbers: &str) {
    for line in numbers.lines() {
        let (name, rest) = line.split_once('{').unwrap_or_default();
        let (_, number) = rest.rsplit_once("} ").unwrap_or_default();
        if SHOWN.contains(&name) {
            println!("  {name} {number}");
        }
    }
}

const SHOWN: [&str; 6] = [
    "dubbo_provider_requests_total",
    "dubbo_provider_requests_succeed_total",
    "dubbo_provider_requests_business_failed_total",
    "dubbo_provider_rt_milliseconds_p99",
    "dubbo_consumer_requests_total",
    "dubbo_consumer_attempts_total",
];
