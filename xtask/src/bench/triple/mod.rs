//! Calls over Triple: ours, raw hyper, tonic, grpc-go, dubbo-go and Dubbo Java, taking turns; each server under one load
//! generator, and under the client of its own stack.

mod allocations;
mod ends;
mod grid;
mod options;
mod report;
mod stacks;

use crate::{failure::Failure, process::Stopwatch};

use super::{h2load, usage};
use grid::Cell;
use options::Options;
use report::{Report, Side};
use stacks::{Pair, Stack};

pub(super) fn run(args: &[&str]) -> Result<String, Failure> {
    let options = Options::parse(args)?;
    let mut left_out = Stack::PEERS.to_vec();
    left_out.retain(|peer| !options.stacks.contains(peer));
    h2load::install()?;
    stacks::build(&options.stacks)?;
    let mut report = Report::default();
    if !options.quick {
        allocations::count(&mut report)?;
    }
    let mut pairs = Vec::new();
    for stack in &options.stacks {
        pairs.push(stack.start()?);
    }
    let watch = Stopwatch::start();
    note_idle(&pairs, &mut report)?;
    measure(&mut pairs, &options, &mut report)?;
    let took = watch.elapsed().as_secs_f64();
    report.show_ratios(&options.stacks);
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|peer| peer.name()).collect();
        println!(
            "left out, because --peers does not name them: {}",
            names.join(", ")
        );
    }
    let written = report.write()?;
    Ok(format!("{written}; measured for {took:.0} s"))
}

/// Before anything is called.
fn note_idle(pairs: &[Pair], report: &mut Report) -> Result<(), Failure> {
    // Some servers are not done when they listen.
    let watch = Stopwatch::start();
    while watch.elapsed().as_secs() < SETTLING_SECONDS {
        crate::process::pause();
    }
    for pair in pairs {
        let name = pair.stack.name();
        let resident = usage::resident_mib(name, pair.server.id())?;
        println!("{name:<9} {resident:>8.1} MiB resident when idle");
        report.note(&format!("idle.{name}.resident_mib"), resident);
    }
    println!();
    Ok(())
}

fn measure(pairs: &mut [Pair], options: &Options, report: &mut Report) -> Result<(), Failure> {
    let (rounds, warm_up) = if options.quick { QUICK } else { USUAL };
    for pair in pairs.iter_mut() {
        for load in &options.loads {
            let millis = warm_up * pair.stack.warm_up();
            let answer = pair.client.ask(&load.command(millis, WARM_UP_CALLERS));
            ends::let_off(pair, answer)?;
        }
    }
    report::show_columns();
    for &load in &options.loads {
        for &concurrency in &options.concurrencies {
            let cell = Cell { load, concurrency };
            let measured = ends::end_to_end(pairs, cell, rounds)?;
            report.add(cell, Side::END_TO_END, &options.stacks, &measured);
            let measured = ends::server_side(pairs, cell, rounds)?;
            report.add(cell, Side::SERVER, &options.stacks, &measured);
        }
    }
    Ok(())
}

/// How many rounds there are, and how long each kind of call warms up, in milliseconds.
const QUICK: (u32, u32) = (5, 3_000);
const USUAL: (u32, u32) = (5, 1_000);
const WARM_UP_CALLERS: u32 = 50;
const SETTLING_SECONDS: u64 = 3;
