//! `dubbo completions`: what a shell needs to complete our words.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{cli::Cli, console::Console, fail::Failure};

/// Prints a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(crate) fn run(&self, console: &Console) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "dubbo", &mut script);
        console.line(&String::from_utf8_lossy(&script).trim_end())
    }
}
