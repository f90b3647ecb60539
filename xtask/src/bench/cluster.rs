//! What it costs to choose a provider: list, route, select, and all that stands around a call by default, beside a call
//! that goes to the one provider directly.
//!
//! | figure | what |
//! |---|---|
//! | `ns.direct`, `allocations.direct` | a call to a provider, and nothing around it |
//! | `ns.BALANCE.N`, `allocations.BALANCE.N` | a call through a reference to N providers |
//! | `picks_per_second.still`, `.changing` | list and pick of eight threads, with a list that stays and with one that is another one a thousand times a second |
//! | `p999_us_of_a_pick.still`, `.changing` | how long one of a thousand picks takes, at least |

use serde_json::{Map, Value, json};

use super::{figures, write_report};
use crate::{failure::Failure, process::Stopwatch};

pub(super) fn run() -> Result<String, Failure> {
    let watch = Stopwatch::start();
    let figures = figures("cluster")?;
    println!(
        "{:<32} {:>9} {:>9} {:>9} {:>9}",
        "ns a call", 3, 100, "10,000", "allocs"
    );
    let number = |name: &str| figures.get(name).and_then(Value::as_f64);
    for balance in balances(&figures) {
        let of = |what: &str, count: usize| {
            number(&format!("{what}.{balance}.{count}")).unwrap_or(f64::NAN)
        };
        println!(
            "{balance:<32} {:>9.0} {:>9.0} {:>9.0} {:>9.1}",
            of("ns", 3),
            of("ns", 100),
            of("ns", 10_000),
            of("allocations", 100)
        );
    }
    for (name, figure) in &figures {
        if name.starts_with("pick") || name.starts_with("p999") || name.ends_with("direct") {
            println!("{name:<48} {:>14.1}", figure.as_f64().unwrap_or(f64::NAN));
        }
    }
    let written = write_report("cluster", &json!({}), &Value::Object(figures))?;
    Ok(format!(
        "{written}; took {:.0} s",
        watch.elapsed().as_secs_f64()
    ))
}

fn balances(figures: &Map<String, Value>) -> Vec<&str> {
    let names = figures.keys().filter_map(|name| name.strip_prefix("ns."));
    names.filter_map(|name| name.strip_suffix(".100")).collect()
}
