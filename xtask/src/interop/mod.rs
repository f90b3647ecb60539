//! `cargo xtask interop`: our peers against those of other implementations, in both directions.
//!
//! The consumers say what they saw and the providers what became of the calls they held, each as JSON lines
//! ([`lines`]); what that has to be is one set of tables ([`cases`]) for every peer, protocol and direction.
//! `interop/README.md` has the whole picture.

mod about;
mod build;
mod caller;
mod cases;
mod cluster;
mod docs;
mod expect;
mod grpc;
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
mod trace;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::failure::Failure;

use self::{
    build::Programs,
    cases::Case,
    options::{Matrix, Options},
    play::{Direction, Played, Wanted},
    report::{Cell, Row},
    route::{Protocol, Route},
    survey::Survey,
};

/// What other commands make scenes of: the peers, and where they meet.
pub(crate) mod parts {
    pub(crate) use super::{
        build::{Programs, peers},
        caller::{Caller, Ended},
        lines::Loss,
        peer::Peer,
        ports::Listens,
        registry::{Level, Metadata, Registry, Server, install, named as registry},
        route::Party,
    };
}

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
/// scenarios of [`migration`], with `cluster` the checks of [`cluster`], with `grpc` the matrix of [`grpc`], with `trace` the
/// calls of [`trace`].
pub(crate) fn run(args: &[String]) -> ExitCode {
    let done = match args {
        [word] if word == "docs" => docs::write().map(|()| true),
        [word, rest @ ..] if word == "registry" => registry::run(rest),
        [word, rest @ ..] if word == "migration" => migration::run(rest),
        [word, rest @ ..] if word == "cluster" => cluster::run(rest),
        [word, rest @ ..] if word == "grpc" => grpc::run(rest),
        [word, rest @ ..] if word == "trace" => trace::run(rest),
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
    let cases = options.select(cases::all())?;
    let mut table = Table::of(&cases);
    let (routes, protocols) = (options.matrix.routes(), options.protocols());
    let programs = [
        &build::peers(routes[0].consumer)?,
        &build::peers(routes[0].provider)?,
    ];
    table.play(
        &cases,
        routes,
        programs,
        &protocols,
        options.record.as_deref(),
    )?;
    let failed = table.print();
    if options.matrix != Matrix::Others {
        return Ok(failed == 0);
    }
    if options.is_whole() {
        Survey::of_protocols(&table.rows, &routes).write(survey::CASES)?;
    }
    Ok(true)
}

/// What comes out: a row for each case, a column for each way.
struct Table {
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    fn of(cases: &[Case]) -> Self {
        Self {
            columns: Vec::new(),
            rows: cases.iter().map(|case| Row::new(&case.name)).collect(),
        }
    }

    /// Plays `cases`, which are the rows, both ways between `programs`. `record` is the folder for records of what goes over
    /// the wire.
    fn play(
        &mut self,
        cases: &[Case],
        [there, back]: [Route; 2],
        [one, other]: [&Programs; 2],
        protocols: &[Protocol],
        record: Option<&Path>,
    ) -> Result<(), Failure> {
        let tap = record.is_some().then(build::tap).transpose()?;
        for (route, consumer, provider) in [(there, one, other), (back, other, one)] {
            let direction = Direction {
                route,
                consumer,
                provider,
                tap: tap.as_ref().zip(record),
            };
            println!("interop: {route}");
            let wanted = wanted(cases, route, protocols);
            let played = play::play(&direction, &wanted);
            for &protocol in protocols {
                self.columns.push(format!("{route} {protocol}"));
                for (row, case) in self.rows.iter_mut().zip(cases) {
                    row.cells.push(judge(case, route, protocol, &played));
                }
            }
        }
        Ok(())
    }

    /// Prints the rows that have something in them; how many cells failed.
    fn print(&mut self) -> usize {
        self.rows
            .retain(|row| row.cells.iter().any(Option::is_some));
        let (text, failed) = report::render(&self.columns, &self.rows);
        println!("{text}");
        failed
    }
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
