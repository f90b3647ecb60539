//! `dubbo config check`: what is wrong with a configuration, without starting anything.

use std::{path::PathBuf, sync::Arc};

use dubbo::{
    Filter,
    config::{self, ConfigErrors, Environment, LoadOptions, Problem},
    extension::Extensions,
    spi::{
        BoxError,
        cluster::{Cluster, LoadBalance, Merger, Mock, Router},
        config_center::ConfigCenter,
        discovery::{InstanceCustomizer, InstanceListFilter, ServiceDiscovery},
        filter::ClusterFilter,
        metadata::{MetadataParamsFilter, MetadataReport},
        protocol::Protocol,
        registry::Registry,
    },
};
use serde_json::{Value, json};

use crate::{console::Console, fail::Failure};

/// Looks at configuration files
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(Check),
}

/// Names every mistake in a configuration file, with line and column
///
/// The profile that the file names is read, and placeholders and `DUBBO_*` variables are taken from the environment, as the
/// program would. Nothing is started and nobody is asked. It ends with exit code 1 if the file cannot be used.
#[derive(Debug, clap::Args)]
struct Check {
    /// The file
    file: PathBuf,
    /// A plugin that the program brings along, of whatever kind: its name is none that is unknown; may be repeated
    #[arg(long, value_name = "NAME")]
    plugin: Vec<String>,
    /// Takes nothing from the environment
    #[arg(long)]
    no_env: bool,
}

impl Args {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        match self.command {
            Command::Check(check) => check.run(console),
        }
    }
}

impl Check {
    fn run(self, console: &Console) -> Result<(), Failure> {
        let mut extensions = Extensions::linked().map_err(|e| Failure::usage(e.to_string()))?;
        for name in &self.plugin {
            assume(&mut extensions, name);
        }
        let mut options = LoadOptions::path(&self.file);
        if !self.no_env {
            options = options.environment(Environment::of_process());
        }
        let checked = config::load(&options, &extensions);
        let (errors, warnings) = match &checked {
            Ok(loaded) => (&[][..], &loaded.warnings[..]),
            Err(errors) => (ConfigErrors::errors(errors), errors.warnings()),
        };
        let file = self.file.display();
        let json = || {
            json!({
                "file": file.to_string(),
                "ok": errors.is_empty(),
                "errors": errors.iter().map(problem).collect::<Vec<_>>(),
                "warnings": warnings.iter().map(problem).collect::<Vec<_>>(),
            })
        };
        console.show(json, text(&file.to_string(), errors, warnings))?;
        match errors.len() {
            0 => Ok(()),
            1 => Err(Failure::no(format!("{file} has a mistake"))),
            several => Err(Failure::no(format!("{file} has {several} mistakes"))),
        }
    }
}

fn text(file: &str, errors: &[Problem], warnings: &[Problem]) -> String {
    let errors = errors.iter().map(Problem::to_string);
    let warnings = warnings.iter().map(|problem| format!("warning: {problem}"));
    let mut lines: Vec<_> = errors.chain(warnings).collect();
    if lines.is_empty() {
        lines.push(format!("{file}: nothing is wrong with it"));
    }
    lines.join("\n")
}

fn problem(problem: &Problem) -> Value {
    json!({
        "source": problem.at.source(),
        "line": problem.at.line(),
        "column": problem.at.column(),
        "path": problem.path,
        "kind": format!("{:?}", problem.kind),
        "message": problem.message,
        "suggestion": problem.suggestion,
    })
}

/// Takes it that a plugin of every kind is called `name`. None of them is ever made.
fn assume(extensions: &mut Extensions, name: &str) {
    // The table of plugins keeps names for as long as the program runs.
    let name: &'static str = name.to_owned().leak();
    macro_rules! kinds {
        ($($kind:ty),*) => {$(
            if !extensions.contains::<$kind>(name) {
                extensions.register::<$kind>(name, |_| -> Result<Arc<$kind>, BoxError> {
                    Err("it is known by its name alone".into())
                });
            }
        )*};
    }
    kinds!(
        dyn Cluster,
        dyn ClusterFilter,
        dyn ConfigCenter,
        dyn Filter,
        dyn InstanceCustomizer,
        dyn InstanceListFilter,
        dyn LoadBalance,
        dyn Merger,
        dyn MetadataParamsFilter,
        dyn MetadataReport,
        dyn Mock,
        dyn Protocol,
        dyn Registry,
        dyn Router,
        dyn ServiceDiscovery
    );
}
