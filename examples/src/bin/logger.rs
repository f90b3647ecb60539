//! Levels, a file that rolls, JSON, and lines that say which trace they belong to: `cargo run -p examples --bin logger`.
//!
//! A program logs by the macros of the crate `tracing`, and so does the framework. One that installs a subscriber of its own
//! keeps it, and the section `logger` is left alone.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{env, error::Error, fs, io::ErrorKind, time::Duration};

use dubbo::{
    Instance,
    config::{LogLevel, ReferenceConfig},
    logging,
};
use examples::{
    answering::{Answering, from},
    greet::{GreeterClient, GreeterServer},
};
use tracing::{debug, info, warn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join("dubbo-logger");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/logger.yaml");
    let instance = Instance::load(file)?
        .provide(GreeterServer::new(Answering(async |name: String| {
            info!(guest = name, "somebody is greeted");
            Ok(format!("Hello, {name}!"))
        })))
        .build()?;
    instance.start().await?;

    for page in 1..=11 {
        info!(page, text = "-".repeat(100_000), "a long story");
    }

    let url = format!("tri://{}", instance.exported()[0].address());
    let options = ReferenceConfig::new().url([url]);
    let greeter: GreeterClient = instance.refer_with(options).await?;
    let call = greeter.greet(from("Ada"));
    call.attach("traceparent", TRACE).await?;

    debug!("of no interest");
    logging::set_level(LogLevel::Debug)?;
    debug!("of interest now");
    logging::set_level(LogLevel::Warn)?;
    info!("of no interest any more");
    warn!("the shop closes");
    drop(greeter);
    instance.shutdown(Duration::from_secs(5)).await; // the log is written by then

    for entry in fs::read_dir(&folder)? {
        println!("file {}", entry?.file_name().display());
    }
    let log = fs::read_to_string(folder.join("shop.log"))?;
    for line in log
        .lines()
        .filter(|line| line.contains(r#""target":"logger""#))
    {
        if !line.contains("a long story") {
            println!("{line}");
        }
    }
    Ok(())
}

/// The caller of the one who calls here has begun a trace, and says so.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
