//! `cargo xtask interop`: our peers against those of other implementations, in both directions.
//!
//! The consumers say what they saw and the providers what became of the calls they held, each as JSON lines
//! ([`lines`]); what that has to be is one set of tables ([`cases`]) for every peer, protocol and direction.
//! `interop/README.md` has the whole picture.

mod about;
mod build;
mod cases;
mod cluster;
mod docs;
mod expect;
mod lines;
mod migration;
mod options;
mod peer;
mod play;
mod ports;
mod registry;
mod report;
mod route;
mod survey;

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use crate::failure::Failure;

use self::{
    cases::Case,
    options::{Matrix, Options},
    play::{Direction, Played, Wanted},
    report::{Cell, Row},
    route::{Protocol, Route},
    survey::Survey,
};

/// A program of the dubbo-go peer, built, for a bench to start.
pub(crate) fn go_program(name: &str) -> Result<PathBuf, Failure> {
    build::go_program(name)
}

/// What runs a class of the Dubbo Java peer, built, for a bench to start.
pub(crate) fn java_command(class: &str) -> Result<Command, Failure> {
    build::java_command(class)
}

/// Builds the peers, runs the matrix and prints its table. The last line is `N passed, N failed`. With `docs`, writes
/// the page that shows the tables instead; with `registry`, runs the matrix of [`registry`], with `migration` the
/// scenarios of [`migration`], with `cluster` the checks of [`cluster`].
pub(crate) fn run(args: &[String]) -> ExitCode {
    let done = match args {
        [word] if word == "docs" => docs::write().map(|()| true),
        [word, rest @ ..] if word == "registry" => registry::run(rest),
        [word, rest @ ..] if word == "migration" => migration::run(rest),
        [word, rest @ ..] if word == "cluster" => cluster::run(rest),
        _ => Options::parse(args).and_then(|options| play_matrix(&options)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is as it has to be.
fn play_matrix(options: &Options) -> Result<bool, Failure> {
    let (columns, rows) = matrix(options)?;
    let (text, failed) = report::render(&columns, &rows);
    println!("{text}");
    if options.matrix != Matrix::Others {
        return Ok(failed == 0);
    }
    if options.is_whole() {
        Survey::of_protocols(&rows, &options.matrix.routes()).write(survey::CASES)?;
    }
    Ok(true)
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
        let wanted = wanted(&cases, route, &options.protocols());
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

/// The cases of a direction in the order in which they run.
fn wanted<'a>(cases: &'a [Case], route: Route, protocols: &[Protocol]) -> Vec<Wanted<'a>> {
    let mut wanted = Vec::new();
    for &protocol in protocols {
        let (last, first): (Vec<_>, Vec<_>) = cases
            .iter()
            .partition(|case| case.comes_last(route, protocol));
        for case in first.into_iter().chain(last) {
            if let Some(leg) = case.leg(route, protocol) {
                wanted.push(Wanted {
                    protocol,
                    label: protocol.label(&case.name),
                    expect: leg.expect,
                });
            }
        }
    }
    wanted
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
