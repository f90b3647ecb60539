//! The words of the command line.

use clap::{Parser, Subcommand};

use crate::{
    bench, call, completions, config, console::Console, describe, explain, fail::Failure, ls,
    mapping, metadata, new, route,
};

/// Calls Dubbo services, looks into registries and processes, checks configurations, measures
#[derive(Debug, Parser)]
#[command(name = "dubbo", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Prints JSON: results on standard output, errors on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[allow(
    clippy::large_enum_variant,
    reason = "there is one of them, as long as the program runs"
)]
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Bench(bench::Args),
    Call(call::Args),
    Completions(completions::Args),
    Config(config::Args),
    Describe(describe::Args),
    Explain(explain::Args),
    Ls(ls::Args),
    Mapping(mapping::Args),
    Metadata(metadata::Args),
    New(new::Args),
    Route(route::Args),
}

impl Command {
    pub(crate) async fn run(self, console: &Console) -> Result<(), Failure> {
        match self {
            Self::Bench(args) => args.run(console).await,
            Self::Call(args) => args.run(console).await,
            Self::Completions(args) => args.run(console),
            Self::Config(args) => args.run(console),
            Self::Describe(args) => args.run(console).await,
            Self::Explain(args) => args.run(console).await,
            Self::Ls(args) => args.run(console).await,
            Self::Mapping(args) => args.run(console).await,
            Self::Metadata(args) => args.run(console).await,
            Self::New(args) => args.run(console),
            Self::Route(args) => args.run(console).await,
        }
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, and the answer is no: a mistake in a configuration, no provider to call, calls that failed
  2  the command cannot be done as it was given
  3  nobody there, or no way there
  4  the other side's framework refused
  5  the service answered with an error of its own
  6  no answer in time";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_words_fit_together() {
        Cli::command().debug_assert();
    }
}
