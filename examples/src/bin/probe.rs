//! What an orchestrator asks of a program, and what the program adds to the answers: a cache that has to be filled, a database
//! that comes and goes, a worker that hangs. `cargo run -p examples --bin probe`; with `-- --serve` it goes on until Ctrl-C.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{
    error::Error,
    future::{Ready, ready},
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dubbo::Instance;
use examples::{Polite, asking::ask, greet::GreeterServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [cache, database, worker] = [false, false, true].map(|is| Arc::new(AtomicBool::new(is)));
    let instance = Instance::load(concat!(env!("CARGO_MANIFEST_DIR"), "/probe.yaml"))?
        .provide(GreeterServer::new(Polite))
        .startup("cache", check(&cache, "it is being filled"))
        .readiness("database", check(&database, "no connection"))
        .liveness("worker", check(&worker, "it hangs"))
        .on_stopping(async |instance| {
            if let Err(error) = say("it ends", &instance).await {
                println!("nobody answers: {error}");
            }
        })
        .build()?;
    instance.start().await?;

    say("it serves", &instance).await?;
    for (what, check, is) in [
        ("the cache is filled", &cache, true),
        ("the database is there", &database, true),
        ("the database is gone", &database, false),
        ("the database is back", &database, true),
        ("the worker hangs", &worker, false),
        ("the worker works", &worker, true),
    ] {
        check.store(is, Ordering::Relaxed);
        say(what, &instance).await?;
    }
    if std::env::args().any(|arg| arg == "--serve") {
        println!("serving");
        instance.serve().await?;
    }
    instance.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// What a probe asks of the program: any future that is an error, with the reason, when the answer is no.
fn check(
    is_well: &Arc<AtomicBool>,
    why_not: &'static str,
) -> impl Fn() -> Ready<Result<(), &'static str>> + use<> {
    let is_well = Arc::clone(is_well);
    move || ready(is_well.load(Ordering::Relaxed).then_some(()).ok_or(why_not))
}

/// Asks as the kubelet does, and says what it hears.
async fn say(when: &str, instance: &Instance) -> io::Result<()> {
    let ports = instance.admin_addresses();
    let port = ports.first().map_or(0, SocketAddr::port);
    println!("{when}:");
    for probe in ["live", "ready", "startup"] {
        let request = format!("GET /{probe} HTTP/1.1\r\n\r\n");
        let answer = ask(&format!("127.0.0.1:{port}"), &request).await?;
        let (head, why) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).unwrap_or_default();
        println!("  curl http://127.0.0.1:{port}/{probe} -> {status} {why}");
    }
    Ok(())
}
