//! Application-level discovery at scale: one consumer of 10,000 instances. There is no peer to measure it beside.
//!
//! | figure | what |
//! |---|---|
//! | `first_snapshot_ms` | from the last metadata answer to the last snapshot |
//! | `cpu_us_per_change` | processor time of the consumer for one changed instance that brings no new revision, with one change a millisecond in turn through the applications; snapshots gather what comes within half a second |
//! | `cpu_us_per_lone_change` | the same for changes of which each is waited for, so that each makes a snapshot of its own |
//! | `ms_until_a_lone_change_is_there` | how long that takes, of which 50 ms are a pause in which others may come |
//! | `bytes_per_instance` | live heap of the consumer, without the registry's own copy |
//! | `bytes_per_instance.with_directory` | the same, at the end, with a directory over one of the applications |
//! | `metadata_fetches` | how often an instance was asked what it serves |
//! | `burst_of_100.snapshots`, `burst_of_100.directory_swaps` | what comes of 100 changes at once |

use std::process::Command;

use serde_json::{Map, Value, json};

use super::{round, write_report};
use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

pub(super) fn run() -> Result<String, Failure> {
    let watch = Stopwatch::start();
    process::run(
        &mut process::cargo(["build", "--release", "--package=bench"]),
        "see what cargo said above",
    )?;
    let program = process::target_dir().join("release/bench-discovery");
    let output = process::output(&mut Command::new(&program), "run it by hand")?;
    let mut figures = Map::new();
    for line in String::from_utf8_lossy(&output).lines() {
        let figure = line.split_once(' ');
        let figure = figure.and_then(|(name, number)| Some((name, number.parse::<f64>().ok()?)));
        let Some((name, number)) = figure else {
            return Err(Failure::new(
                format!("`{line}` is no figure"),
                format!("run {} by hand", program.display()),
            ));
        };
        println!("{name:<36} {number:>10.1}");
        figures.insert(name.to_owned(), json!(round(number)));
    }
    let written = write_report("discovery", &json!({}), &Value::Object(figures))?;
    Ok(format!(
        "{written}; took {:.0} s",
        watch.elapsed().as_secs_f64()
    ))
}
