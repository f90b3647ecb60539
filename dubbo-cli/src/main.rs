//! The command `dubbo`: calls services, looks into registries and processes, checks configurations, measures.
//!
//! Each command is a module. What they have in common: [`reach`] says who is asked and how to get there, [`callee`] finds
//! out what a method takes and calls it, [`schema`] is what is known of messages at run time, [`console`] prints, and
//! [`fail`] is the one error, with the exit codes. `docs/cli.md` shows them all.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "texts of a few lines for people: what reads best counts"
)]

mod admin;
mod bench;
mod call;
mod callee;
mod cli;
mod completions;
mod config;
mod console;
mod describe;
mod duration;
mod explain;
mod fail;
mod ls;
mod mapping;
mod metadata;
mod new;
mod reach;
mod route;
mod schema;
mod table;

use std::process::ExitCode;

use clap::Parser as _;
use tracing::subscriber::NoSubscriber;

use self::{cli::Cli, console::Console, fail::Failure};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = Console::new(cli.json);
    // What is printed is the answer of the command, and nothing else: no configuration that is read switches logging on.
    let quiet = tracing::subscriber::set_global_default(NoSubscriber::new());
    quiet.expect("invariant: nothing has set a subscriber before the first line of the program");
    let done = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime.block_on(cli.command.run(&console)),
        Err(error) => Err(Failure::usage(format!("cannot start a runtime: {error}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console.failure(&failure);
            failure.exit_code()
        }
    }
}
