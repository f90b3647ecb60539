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

use serde_json::{Value, json};

use super::{figures, write_report};
use crate::{failure::Failure, process::Stopwatch};

pub(super) fn run() -> Result<String, Failure> {
    let watch = Stopwatch::start();
    let figures = figures("discovery")?;
    for (name, number) in &figures {
        println!("{name:<36} {:>10.1}", number.as_f64().unwrap_or(f64::NAN));
    }
    let written = write_report("discovery", &json!({}), &Value::Object(figures))?;
    Ok(format!(
        "{written}; took {:.0} s",
        watch.elapsed().as_secs_f64()
    ))
}
