//! A program that asks our provider, and what it has to print.

use std::{fmt, path::PathBuf, process::Output};

use crate::{failure::Failure, process};

/// One question.
#[derive(Debug)]
pub(in crate::interop) struct Check {
    pub(in crate::interop) name: &'static str,
    /// What it is about, in a few words for users.
    pub(in crate::interop) about: &'static str,
    /// What the tool is started with, after its own options.
    pub(super) args: &'static [&'static str],
    /// The end of the arguments, after the address: for grpcurl what is asked for, for curl the path.
    pub(super) what: &'static [&'static str],
    /// Whether the tool ends well.
    pub(super) ends_well: bool,
    /// What is printed, among other things.
    pub(super) parts: &'static [&'static str],
}

/// A way to start a tool.
#[derive(Debug)]
pub(super) struct Tool {
    name: &'static str,
    path: PathBuf,
    /// What it is always started with.
    options: Vec<String>,
    /// What it asks: what is asked for is a part of its own, or follows.
    address: Address,
}

#[derive(Debug)]
pub(super) enum Address {
    /// An argument before what is asked for.
    Apart(String),
    /// The beginning of the URL.
    Url(String),
}

impl Tool {
    pub(super) fn new(
        name: &'static str,
        path: PathBuf,
        options: &[&str],
        address: Address,
    ) -> Self {
        Self {
            name,
            path,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            address,
        }
    }

    /// Where what happens differs from what should; nothing when all is well.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(super) fn make(&self, check: &Check) -> Result<Vec<String>, Failure> {
        let mut command = process::program(&self.path);
        command.args(&self.options).args(check.args);
        match &self.address {
            Address::Apart(address) => command.arg(address).args(check.what),
            Address::Url(url) => command.arg(format!("{url}{}", check.what.concat())),
        };
        let output = command
            .output()
            .map_err(|e| process::not_started(&command, &e))?;
        Ok(problems(check, &output))
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn problems(check: &Check, output: &Output) -> Vec<String> {
    let text = [&*output.stdout, &*output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let mut problems = Vec::new();
    if output.status.success() != check.ends_well {
        problems.push(format!("ended with {}", output.status));
    }
    let missing = check.parts.iter().filter(|part| !text.contains(**part));
    problems.extend(missing.map(|part| format!("nothing like {part:?}")));
    if !problems.is_empty() {
        let shown: String = text.trim().chars().take(SHOWN).collect();
        problems.push(format!("it printed: {}", shown.replace('\n', "\n    ")));
    }
    problems
}

const SHOWN: usize = 800;

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

    use super::*;

    #[test]
    fn what_is_missing_is_told_with_what_was_printed() {
        let check = Check {
            name: "x",
            about: "x",
            args: &[],
            what: &[],
            ends_well: true,
            parts: &["one", "two"],
        };
        let ended = |code: i32, text: &str| {
            problems(
                &check,
                &Output {
                    status: ExitStatus::from_raw(code << 8),
                    stdout: text.into(),
                    stderr: Vec::new(),
                },
            )
        };
        assert_eq!(ended(0, "two, one"), [""; 0]);
        assert_eq!(
            ended(1, "two"),
            [
                "ended with exit status: 1",
                "nothing like \"one\"",
                "it printed: two"
            ]
        );
    }
}
