//! Unary calls over Triple: ours, raw hyper, tonic and dubbo-go under one load generator, taking turns.

use std::{net::SocketAddr, path::PathBuf, process::Command};

use serde_json::{Map, Value, json};

use super::{
    h2load, median, round,
    server::{Server, free_address},
    write_report,
};
use crate::{
    failure::Failure,
    interop,
    process::{self, Stopwatch},
};

pub(super) fn run() -> Result<String, Failure> {
    let watch = Stopwatch::start();
    h2load::install()?;
    process::run(
        &mut process::cargo(["build", "--release", "--package", "bench"]),
        "see what cargo said above",
    )?;
    let servers = start_servers()?;

    let mut figures = Map::new();
    let mut ratios = Map::new();
    println!(
        "{:<8} {:<12} {:>12} {:>14}",
        "payload", "server", "requests/s", "CPU us/request"
    );
    for size in [5, 128] {
        let measured = measure(&servers, size)?;
        for (server, figure) in servers.iter().zip(&measured) {
            println!(
                "{:<8} {:<12} {:>12.0} {:>14.2}",
                format!("{size} B"),
                server.name,
                figure.rate,
                figure.cpu_micros
            );
            figures.insert(
                format!("{size}B.{}.requests_per_second", server.name),
                json!(figure.rate),
            );
            figures.insert(
                format!("{size}B.{}.cpu_us_per_request", server.name),
                json!(figure.cpu_micros),
            );
        }
        let (ours, theirs) = measured
            .split_first()
            .expect("invariant: ours is the first");
        for (server, their) in servers.iter().skip(1).zip(theirs) {
            ratios.insert(
                format!("cpu_per_request.{size}B.vs_{}", server.name),
                json!(round(ours.cpu_micros / their.cpu_micros)),
            );
            ratios.insert(
                format!("throughput.{size}B.vs_{}", server.name),
                json!(round(ours.rate / their.rate)),
            );
        }
    }
    println!();
    for (key, ratio) in &ratios {
        println!("{key:<36} {ratio:>8}");
    }
    let written = write_report("triple", &Value::Object(ratios), &Value::Object(figures))?;
    Ok(format!(
        "{written}; took {:.0} s",
        watch.elapsed().as_secs_f64()
    ))
}

/// What one server came to.
struct Figure {
    rate: f64,
    cpu_micros: f64,
}

/// Ours first: the others are what it is compared with.
fn start_servers() -> Result<Vec<Server>, Failure> {
    let release = process::target_dir().join("release");
    let rust = |name: &'static str| -> Result<Server, Failure> {
        let address = free_address()?;
        let mut command = Command::new(release.join(format!("bench-{name}")));
        Server::start(name, address, command.arg(address.to_string()))
    };
    let mut servers = vec![rust("dubbo")?, rust("hyper")?, rust("tonic")?];
    servers.push(start_dubbo_go()?);
    Ok(servers)
}

fn start_dubbo_go() -> Result<Server, Failure> {
    let address: SocketAddr = free_address()?;
    let mut command = Command::new(interop::go_program("provider")?);
    command.arg(format!("--tri={}", address.port()));
    Server::start("dubbo_go", address, &mut command)
}

/// Every server gets every round, in turn, so that whatever else the machine does hits all of them.
fn measure(servers: &[Server], size: usize) -> Result<Vec<Figure>, Failure> {
    let body = write_body(size)?;
    let mut rates = vec![Vec::new(); servers.len()];
    let mut cpu = vec![0.0; servers.len()];
    for server in servers {
        h2load::measure(server.address, PATH, &body, REQUESTS / 4)?;
    }
    for _ in 0..ROUNDS {
        for (index, server) in servers.iter().enumerate() {
            let before = server.cpu_seconds()?;
            rates[index].push(h2load::measure(server.address, PATH, &body, REQUESTS)?);
            cpu[index] += server.cpu_seconds()? - before;
        }
    }
    let calls = f64::from(REQUESTS) * f64::from(ROUNDS);
    Ok(rates
        .into_iter()
        .zip(cpu)
        .map(|(rates, cpu)| Figure {
            rate: median(rates),
            cpu_micros: cpu * 1e6 / calls,
        })
        .collect())
}

/// One gRPC message: a `PingMessage` with `size` bytes.
fn write_body(size: usize) -> Result<PathBuf, Failure> {
    let mut field = vec![0x0a];
    let mut rest = size;
    while rest > 0x7f {
        field.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
        rest >>= 7;
    }
    field.push(u8::try_from(rest).unwrap_or(0));
    field.resize(field.len() + size, b'x');
    let length = u32::try_from(field.len()).expect("invariant: sizes are small");
    let mut body = vec![0];
    body.extend_from_slice(&length.to_be_bytes());
    body.append(&mut field);

    let path = process::target_dir()
        .join("bench")
        .join(format!("ping-{size}.bin"));
    std::fs::create_dir_all(path.parent().expect("invariant: it was joined"))
        .and_then(|()| std::fs::write(&path, body))
        .map_err(|e| {
            Failure::new(
                format!("{} cannot be written: {e}", path.display()),
                "make the target folder writable",
            )
        })?;
    Ok(path)
}

const PATH: &str = "/dubbo.interop.v1.Greeter/Ping";
const REQUESTS: u32 = 40_000;
const ROUNDS: u32 = 7;
