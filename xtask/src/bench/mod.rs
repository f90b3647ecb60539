//! `cargo xtask bench`: measures the project beside its peers, in one run, on one machine.

mod cluster;
mod discovery;
mod dubbo;
mod h2load;
mod hessian2;
mod server;
mod triple;
mod usage;
mod worker;

use std::process::{Command, ExitCode};

use serde_json::{Map, Value, json};

use crate::{failure::Failure, finish, process};

/// Runs the named bench. Whether its aims were met is for its reader to say; it fails only when it was not complete.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let names: Vec<&str> = args.iter().map(String::as_str).collect();
    finish(match names[..] {
        ["cluster"] => cluster::run(),
        ["discovery"] => discovery::run(),
        ["dubbo"] => dubbo::run(),
        ["hessian2"] => hessian2::run(),
        ["triple", ref options @ ..] => triple::run(options),
        _ => Err(Failure::new(
            format!("no bench is called `{}`", names.join(" ")),
            "cargo xtask bench cluster|discovery|dubbo|hessian2|triple",
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

/// Builds and runs the program `bench-NAME`, whose lines are figures: a name and a number.
fn figures(name: &str) -> Result<Map<String, Value>, Failure> {
    process::run(
        &mut process::cargo(["build", "--release", "--package=bench"]),
        "see what cargo said above",
    )?;
    let program = process::target_dir().join(format!("release/bench-{name}"));
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
        figures.insert(name.to_owned(), json!(round(number)));
    }
    Ok(figures)
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
