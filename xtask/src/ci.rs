//! `cargo xtask ci`: the checks that every change passes, cheapest first.

use std::process::ExitCode;

use crate::{
    browser, codegen, external_types,
    failure::Failure,
    graph, outside,
    process::{self, Stopwatch, cargo},
    readme, source_rules,
};

/// Runs every step, or those named in `args`, in the order of [`STEPS`].
pub(crate) fn run(args: &[String]) -> ExitCode {
    if let Some(unknown) = args.iter().find(|arg| step(arg).is_none()) {
        eprint!("ci has no step `{unknown}`; the steps are:\n\n{}", list());
        return ExitCode::from(2);
    }
    let chosen = STEPS
        .iter()
        .filter(|step| args.is_empty() || args.iter().any(|arg| arg == step.name));

    let whole = Stopwatch::start();
    let mut passed = 0;
    for step in chosen {
        println!("== {}: {}", step.name, step.about);
        let watch = Stopwatch::start();
        let result = (step.run)();
        let seconds = watch.elapsed().as_secs_f64();
        match result {
            Ok(summary) => println!("ok {} in {seconds:.1} s: {summary}\n", step.name),
            Err(failure) => {
                eprintln!("FAILED {} after {seconds:.1} s: {failure}", step.name);
                eprintln!("  again: cargo xtask ci {}", step.name);
                return ExitCode::FAILURE;
            }
        }
        passed += 1;
    }
    println!(
        "{passed} steps passed in {:.1} s",
        whole.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

/// One line for each step.
pub(crate) fn list() -> String {
    STEPS
        .iter()
        .map(|step| format!("  {:<24} {}\n", step.name, step.about))
        .collect::<Vec<_>>()
        .concat()
}

struct Step {
    name: &'static str,
    about: &'static str,
    /// Answers with a summary of what was checked.
    run: fn() -> Result<String, Failure>,
}

fn step(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

fn fmt() -> Result<String, Failure> {
    let mut formatted = vec!["the workspace"];
    process::run(
        &mut cargo(["fmt", "--all", "--check"]),
        "run `cargo fmt --all`",
    )?;
    for manifest in OUTSIDE_MANIFESTS {
        if !process::root().join(manifest).is_file() {
            continue;
        }
        process::run(
            &mut cargo(["fmt", "--check", "--manifest-path", manifest]),
            &format!("run `cargo fmt --manifest-path {manifest}`"),
        )?;
        formatted.push(manifest);
    }
    Ok(formatted.join(", "))
}

fn clippy() -> Result<String, Failure> {
    process::run(
        cargo(["clippy", "--workspace", "--all-targets", "--all-features"])
            .args(["--", "-D", "warnings"]),
        "mend what clippy names above; an exception is an `#[expect(..., reason = \"...\")]`",
    )?;
    Ok("no warning in any target with any feature".to_owned())
}

/// What users build has no warning either: nothing, or one feature, where the workspace has all of them on.
fn features() -> Result<String, Failure> {
    let features = outside::features()?;
    for feature in std::iter::once("").chain(features.iter().map(String::as_str)) {
        process::run(
            cargo([
                "clippy",
                "--quiet",
                "--package=dubbo",
                "--features",
                feature,
            ])
            .args(["--", "-D", "warnings"]),
            "mend what needs another feature, or is of no use without one",
        )?;
    }
    Ok(format!("none, {}", features.join(", ")))
}

/// Cargo keeps a report when a crate that was built will not build with a later compiler.
fn future() -> Result<String, Failure> {
    let report = cargo(["report", "future-incompatibilities"])
        .output()
        .map_err(|e| Failure::new(format!("cargo does not start: {e}"), "look at PATH"))?;
    if report.status.success() {
        return Err(Failure::new(
            String::from_utf8_lossy(&report.stdout),
            "take a newer version of the crate that is named, or another crate",
        ));
    }
    Ok("every crate that was built goes on building".to_owned())
}

fn doc() -> Result<String, Failure> {
    process::run(
        cargo(["doc", "--workspace", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "mend the links and the markup that rustdoc names above",
    )?;
    Ok("no broken link".to_owned())
}

fn deny() -> Result<String, Failure> {
    // cargo-deny reads the manifests of all platforms, also of those that nobody here has built for.
    process::run(
        &mut cargo(["fetch", "--quiet", "--locked"]),
        "look at the network; if Cargo.lock is out of date, run `cargo check` and commit it",
    )?;
    let tools = process::ci_cache().join("tools/bin");
    let mut command = if tools.join("cargo-deny").is_file() {
        process::program(tools.join("cargo-deny"))
    } else {
        cargo(["deny"])
    };
    process::run(
        command
            .args(["--offline", "check", "--hide-inclusion-graph"])
            // An exception that nothing needs any more goes.
            .args(["--deny", "unmatched-skip", "--deny", "unnecessary-skip"])
            .args(["bans", "licenses", "sources"]),
        "see deny.toml for the rules; when cargo-deny itself is missing: \
         cargo install cargo-deny --version 0.20.2 --locked",
    )?;
    Ok("bans, licences, sources".to_owned())
}

/// Crates that are not members of the workspace.
const OUTSIDE_MANIFESTS: [&str; 2] = ["fuzz/Cargo.toml", "xtask/outside/Cargo.toml"];

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "every crate is formatted",
        run: fmt,
    },
    Step {
        name: "source",
        about: "length of files, words that do not belong in code",
        run: source_rules::check,
    },
    Step {
        name: "graph",
        about: "which crate may depend on which; what may be in the graph once, or not at all",
        run: graph::check,
    },
    Step {
        name: "deny",
        about: "licences, sources and duplicates of third-party crates",
        run: deny,
    },
    Step {
        name: "codegen",
        about: "committed generated code is what dubbo-build generates",
        run: codegen::check,
    },
    Step {
        name: "clippy",
        about: "no warning",
        run: clippy,
    },
    Step {
        name: "features",
        about: "no warning in what users build, with each feature alone and with none",
        run: features,
    },
    Step {
        name: "future",
        about: "no crate is written for compilers that are going away",
        run: future,
    },
    Step {
        name: "doc",
        about: "the documentation builds, no link is broken",
        run: doc,
    },
    Step {
        name: "types",
        about: "no foreign type in a public signature",
        run: external_types::check,
    },
    Step {
        name: "outside",
        about: "a crate outside the workspace builds on dubbo and dubbo-build, and runs",
        run: outside::check,
    },
    Step {
        name: "readme",
        about: "the commands of README.md run",
        run: readme::check,
    },
    Step {
        name: "browser",
        about: "the page for operators shows in Chromium what it is there to show",
        run: || browser::run(&[]),
    },
];
