//! `cargo xtask interop migration`: consumers under load that are migrated from interfaces to applications, and back, among
//! providers of every implementation in a real ZooKeeper. No call may fail.

mod dropped;
mod estate;
mod scenarios;
mod story;

use std::collections::BTreeMap;

use crate::{failure::Failure, process::Stopwatch};

use self::scenarios::{ALL, Peers, Scenario};
use super::{
    build,
    options::matches,
    registry::{self, Registry},
    route::Party,
};

/// Plays the scenarios that the arguments ask for. Prints a line for each, with its steps below, and the count on the last
/// line, of those that are judged. Whether all of them went as they have to.
pub(super) fn run(args: &[String]) -> Result<bool, Failure> {
    let scenarios = select(args)?;
    registry::install(Registry::Zookeeper)?;
    let mut peers: Peers = BTreeMap::new();
    for party in [Party::Go, Party::Java, Party::Rust] {
        peers.insert(party, build::peers(party)?);
    }
    let (mut passed, mut failed) = (0, 0);
    for scenario in scenarios {
        println!("\n{}: {}", scenario.name, scenario.about);
        if let Some(limit) = scenario.limit {
            println!("  limit: {limit}");
        }
        let watch = Stopwatch::start();
        let result = (scenario.play)(&peers);
        let seconds = watch.elapsed().as_secs();
        match result {
            Ok(story) if scenario.is_yardstick => {
                println!("  for comparison, in {seconds} s: {}", story.summary());
            }
            Ok(story) => {
                passed += 1;
                println!("  PASS in {seconds} s: {}", story.summary());
            }
            Err(failure) => {
                failed += 1;
                println!("  FAIL in {seconds} s: {failure}");
            }
        }
    }
    println!("\n{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// Those whose names are asked for with `--case`; all without.
fn select(args: &[String]) -> Result<Vec<&'static Scenario>, Failure> {
    let names: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
    let usage = |problem: String| {
        Failure::new(
            problem,
            format!(
                "call it as: cargo xtask interop migration [--case NAME|START*]..., of these: {}",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Result<Vec<&'static str>, String> {
        let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        match select(&args) {
            Ok(scenarios) => Ok(scenarios.iter().map(|scenario| scenario.name).collect()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn scenarios_are_selected_by_name() {
        assert_eq!(names("").map(|all| all.len()), Ok(ALL.len()));
        assert_eq!(names("--case forward"), Ok(vec!["forward"]));
        assert_eq!(
            names("--case roll* --case go-consumer"),
            Ok(vec!["rollback", "go-consumer"])
        );
        for line in ["--case", "--case back", "forward"] {
            assert!(names(line).is_err(), "{line}");
        }
    }
}
