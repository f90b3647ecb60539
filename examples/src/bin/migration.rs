//! A consumer moves from interface-level to application-level discovery and back while it calls, and no call fails.
//!
//! `cargo run -p examples --bin migration`. Here the program sets the rules itself. Elsewhere an operator keeps one in a
//! config center (ZooKeeper, Nacos, etcd), under `{application}.migration` in the group `DUBBO_SERVICEDISCOVERY_MIGRATION`,
//! the same as for Dubbo Java.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{error::Error, time::Duration};

use dubbo::{
    Instance, Status,
    migration::{MigrationStep, ReferenceStatus},
};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};
use tokio::{sync::watch, time::sleep};

/// From interfaces to the application step by step, back in one, and then without a rule.
const RULES: [(&str, MigrationStep); 5] = [
    ("step: FORCE_INTERFACE", MigrationStep::ForceInterface),
    (
        "{step: APPLICATION_FIRST, threshold: 1.0, proportion: 30}",
        MigrationStep::ApplicationFirst,
    ),
    ("step: FORCE_APPLICATION", MigrationStep::ForceApplication),
    ("step: FORCE_INTERFACE", MigrationStep::ForceInterface),
    ("", MigrationStep::ApplicationFirst),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/migration.yaml"))?
        .provide(GreeterServer::new(Polite))
        .build()?;
    instance.start().await?;
    let greeter: GreeterClient = instance.refer().await?;
    let (stop, stopped) = watch::channel(false);
    let caller = tokio::spawn(call_until(stopped, greeter));

    for (rule, step) in RULES {
        println!("rule: {rule:?}");
        instance.set_migration_rule(rule)?;
        let before = loop {
            let reference = reference(&instance)?;
            if reference.step == step {
                break reference;
            }
            sleep(Duration::from_millis(10)).await;
        };
        sleep(Duration::from_millis(200)).await;
        let after = reference(&instance)?;
        println!("  {} in {after}", after.step);
        println!(
            "  {} calls by the application, {} by the interface: {}",
            after.application_calls - before.application_calls,
            after.interface_calls - before.interface_calls,
            after.why
        );
    }
    println!("{}", instance.explain("greet.Greeter").await?);

    stop.send_replace(true);
    println!("{} calls, and none of them failed", caller.await??);
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Calls in a loop; the first call that fails ends it.
async fn call_until(stopped: watch::Receiver<bool>, greeter: GreeterClient) -> Result<u64, Status> {
    let mut calls = 0;
    while !*stopped.borrow() {
        let request = GreetRequest {
            name: "migration".to_owned(),
        };
        greeter.greet(request).await?;
        calls += 1;
    }
    Ok(calls)
}

/// How far the only reference of this program is.
fn reference(instance: &Instance) -> Result<ReferenceStatus, &'static str> {
    let references = instance.migration_status().references;
    references.into_iter().next().ok_or("there is no reference")
}
