//! `cargo xtask interop`: our peers against those of other implementations, in both directions.
//!
//! The consumers say what they saw and the providers what became of the calls they held, each as JSON lines
//! ([`lines`]); what that has to be is one set of tables ([`cases`]) for every peer, protocol and direction.
//! `interop/README.md` has the whole picture.

mod build;
mod cases;
mod expect;
mod lines;
mod options;
mod peer;
mod play;
mod report;
mod route;

use std::{path::PathBuf, process::ExitCode};

use crate::failure::Failure;

use self::{
    cases::Case,
    options::Options,
    play::{Direction, Played, Wanted},
    report::{Cell, Row},
    route::{Protocol, Route},
};

/// The dubbo-go provider, built, for a bench to start.
pub(crate) fn go_provider() -> Result<PathBuf, Failure> {
    Ok(build::go_peers()?.provider.path)
}

/// Builds the peers, runs the matrix and prints its table. The last line is `N passed, N failed`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    match Options::parse(args).and_then(|options| matrix(&options)) {
        Ok((columns, rows)) => {
            let (text, failed) = report::render(&columns, &rows);
            println!("{text}");
            if failed == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// The columns of the table and its rows.
fn matrix(options: &Options) -> Result<(Vec<String>, Vec<Row>), Failure> {
    let cases = options.select(cases::all())?;
    let tap = options.record.is_some().then(build::tap).transpose()?;
    let mut columns = Vec::new();
    let mut rows: Vec<Row> = cases.iter().map(|case| Row::new(&case.name)).collect();
    let [there, back] = options.matrix.routes();
    let one = build::peers(there.consumer)?;
    let other = build::peers(there.provider)?;
    for (route, consumer, provider) in [(there, &one, &other), (back, &other, &one)] {
        let direction = Direction {
            route,
            consumer,
            provider,
            tap: tap.as_ref().zip(options.record.as_deref()),
        };
        println!("interop: {route}");
        let wanted: Vec<_> = options
            .protocols()
            .into_iter()
            .flat_map(|protocol| cases.iter().map(move |case| (protocol, case)))
            .filter_map(|(protocol, case)| {
                Some(Wanted {
                    protocol,
                    label: protocol.label(&case.name),
                    expect: case.leg(route, protocol)?.expect,
                })
            })
            .collect();
        let played = play::play(&direction, &wanted);
        for protocol in options.protocols() {
            columns.push(format!("{route} {protocol}"));
            for (row, case) in rows.iter_mut().zip(&cases) {
                row.cells.push(judge(case, route, protocol, &played));
            }
        }
    }
    rows.retain(|row| row.cells.iter().any(Option::is_some));
    Ok((columns, rows))
}

/// How a case went; none where it is not run.
fn judge(case: &Case, route: Route, protocol: Protocol, played: &Played) -> Option<Cell> {
    let label = protocol.label(&case.name);
    let leg = case.leg(route, protocol)?;
    if route.is_ours() {
        return Some(Cell {
            problems: leg.expect.problems(&label, played),
            note: leg.note,
        });
    }
    // Of others it is asked how far they are from the contract.
    let problems = case
        .right_results(route, protocol)
        .into_iter()
        .map(|expect| expect.problems(&label, played))
        .min_by_key(Vec::len)?;
    Some(Cell { problems, note: "" })
}
