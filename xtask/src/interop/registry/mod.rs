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
    collections::{BTreeMap, BTreeSet},
    thread,
};

use crate::{failure::Failure, process::Stopwatch};

use self::{
    cell::Cell,
    options::{Options, routes},
};
use super::{
    build::{self, Programs},
    report::{self, Row},
    route::Party,
};

/// Runs the cells or the suite that the arguments ask for. Whether all is as it has to be.
pub(super) fn run(args: &[String]) -> Result<bool, Failure> {
    match Options::parse(args)? {
        Options::Suite(registries) => suite::run(&registries).map(|()| true),
        Options::Matrix { cells, others, .. } => {
            let (excused, cells): (Vec<_>, Vec<_>) = cells
                .into_iter()
                .partition(|cell| !others && limits::reason(cell).is_some());
            let played = play(&cells)?;
            list(&excused);
            let (text, failed) = table(&played, others);
            println!("{text}");
            Ok(others || failed == 0)
        }
    }
}

/// How the cells went.
fn play(cells: &[Cell]) -> Result<Vec<(Cell, Result<String, Failure>)>, Failure> {
    for registry in cells.iter().map(|c| c.registry).collect::<BTreeSet<_>>() {
        server::install(registry)?;
    }
    let mut programs: BTreeMap<Party, Programs> = BTreeMap::new();
    for cell in cells {
        for party in [cell.route.consumer, cell.route.provider] {
            if !programs.contains_key(&party) {
                programs.insert(party, build::peers(party)?);
            }
        }
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // While a registry is gone, its cell waits.
    let (outages, lives): (Vec<Cell>, Vec<Cell>) =
        cells.iter().partition(|cell| cell.scenario.is_outage());
    let mut played = Vec::new();
    for (cells, hands) in [(lives, cores + 1), (outages, cores * 4)] {
        let results = crew::share(&cells, hands, |cell| {
            let watch = Stopwatch::start();
            let consumer = &programs[&cell.route.consumer].consumer;
            let provider = &programs[&cell.route.provider].provider;
            let result = scene::play(*cell, consumer, provider);
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
            result
        });
        played.extend(cells.into_iter().zip(results));
    }
    Ok(played)
}

/// Prints which cells are not run, and why.
fn list(excused: &[Cell]) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for cell in excused {
        if let Some(reason) = limits::reason(cell) {
            let cells = reasons.entry(reason).or_default();
            cells.push(format!("{} {}", cell.row(), cell.route));
        }
    }
    for (reason, cells) in reasons {
        println!("\nnot run: {}\n  {reason}", cells.join(", "));
    }
}

/// The table of what was run, with the count on its last line; also how many cells failed.
fn table(played: &[(Cell, Result<String, Failure>)], others: bool) -> (String, usize) {
    let routes = routes(others);
    let mut rows: Vec<(String, Row)> = Vec::new();
    for (cell, result) in played {
        let name = cell.row();
        let index = rows
            .iter()
            .position(|(row, _)| *row == name)
            .unwrap_or_else(|| {
                let mut row = Row::new(&name);
                row.cells.resize_with(routes.len(), || None);
                rows.push((name, row));
                rows.len() - 1
            });
        let column = routes.iter().position(|route| *route == cell.route);
        if let Some(column) = column {
            rows[index].1.cells[column] = Some(report::Cell {
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
    let columns: Vec<_> = routes.iter().map(ToString::to_string).collect();
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    report::render(&columns, &rows)
}
