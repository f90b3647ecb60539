//! The project's commands for developers and CI. `cargo xtask` lists them.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command speaks to the terminal"
)]

mod bench;
mod browser;
mod chaos;
mod ci;
mod codegen;
mod cold_check;
mod conformance;
mod external_types;
mod failure;
mod fuzz;
mod graph;
mod interop;
mod outside;
mod process;
mod readme;
mod rust_text;
mod serving;
mod source_rules;

use std::{env, process::ExitCode};

use failure::Failure;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else {
        print!("{}", help());
        return ExitCode::SUCCESS;
    };
    if ["help", "-h", "--help"].contains(&name.as_str()) {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("xtask has no command `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    (command.run)(rest)
}

struct Command {
    name: &'static str,
    args: &'static str,
    about: &'static str,
    run: fn(&[String]) -> ExitCode,
}

fn help() -> String {
    let commands = COMMANDS
        .iter()
        .map(|command| {
            let call = format!("{} {}", command.name, command.args);
            format!("  {call:<24} {}\n", command.about)
        })
        .collect::<Vec<_>>()
        .concat();
    let steps = ci::list();
    format!(
        "The project's commands: cargo xtask <command>\n\n{commands}\nSteps of `ci`, in order:\n\n{steps}"
    )
}

/// Prints what a command that does one thing came to.
fn finish(result: Result<String, Failure>) -> ExitCode {
    match result {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

const COMMANDS: &[Command] = &[
    Command {
        name: "bench",
        args: "dubbo|hessian2|triple",
        about: "measure beside peers in one run, and write the ratios to bench/NAME.json",
        run: bench::run,
    },
    Command {
        name: "browser",
        args: "",
        about: "look at the page for operators in a headless browser, and take a picture of it",
        run: |args| finish(browser::run(args)),
    },
    Command {
        name: "chaos",
        args: "rolling|kill|registry [--quick]",
        about: "restart, kill and cut off providers and registries under load: no call may be lost",
        run: chaos::run,
    },
    Command {
        name: "ci",
        args: "[step...]",
        about: "run every check, or the named ones; stop at the first that fails",
        run: ci::run,
    },
    Command {
        name: "codegen",
        args: "[--check]",
        about: "write the committed generated code anew, or say where it is out of date",
        run: |args| finish(codegen::run(args)),
    },
    Command {
        name: "cold-check",
        args: "[--enforce]",
        about: "time a `cargo check` that starts from nothing; --enforce fails over budget",
        run: |args| finish(cold_check::run(args)),
    },
    Command {
        name: "conformance",
        args: "[server|client] [--case X]",
        about: "run the Connect conformance suite against our server and our client",
        run: conformance::run,
    },
    Command {
        name: "fuzz",
        args: "[target...] [--seconds N]",
        about: "give every decoder what nobody would send, 60 s a target",
        run: |args| finish(fuzz::run(args)),
    },
    Command {
        name: "interop",
        args: "go|java|grpc|trace|others|registry|docs [--case X]",
        about: "run the matrix against real peers",
        run: interop::run,
    },
    Command {
        name: "readme",
        args: "test",
        about: "run the README's test command, as .ci/run does",
        run: |args| finish(readme::run(args)),
    },
];
