//! `cargo xtask interop cluster`: what our consumer's clusters, load balances and routers make of providers in Go and Java
//! that a real ZooKeeper lists, and what those providers see of its attempts.

mod attempts;
mod caller;
mod findings;
mod killed;
mod rules;
mod scene;
mod tags;
mod weights;

use std::collections::BTreeMap;

use crate::{failure::Failure, process::Stopwatch};

pub(super) use self::caller::{Caller, Wish};
use self::{findings::Findings, scene::Peers};
use super::{
    build,
    options::matches,
    registry::{self, Registry},
    report::{self, Cell, Row},
    route::{Party, Route},
};

/// Some checks that are made with the same providers.
#[derive(Debug)]
struct Check {
    name: &'static str,
    /// Its rows in the table.
    rows: &'static [&'static str],
    play: fn(&Peers, Party, &mut Findings) -> Result<(), Failure>,
}

/// Makes the checks that the arguments ask for, with each party. Prints a table of them, and the count on the last line.
/// Whether all passed.
pub(super) fn run(args: &[String]) -> Result<bool, Failure> {
    let checks = select(args)?;
    registry::install(Registry::Zookeeper)?;
    let mut peers: Peers = BTreeMap::new();
    for party in [Party::Go, Party::Java, Party::Rust] {
        peers.insert(party, build::peers(party)?);
    }
    let names = checks.iter().flat_map(|check| check.rows);
    let mut rows: Vec<Row> = names.map(|name| Row::new(name)).collect();
    let mut columns = Vec::new();
    for provider in PROVIDERS {
        let route = Route {
            consumer: Party::Rust,
            provider,
        };
        columns.push(route.to_string());
        let mut cells = checks.iter().flat_map(|check| {
            let watch = Stopwatch::start();
            let mut findings = Findings::of(check.rows);
            if let Err(failure) = (check.play)(&peers, provider, &mut findings) {
                findings.broken(&failure.to_string());
            }
            println!(
                "interop: {route} {} in {} s",
                check.name,
                watch.elapsed().as_secs()
            );
            findings.into_problems()
        });
        for row in &mut rows {
            row.cells
                .push(cells.next().map(|problems| Cell { problems, note: "" }));
        }
    }
    let (text, failed) = report::render(&columns, &rows);
    println!("{text}");
    Ok(failed == 0)
}

/// Those whose names are asked for with `--case`; all without.
fn select(args: &[String]) -> Result<Vec<&'static Check>, Failure> {
    let names: Vec<_> = ALL.iter().map(|check| check.name).collect();
    let usage = |problem: String| {
        Failure::new(
            problem,
            format!(
                "call it as: cargo xtask interop cluster [--case NAME|START*]..., of these: {}",
                names.join(" ")
            ),
        )
    };
    let mut patterns = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg != "--case" {
            return Err(usage(format!("there is no option `{arg}`")));
        }
        let pattern = args
            .next()
            .ok_or_else(|| usage("--case needs a value".to_owned()))?;
        if !names.iter().any(|name| matches(pattern, name)) {
            return Err(usage(format!("there is no case `{pattern}`")));
        }
        patterns.push(pattern);
    }
    let wanted = |name| patterns.is_empty() || patterns.iter().any(|it| matches(it, name));
    Ok(ALL.iter().filter(|it| wanted(it.name)).collect())
}

/// Whose providers are called.
const PROVIDERS: [Party; 2] = [Party::Go, Party::Java];
/// All of them, in the order in which they are made.
const ALL: [Check; 6] = [
    Check {
        name: "attempts",
        rows: &attempts::ROWS,
        play: attempts::play,
    },
    Check {
        name: "tags",
        rows: &tags::ROWS,
        play: tags::play,
    },
    Check {
        name: "weights",
        rows: &weights::ROWS,
        play: weights::play,
    },
    Check {
        name: "warm-up",
        rows: &weights::ROWS_OF_WARM_UP,
        play: weights::play_warm_up,
    },
    Check {
        name: "killed",
        rows: &killed::ROWS,
        play: killed::play,
    },
    Check {
        name: "rules",
        rows: &rules::ROWS,
        play: rules::play,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_selected_by_name() {
        let names = |line: &str| -> Result<Vec<_>, String> {
            let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            let checks = select(&args).map_err(|failure| failure.to_string())?;
            Ok(checks.iter().map(|check| check.name).collect())
        };
        assert_eq!(names("").map(|all| all.len()), Ok(ALL.len()));
        assert_eq!(
            names("--case w* --case rules"),
            Ok(vec!["weights", "warm-up", "rules"])
        );
        for line in ["--case", "--case weight", "tags"] {
            assert!(names(line).is_err(), "{line}");
        }
    }
}
