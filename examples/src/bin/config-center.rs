//! A part of the configuration is kept in a config center, and changes there while the program calls.
//!
//! `cargo run -p examples --bin config-center` keeps it in a directory. An address takes it to a server, such as
//! `cargo run -p examples --features nacos --bin config-center -- nacos://127.0.0.1:8848`; with the features `zookeeper` and
//! `etcd` it is `zookeeper://127.0.0.1:2181` or `etcdv3://127.0.0.1:2379`.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{env, error::Error, time::Duration};

use dubbo::{
    CallContext, Instance, Status, Url, config::ConfigCenterConfig, extension::Extensions,
    spi::config_center::ConfigCenter,
};
use futures_util::StreamExt as _;
use tokio::{sync::watch, time::Instant};

/// Somebody who listens.
#[dubbo::service(interface = "com.example.Listener")]
trait Listener {
    /// How long the caller will wait for the answer.
    async fn patience(&self, context: CallContext) -> Result<String, Status>;
}

struct Attentive;

impl Listener for Attentive {
    async fn patience(&self, context: CallContext) -> Result<String, Status> {
        let deadline = context
            .deadline()
            .ok_or_else(|| Status::internal("for ever"))?;
        let left = deadline.duration_since(Instant::now());
        Ok(format!("{:.0} s", left.as_secs_f64()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = || format!("file://{}", env::temp_dir().join("dubbo-config").display());
    let address = env::args().nth(1).unwrap_or_else(folder);
    // The plugin of the center itself, for what an operator does with a console.
    let url = match address.strip_prefix("file://") {
        Some(folder) => Url::new("file", folder),
        None => address.parse()?,
    };
    let center = Extensions::linked()?.create::<dyn ConfigCenter>(url.protocol(), &url)?;
    let timeout = |time| format!("dubbo: {{consumer: {{request-timeout: {time}}}}}");
    center.publish(DATA_ID, GROUP, &timeout("1s")).await?;

    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/config-center.yaml"))?
        .config_center(ConfigCenterConfig::at(address))
        .provide(ListenerServer::new(Attentive))
        .build()?; // the document has been read now
    instance.start().await?;
    let listener: ListenerClient = instance.refer().await?;
    let mut patience = listener.patience().await?.into_message();
    println!("callers wait {patience}");

    let (stop, stopped) = watch::channel(false);
    let caller = tokio::spawn(call_until(stopped, listener.clone()));
    let mut changes = instance.config_changes();
    for time in [Some("2s"), None] {
        match time {
            Some(time) => center.publish(DATA_ID, GROUP, &timeout(time)).await?,
            None => center.remove(DATA_ID, GROUP).await?,
        }
        let applied = changes.next().await.ok_or("the instance has ended")?;
        for change in &*applied.changes {
            println!("{change}");
        }
        // Calls go by it at once, but for those that begin in the same moment.
        let before = patience.clone();
        while patience == before {
            patience = listener.patience().await?.into_message();
        }
        println!("callers wait {patience}");
    }
    stop.send_replace(true);
    println!("{} calls, and none of them failed", caller.await??);

    instance.shutdown(Duration::from_secs(5)).await;
    center.close().await;
    Ok(())
}

/// Calls in a loop; the first call that fails ends it.
async fn call_until(
    stopped: watch::Receiver<bool>,
    listener: ListenerClient,
) -> Result<u64, Status> {
    let mut calls = 0;
    while !*stopped.borrow() {
        listener.patience().await?;
        calls += 1;
    }
    Ok(calls)
}

/// As `config-center.yaml` has them.
const DATA_ID: &str = "config-center.yaml";
const GROUP: &str = "examples";
