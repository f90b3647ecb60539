//! `cargo xtask interop`: our peers against those of other implementations, in both directions.
//!
//! The consumers say what they saw and the providers what became of the calls they held, each as JSON lines
//! ([`lines`]); what that has to be is one table ([`cases`]) for every peer and direction. `interop/README.md` has the
//! whole picture.

mod build;
mod cases;
mod expect;
mod lines;
mod options;
mod peer;
mod play;
mod report;

use std::{path::PathBuf, process::ExitCode};

use crate::failure::Failure;

use self::{
    cases::{Case, Leg},
    options::Options,
    play::Direction,
    report::{Cell, Row},
};

/// The dubbo-go provider, built, for a bench to start.
pub(crate) fn go_provider() -> Result<PathBuf, Failure> {
    Ok(build::go_peers()?.provider)
}

/// Builds the peers, runs the matrix and prints its table. The last line is `N passed, N failed`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    match Options::parse(args).and_then(|options| matrix(&options)) {
        Ok(rows) => {
            let (text, failed) = report::render(&rows);
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

fn matrix(options: &Options) -> Result<Vec<Row>, Failure> {
    let cases = options.select(cases::all())?;
    let go = build::go_peers()?;
    let tap = options.record.is_some().then(build::tap).transpose()?;
    let rust = build::rust_peers()?;

    let mut rows: Vec<Row> = cases.iter().map(|case| Row::new(&case.name)).collect();
    let sides: [(&str, &_, &_, Pick); 2] = [
        ("Rust→Go", &rust, &go, |case| &case.rust_to_go),
        ("Go→Rust", &go, &rust, |case| &case.go_to_rust),
    ];
    for (name, consumer, provider, pick) in sides {
        println!("interop: {name}");
        let direction = Direction {
            name,
            consumer,
            provider,
            tap: tap.as_deref().zip(options.record.as_deref()),
        };
        let wanted: Vec<_> = cases.iter().map(|case| (&*case.name, pick(case))).collect();
        let played = play::play(&direction, &wanted);
        for (row, (case, leg)) in rows.iter_mut().zip(&wanted) {
            row.cells.push(Cell {
                direction: name,
                problems: leg.expect.problems(case, &played),
                note: leg.note,
            });
        }
    }
    Ok(rows)
}

type Pick = fn(&Case) -> &Leg;
