//! Providers of one application come and go, and a consumer says what it sees of it.
//!
//! `cargo run -p examples --bin service-discovery -- consumer` in one terminal, `-- provider` in one or two others; stop
//! them with Ctrl-C and start them again, in any order.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{env, error::Error, process, time::Duration};

use dubbo::{Instance, Status};

/// Somebody who has a name.
#[dubbo::service(interface = "com.example.Worker")]
trait Worker {
    /// What it is called.
    async fn name(&self) -> Result<String, Status>;
}

struct Process;

impl Worker for Process {
    async fn name(&self) -> Result<String, Status> {
        Ok(format!("process {}", process::id()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let builder = Instance::load(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/service-discovery.yaml"
    ))?;
    match env::args().nth(1).as_deref() {
        Some("provider") => {
            let instance = builder.provide(WorkerServer::new(Process)).build()?;
            instance.start().await?;
            let url = &instance.exported()[0];
            println!("process {} is there: {url}", process::id());
            instance.serve().await?;
        }
        Some("consumer") => {
            let instance = builder.application("boss").build()?;
            tokio::select! {
                ended = instance.serve() => ended?,
                failed = call_for_ever(&instance) => failed?,
            }
        }
        _ => return Err("which part? `-- consumer` or `-- provider`".into()),
    }
    Ok(())
}

/// Calls every half second. When nobody is there, it says once why.
async fn call_for_ever(instance: &Instance) -> Result<(), dubbo::Error> {
    let worker: WorkerClient = instance.refer().await?;
    let mut pace = tokio::time::interval(Duration::from_millis(500));
    let mut answered = true;
    loop {
        pace.tick().await;
        let call = worker.name().await;
        match &call {
            Ok(name) => println!("answered by {}", name.message()),
            Err(_) if !answered => {}
            Err(_) => println!("{}", instance.explain("com.example.Worker").await?),
        }
        answered = call.is_ok();
    }
}
