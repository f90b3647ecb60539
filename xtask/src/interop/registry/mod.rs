//! `cargo xtask interop registry`: providers and consumers that meet in a real registry, with no address given.
//!
//! Each cell of the matrix ([`cell`]) has a registry server of its own, so that nothing that others left there is in its
//! way. What others cannot do, whoever is on the other side, is a table ([`limits`]) with the reason.

mod cell;
mod crew;
mod limits;
mod observer;
mod options;
mod scene;
mod server;
mod suite;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    thread,
};

use crate::{failure::Failure, process::Stopwatch};

use self::options::Options;
pub(super) use self::{
    cell::{Cell, Scenario},
    limits::reason,
    options::routes,
};
pub(crate) use self::{
    cell::{Level, Metadata, Registry},
    options::registry as named,
    server::{Server, install},
};
use super::{
    build::{self, Programs},
    report::{self, Row},
    route::{Party, Route},
    survey::{self, Survey},
};

/// Runs the cells or the suite that the arguments ask for. Whether all is as it has to be.
pub(super) fn run(args: &[String]) -> Result<bool, Failure> {
    match Options::parse(args)? {
        Options::Suite(registries) => suite::run(&registries),
        Options::Matrix {
            cells,
            others,
            whole,
        } => {
            let (excused, cells): (Vec<_>, Vec<_>) = cells
                .into_iter()
                .partition(|cell| !others && reason(*cell).is_some());
            let played = play(&cells)?;
            list(&excused);
            let rows = rows(&played, routes(others));
            let columns: Vec<_> = routes(others).iter().map(ToString::to_string).collect();
            let (text, failed) = report::render(&columns, &rows);
            println!("{text}");
            if others && whole {
                Survey::of(&rows, routes(others)).write(survey::REGISTRIES)?;
            }
            Ok(others || failed == 0)
        }
    }
}

/// How a cell went.
#[derive(Debug)]
struct Played {
    cell: Cell,
    /// How long its steps took.
    result: Result<String, Failure>,
}

/// Plays the cells, several at a time.
fn play(cells: &[Cell]) -> Result<Vec<Played>, Failure> {
    for registry in cells.iter().map(|c| c.registry).collect::<BTreeSet<_>>() {
        server::install(registry)?;
    }
    let mut programs: BTreeMap<Party, Programs> = BTreeMap::new();
    for cell in cells {
        for party in [cell.route.consumer, cell.route.provider] {
            if let Entry::Vacant(entry) = programs.entry(party) {
                entry.insert(build::peers(party)?);
            }
        }
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // While a registry is gone, its cell waits.
    let (outages, lives): (Vec<Cell>, Vec<Cell>) =
        cells.iter().partition(|cell| cell.scenario.is_outage());
    let mut played = Vec::new();
    for (cells, hands) in [(lives, cores + 1), (outages, cores * 4)] {
        played.extend(crew::share(&cells, hands, |&cell| {
            let watch = Stopwatch::start();
            let consumer = &programs[&cell.route.consumer].consumer;
            let provider = &programs[&cell.route.provider].provider;
            let result = scene::play(cell, consumer, provider);
            let came_to = match &result {
                Ok(story) => format!("ok: {story}"),
                Err(_) => "FAILED".to_owned(),
            };
            println!(
                "interop: {} {} in {:.0} s, {came_to}",
                cell.row(),
                cell.route,
                watch.elapsed().as_secs_f32()
            );
            Played { cell, result }
        }));
    }
    Ok(played)
}

/// Prints which cells are not run, and why.
fn list(excused: &[Cell]) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for &cell in excused {
        if let Some(reason) = reason(cell) {
            let cells = reasons.entry(reason).or_default();
            cells.push(format!("{} {}", cell.row(), cell.route));
        }
    }
    for (reason, cells) in reasons {
        println!("\nnot run: {}\n  {reason}", cells.join(", "));
    }
}

/// What was run, by rows of the table.
fn rows(played: &[Played], routes: &[Route]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for Played { cell, result } in played {
        let name = cell.row();
        let known = rows.iter().position(|row| row.case() == name);
        let index = known.unwrap_or_else(|| {
            let mut row = Row::new(&name);
            row.cells.resize_with(routes.len(), || None);
            rows.push(row);
            rows.len() - 1
        });
        if let Some(column) = routes.iter().position(|route| *route == cell.route) {
            rows[index].cells[column] = Some(report::Cell {
                problems: result
                    .as_ref()
                    .err()
                    .map(ToString::to_string)
                    .into_iter()
                    .collect(),
                note: "",
            });
        }
    }
    rows
}
