//! What a measurement found, for people and for programs.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::{Taken, per_second};
use crate::{duration::short, table::Table};

/// How calls were made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) concurrency: u32,
    pub(super) rate: Option<f64>,
}

/// The numbers, then the histogram.
pub(super) fn text(taken: &Taken, shape: Shape) -> String {
    let loop_ = match shape.rate {
        None => format!("closed loop, {} at a time", shape.concurrency),
        Some(rate) => format!(
            "open loop, {rate} a second, at most {} at a time",
            shape.concurrency
        ),
    };
    let end = if taken.interrupted {
        ", interrupted"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "{} calls in {} ({loop_}{end}): {:.1} a second",
        taken.calls(),
        short(taken.elapsed),
        rate(taken)
    )];
    if taken.messages != taken.answered.count() {
        lines.push(format!("{} messages in their answers", taken.messages));
    }
    match taken.failed() {
        0 => lines.push("none failed".to_owned()),
        failed => {
            let failures = taken.failures.iter();
            let failures = failures.map(|(name, count)| format!("{name} {count}"));
            let failures = failures.collect::<Vec<_>>().join(", ");
            lines.push(format!("{failed} failed: {failures}"));
        }
    }
    if taken.answered.count() > 0 {
        let mut table = Table::new(["min", "mean", "p50", "p90", "p99", "p99.9", "max"]);
        table.row(latencies(taken).map(|(_, latency)| short(latency)));
        lines.push(format!("\n{table}\n"));
        lines.push(histogram(taken).to_string());
    }
    lines.join("\n")
}

/// All of it, with durations in microseconds.
pub(super) fn json(taken: &Taken, shape: Shape) -> Value {
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let latency: serde_json::Map<_, _> = latencies(taken)
        .into_iter()
        .map(|(name, latency)| (name.to_owned(), micros(latency).into()))
        .collect();
    let rows = taken.answered.rows();
    let rows = rows
        .iter()
        .map(|(end, count)| json!({"below": micros(*end), "calls": count}));
    json!({
        "loop": if shape.rate.is_some() { "open" } else { "closed" },
        "concurrency": shape.concurrency,
        "rate": shape.rate,
        "interrupted": taken.interrupted,
        "seconds": taken.elapsed.as_secs_f64(),
        "calls": taken.calls(),
        "callsPerSecond": rate(taken),
        "messages": taken.messages,
        "failed": taken.failed(),
        "failures": taken.failures,
        "latencyMicros": latency,
        "histogram": rows.collect::<Vec<_>>(),
    })
}

fn latencies(taken: &Taken) -> [(&'static str, Duration); 7] {
    let all = &taken.answered;
    [
        ("min", all.least()),
        ("mean", all.mean()),
        ("p50", all.quantile(500)),
        ("p90", all.quantile(900)),
        ("p99", all.quantile(990)),
        ("p999", all.quantile(999)),
        ("max", all.most()),
    ]
}

fn histogram(taken: &Taken) -> Table {
    let rows = taken.answered.rows();
    let most = rows
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    let mut table = Table::new(["below", "calls", "share"]);
    for (end, count) in rows {
        let width = (u128::from(count) * BAR).div_ceil(u128::from(most));
        let bar = "#".repeat(usize::try_from(width).unwrap_or(0));
        table.row([short(end), count.to_string(), bar]);
    }
    table
}

fn rate(taken: &Taken) -> f64 {
    per_second(taken.calls(), taken.elapsed)
}

/// How wide the bar of the most frequent row is.
const BAR: u128 = 40;
