//! The classic protocol: calls of `byte[] ping(byte[])` from 50 callers, each implementation's consumer to its own
//! provider, and frames that are sent back as they are, taking turns.
//!
//! Frames are sent back in two ways: each on its own as it is read, which is the yardstick, and all that have come together
//! at once, which is the least that a server can do.
//!
//! A consumer is a program that obeys the command `ping SIZE MILLIS`: it calls for that long with so many bytes, and
//! answers with the number of calls and the nanoseconds that they took.

use std::{net::SocketAddr, process::Command};

use serde_json::{Map, Value, json};

use super::{
    median, round,
    server::{Server, free_address},
    worker::Worker,
    write_report,
};
use crate::{
    failure::Failure,
    interop,
    process::{self, Stopwatch},
};

pub(super) fn run() -> Result<String, Failure> {
    let watch = Stopwatch::start();
    process::run(
        &mut process::cargo(["build", "--release", "--package=bench"]),
        "see what cargo said above",
    )?;
    let mut pairs = start_pairs()?;
    for pair in &mut pairs {
        for (_, size) in SIZES {
            pair.consumer
                .ask(&format!("ping {size} {WARM_UP_MILLIS}"))?;
        }
    }

    let mut figures = Map::new();
    let mut ratios = Map::new();
    println!(
        "{:<8} {:<14} {:>12} {:>14}",
        "payload", "provider", "calls/s", "CPU us/call"
    );
    for (label, size) in SIZES {
        let measured = measure(&mut pairs, size)?;
        for (pair, figure) in pairs.iter().zip(&measured) {
            let name = pair.provider.name;
            println!(
                "{label:<8} {name:<14} {:>12.0} {:>14.2}",
                figure.rate, figure.cpu_micros
            );
            figures.insert(
                format!("{label}.{name}.calls_per_second"),
                json!(round(figure.rate)),
            );
            figures.insert(
                format!("{label}.{name}.cpu_us_per_call"),
                json!(round(figure.cpu_micros)),
            );
        }
        let (ours, theirs) = measured
            .split_first()
            .expect("invariant: ours is the first");
        for (pair, their) in pairs.iter().skip(1).zip(theirs) {
            let name = pair.provider.name;
            ratios.insert(
                format!("throughput.{label}.vs_{name}"),
                json!(round(ours.rate / their.rate)),
            );
            ratios.insert(
                format!("cpu_per_request.{label}.vs_{name}"),
                json!(round(ours.cpu_micros / their.cpu_micros)),
            );
        }
    }
    println!();
    for (key, ratio) in &ratios {
        println!("{key:<40} {ratio:>8}");
    }
    let written = write_report("dubbo", &Value::Object(ratios), &Value::Object(figures))?;
    Ok(format!(
        "{written}; took {:.0} s",
        watch.elapsed().as_secs_f64()
    ))
}

/// A provider and the consumer that calls it.
struct Pair {
    provider: Server,
    consumer: Worker,
}

impl Pair {
    /// Starts a provider, which is made of an address, and then its consumer.
    fn start(
        name: &'static str,
        provider: impl FnOnce(SocketAddr) -> Result<Command, Failure>,
        consumer: impl FnOnce(SocketAddr) -> Result<Command, Failure>,
    ) -> Result<Self, Failure> {
        let address = free_address()?;
        Ok(Self {
            provider: Server::start(name, address, &mut provider(address)?)?,
            consumer: Worker::start(name, &mut consumer(address)?)?,
        })
    }
}

/// Ours first: the others are what it is compared with.
fn start_pairs() -> Result<Vec<Pair>, Failure> {
    let rust = |program: &'static str, way: Option<&'static str>| {
        let path = process::target_dir().join("release").join(program);
        move |address: SocketAddr| {
            let mut command = Command::new(path);
            command.arg(address.to_string()).args(way);
            Ok(command)
        }
    };
    let callers = format!("--callers={CALLERS}");
    Ok(vec![
        Pair::start(
            "ours",
            rust("bench-ping-server", None),
            rust("bench-ping-client", None),
        )?,
        Pair::start(
            "framed_echo",
            rust("bench-echo-server", None),
            rust("bench-echo-client", None),
        )?,
        Pair::start(
            "gathered_echo",
            rust("bench-echo-server", Some("gather")),
            rust("bench-echo-client", None),
        )?,
        Pair::start(
            "dubbo_go",
            |address| {
                let mut command = Command::new(interop::go_program("provider")?);
                command.arg(format!("--dubbo={}", address.port()));
                Ok(command)
            },
            |address| {
                let mut command = Command::new(interop::go_program("bench")?);
                command.args([&format!("--dubbo={address}"), &callers]);
                Ok(command)
            },
        )?,
        Pair::start(
            "java",
            |address| {
                let class = "org.apache.dubbo.interop.provider.Provider";
                let mut command = interop::java_command(class)?;
                command.arg(format!("--dubbo={}", address.port()));
                Ok(command)
            },
            |address| {
                let mut command = interop::java_command("org.apache.dubbo.interop.Bench")?;
                command.args([&format!("--dubbo={address}"), &callers]);
                Ok(command)
            },
        )?,
    ])
}

/// What one pair came to.
struct Figure {
    rate: f64,
    cpu_micros: f64,
}

/// Every pair gets every round, in turn, so that whatever else the machine does hits all of them.
fn measure(pairs: &mut [Pair], size: u32) -> Result<Vec<Figure>, Failure> {
    let mut rates = vec![Vec::new(); pairs.len()];
    let mut cpu = vec![Vec::new(); pairs.len()];
    for _ in 0..ROUNDS {
        for (index, pair) in pairs.iter_mut().enumerate() {
            let before = pair.provider.cpu_seconds()?;
            let command = format!("ping {size} {ROUND_MILLIS}");
            let [calls, nanos]: [f64; 2] = pair.consumer.ask_numbers(&command)?;
            rates[index].push(calls * 1e9 / nanos);
            cpu[index].push((pair.provider.cpu_seconds()? - before) * 1e6 / calls);
        }
    }
    Ok(rates
        .into_iter()
        .zip(cpu)
        .map(|(rates, cpu)| Figure {
            rate: median(rates),
            cpu_micros: median(cpu),
        })
        .collect())
}

const SIZES: [(&str, u32); 2] = [("128B", 128), ("10KiB", 10 << 10)];
/// Of each consumer; the Rust ones have them built in.
const CALLERS: u32 = 50;
const ROUNDS: u32 = 7;
const ROUND_MILLIS: u32 = 1500;
/// For longer than compilers at run time need.
const WARM_UP_MILLIS: u32 = 5000;
