//! `cargo xtask bench`: measures the project beside its peers, in one run, on one machine.

mod discovery;
mod dubbo;
mod h2load;
mod hessian2;
mod server;
mod triple;
mod worker;

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::{failure::Failure, finish, process};

/// Runs the named bench. Whether its aims were met is for its reader to say; it fails only when it was not complete.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let names: Vec<&str> = args.iter().map(String::as_str).collect();
    finish(match names[..] {
        ["discovery"] => discovery::run(),
        ["dubbo"] => dubbo::run(),
        ["hessian2"] => hessian2::run(),
        ["triple"] => triple::run(),
        _ => Err(Failure::new(
            format!("no bench is called `{}`", names.join(" ")),
            "cargo xtask bench discovery|dubbo|hessian2|triple",
        )),
    })
}

/// Writes `bench/NAME.json` in the target folder. How `ratios` are divided is for each bench to say.
fn write_report(name: &str, ratios: &Value, figures: &Value) -> Result<String, Failure> {
    let path = process::target_dir()
        .join("bench")
        .join(format!("{name}.json"));
    let report = json!({ "ratios": ratios, "figures": figures });
    let write = || {
        std::fs::create_dir_all(path.parent().expect("invariant: it was joined"))?;
        std::fs::write(&path, format!("{report:#}\n"))
    };
    write().map_err(|e| {
        Failure::new(
            format!("{} cannot be written: {e}", path.display()),
            "make the target folder writable",
        )
    })?;
    Ok(format!("written to {}", path.display()))
}

/// Of an odd number of rounds.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// To as many digits as a figure is worth.
fn round(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}
