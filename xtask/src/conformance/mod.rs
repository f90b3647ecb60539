//! `cargo xtask conformance`: the Connect conformance suite against our server and our client.
//!
//! The suite's runner starts the programs of `interop/conformance` and tells them what to do. What we support is in
//! `server.yaml` and `client.yaml` there; where Triple says other than Connect, `known-failing-*.txt` has the case and
//! the rule ([`known`]).

mod known;
mod tally;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use crate::{
    failure::Failure,
    process::{self, bins},
};

use self::{known::Known, tally::Tally};

/// Plays the suite against both sides, or the one that `args` name, with all cases or those that match. The last line is
/// `N passed, N failed`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let played = Options::parse(args).and_then(|options| play_all(&options));
    match played {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    sides: Vec<Side>,
    /// Patterns of cases.
    cases: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            sides: Vec::new(),
            cases: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "server" => options.sides.push(Side::Server),
                "client" => options.sides.push(Side::Client),
                "--case" => options
                    .cases
                    .push(args.next().ok_or_else(usage)?.to_owned()),
                _ => return Err(usage()),
            }
        }
        if options.sides.is_empty() {
            options.sides = vec![Side::Server, Side::Client];
        }
        Ok(options)
    }
}

fn usage() -> Failure {
    Failure::new(
        "that is no way to run the suite",
        "cargo xtask conformance [server|client] [--case 'Basic/**/unary/success']...",
    )
}

/// What is under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Whether all went as it should.
fn play_all(options: &Options) -> Result<bool, Failure> {
    let runner = runner()?;
    let [client, server] = bins("conformance", ["conformance-client", "conformance-server"])?;
    let mut whole = Tally::default();
    let mut known = Vec::new();
    for &side in &options.sides {
        let program = match side {
            Side::Client => &client,
            Side::Server => &server,
        };
        let list = list_of(side);
        known.extend(known::read(&process::read(&list)?, &list)?);
        let tally = play(side, &runner, program, options)?;
        println!("conformance: {}: {tally}", side.name());
        whole.add(&tally);
    }
    println!("{}", known_list(&known, &whole));
    if options.cases.is_empty() && whole.cases() < LEAST {
        println!(
            "conformance: only {} cases, where {LEAST} are the least",
            whole.cases()
        );
        whole.failed += 1;
    }
    println!("{} passed, {} failed", whole.passed, whole.failed);
    Ok(whole.failed == 0)
}

fn known_list(known: &[Known], whole: &Tally) -> String {
    let entries = known.iter();
    let entries: Vec<_> = entries.map(|known| format!("\n  {known}")).collect();
    format!(
        "conformance: the known list has {} entries, for {} cases{}",
        known.len(),
        whole.known,
        entries.concat()
    )
}

/// Plays the suite against `program`. What the runner says is kept in the target folder; of what failed it is shown.
fn play(side: Side, runner: &Path, program: &Path, options: &Options) -> Result<Tally, Failure> {
    let log = process::target_dir()
        .join("conformance")
        .join(format!("{}.log", side.name()));
    let unwritable = |error| {
        let problem = format!("{} cannot be written: {error}", log.display());
        Failure::new(problem, "look at the rights of the target folder")
    };
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let output = File::create(&log).map_err(unwritable)?;
    let errors = output.try_clone().map_err(unwritable)?;
    let mut command = process::program(runner);
    command
        .args(["-v", "--mode", side.name(), "--conf"])
        .arg(Path::new(FOLDER).join(format!("{}.yaml", side.name())))
        .arg("--known-failing")
        .arg(format!("@{}", list_of(side)))
        .args(options.cases.iter().flat_map(|case| ["--run", case]))
        .arg("--")
        .arg(program)
        .stdout(output)
        .stderr(errors);
    let advice = format!("look at {}", log.display());
    let ended = process::run_within(&mut command, LIMIT, &advice);
    let said = process::read(&log)?;
    let Some(tally) = Tally::read(&said) else {
        print!("{said}");
        ended?;
        let problem = format!("the runner does not say how the {} did", side.name());
        return Err(Failure::new(problem, advice));
    };
    for failed in tally::failures(&said).take(SHOWN) {
        println!("{failed}");
    }
    if tally.failed == 0 {
        ended?;
    } else {
        println!("conformance: all of it is in {}", log.display());
    }
    Ok(tally)
}

fn list_of(side: Side) -> String {
    format!("{FOLDER}/known-failing-{}.txt", side.name())
}

/// The suite's runner, which has the cases and the other side in it. It is built once and kept in CI's cache folder.
fn runner() -> Result<PathBuf, Failure> {
    let folder = process::ci_cache().join("conformance").join(VERSION);
    let runner = folder.join(RUNNER);
    if runner.is_file() {
        return Ok(runner);
    }
    println!("conformance: building the runner; the first time takes minutes");
    // Under a name of its own until it is whole, so that a build that was stopped is not taken for one.
    let unfinished = folder.with_extension(std::process::id().to_string());
    process::run_within(
        process::program("go")
            .env("GOBIN", &unfinished)
            .args(["install", "-trimpath", "-ldflags=-s -w"])
            .arg(format!("{MODULE}/cmd/{RUNNER}@{VERSION}")),
        BUILD_LIMIT,
        "look at what go says above; it needs Go on PATH, and the Go module proxy the first time",
    )?;
    fs::rename(&unfinished, &folder)
        .or_else(|error| {
            // Another run was faster.
            fs::remove_dir_all(&unfinished)?;
            if runner.is_file() { Ok(()) } else { Err(error) }
        })
        .map_err(|error| {
            let problem = format!("the runner cannot be kept in {}: {error}", folder.display());
            Failure::new(problem, "look at the rights of that folder")
        })?;
    Ok(runner)
}

const FOLDER: &str = "interop/conformance";
const MODULE: &str = "connectrpc.com/conformance";
const RUNNER: &str = "connectconformance";
const VERSION: &str = "v1.0.7";
const BUILD_LIMIT: Duration = Duration::from_mins(30);
/// Of one side. Cases that wait for a deadline take a second and a half.
const LIMIT: Duration = Duration::from_mins(10);
/// Fewer cases would mean that the configuration declares less than we support.
const LEAST: usize = 1_000;
/// How many failed cases are shown in full.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_cases_are_taken_by_their_names() {
        let parse = |args: &[&str]| {
            let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
            Options::parse(&args)
        };
        let all = parse(&[]).expect("nothing is all");
        assert_eq!(all.sides, [Side::Server, Side::Client]);
        let some = parse(&["client", "--case", "Basic/**"]).expect("a side and a case");
        assert_eq!(some.sides, [Side::Client]);
        assert_eq!(some.cases, ["Basic/**"]);
        for args in [&["both"][..], &["--case"]] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }
}
