//! `cargo xtask interop trace`: a call of our consumer that makes a provider in Go or in Java call our provider is one trace,
//! as a collector of OpenTelemetry gets the spans of all three.

mod carried;
mod chain;
mod collector;
mod otlp;
mod scene;

use crate::{failure::Failure, process::Stopwatch};

use self::{carried::Carrier, collector::Collector, scene::Scene};
use super::{
    build,
    options::{check, is_meant},
    report::{self, Cell, Row},
    route::{Party, Protocol},
};

/// Makes the calls that the arguments ask for, with each party in the middle. Prints a table of them, and the count on the last
/// line. Whether all passed.
pub(super) fn run(args: &[String]) -> Result<bool, Failure> {
    let patterns = patterns(args)?;
    let ours = build::peers(Party::Rust)?;
    let collector = Collector::start()?;
    let cases: Vec<_> = cases()
        .into_iter()
        .filter(|(name, ..)| is_meant(&patterns, name))
        .collect();
    let mut rows: Vec<Row> = cases.iter().map(|(name, ..)| Row::new(name)).collect();
    let mut columns = Vec::new();
    for party in MIDDLES {
        build::peers(party)?;
        let column = format!("Rust→{party}→Rust");
        for carrier in Carrier::ALL {
            let mut of_carrier = rows
                .iter_mut()
                .zip(&cases)
                .filter(|(_, (_, it, _))| *it == carrier)
                .peekable();
            if of_carrier.peek().is_none() {
                continue;
            }
            let watch = Stopwatch::start();
            let mut scene = Scene::start(&collector, &ours, party, carrier);
            for (row, (_, _, protocol)) in of_carrier {
                let problems = match &mut scene {
                    Ok(scene) => scene
                        .call(*protocol)
                        .unwrap_or_else(|failure| vec![failure.to_string()]),
                    Err(failure) => vec![failure.to_string()],
                };
                row.cells.push(Some(Cell { problems, note: "" }));
            }
            println!(
                "interop: {column} {carrier} in {} s",
                watch.elapsed().as_secs()
            );
        }
        columns.push(column);
    }
    let (text, failed) = report::render(&columns, &rows);
    println!("{text}");
    Ok(failed == 0)
}

/// Each way in which traces travel, over each protocol.
fn cases() -> Vec<(String, Carrier, Protocol)> {
    let of = |carrier| {
        Protocol::ALL.map(|protocol| (format!("{carrier}-{protocol}"), carrier, protocol))
    };
    Carrier::ALL.into_iter().flat_map(of).collect()
}

/// Those after `--case`.
fn patterns(args: &[String]) -> Result<Vec<String>, Failure> {
    let usage = |problem: &str| {
        Failure::new(
            problem,
            "call it as: cargo xtask interop trace [--case NAME|START*]...",
        )
    };
    let mut patterns = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg != "--case" {
            return Err(usage(&format!("there is no option `{arg}`")));
        }
        let pattern = args.next().ok_or_else(|| usage("--case needs a value"))?;
        patterns.push(pattern.clone());
    }
    let cases = cases();
    let names: Vec<&str> = cases.iter().map(|(name, ..)| &**name).collect();
    check(&patterns, &names)?;
    Ok(patterns)
}

/// Who is between our consumer and our provider.
const MIDDLES: [Party; 2] = [Party::Go, Party::Java];
