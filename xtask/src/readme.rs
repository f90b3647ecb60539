//! The commands of README.md really run.
//!
//! A fenced block takes part when its first line says how, such as ```` ```sh ci=run ````:
//!
//! - `ci=run`: each line runs and succeeds.
//! - `ci=exit`: the same with `--exit` appended, for a program that would otherwise serve until it is stopped.
//! - `ci=serve`: the line starts and prints something, serves while the next marked line runs, and ends well when it is then
//!   told to stop.
//! - `ci=test`: the test command; `.ci/run` runs it once, through `cargo xtask readme test`.

use std::{process::Command, time::Duration};

use crate::{failure::Failure, process, serving::Serving};

/// Runs every marked command but the tests.
pub(crate) fn check() -> Result<String, Failure> {
    let commands = commands(&process::read(README)?)?;
    let mut ran = 0;
    let mut serving: Option<Serving> = None;
    for command in commands.iter().filter(|command| command.mode != Mode::Test) {
        ran += 1;
        if command.mode == Mode::Serve {
            serving = Some(command.serve()?);
        } else {
            command.run()?;
            if let Some(serving) = serving.take() {
                serving.stop(LIMIT_OF_AN_END)?;
            }
        }
    }
    Ok(format!("{ran} commands ran"))
}

/// `cargo xtask readme test`.
pub(crate) fn run(args: &[String]) -> Result<String, Failure> {
    if args != ["test"] {
        return Err(Failure::new(
            "readme has one subcommand",
            "cargo xtask readme test",
        ));
    }
    let commands = commands(&process::read(README)?)?;
    for command in commands.iter().filter(|command| command.mode == Mode::Test) {
        command.run()?;
    }
    Ok("the README's test command passed".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Exit,
    Run,
    Serve,
    Test,
}

#[derive(Debug, PartialEq, Eq)]
struct Marked {
    mode: Mode,
    /// In README.md, counted from 1.
    line: usize,
    /// At least one.
    words: Vec<String>,
}

impl Marked {
    fn run(&self) -> Result<(), Failure> {
        process::run_within(&mut self.command(), LIMIT, &self.advice())
    }

    fn serve(&self) -> Result<Serving, Failure> {
        Serving::start(&mut self.command(), LIMIT, &self.advice())
    }

    fn command(&self) -> Command {
        let mut command = process::program(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    fn advice(&self) -> String {
        format!(
            "mend the command of {README}:{}, or what it runs",
            self.line
        )
    }
}

/// The marked commands, in order. There is a quick start and a test command in it, or it is a failure.
fn commands(text: &str) -> Result<Vec<Marked>, Failure> {
    let mut commands = Vec::new();
    let mut open: Option<Option<Mode>> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(info) = line.trim_start().strip_prefix("```") {
            open = match open {
                Some(_) => None,
                None => Some(mode(info, number)?),
            };
        } else if let Some(Some(mode)) = open {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                commands.push(command(line, mode, number)?);
            }
        }
    }
    for needed in [Mode::Exit, Mode::Test] {
        if !commands.iter().any(|command| command.mode == needed) {
            return Err(Failure::new(
                format!("{README} has no block marked for {needed:?}"),
                "mark the quick start with `ci=exit` and the test command with `ci=test`",
            ));
        }
    }
    let mut others = commands
        .iter()
        .filter(|command| command.mode != Mode::Test)
        .peekable();
    while let Some(command) = others.next() {
        let with = others.peek().map(|next| next.mode);
        if command.mode == Mode::Serve && matches!(with, None | Some(Mode::Serve)) {
            return Err(Failure::new(
                format!("{README}:{}: nothing runs while this serves", command.line),
                "mark a block after it with `ci=run` or `ci=exit`",
            ));
        }
    }
    Ok(commands)
}

/// How a block with this info string takes part.
fn mode(info: &str, line: usize) -> Result<Option<Mode>, Failure> {
    match info
        .split_whitespace()
        .find_map(|word| word.strip_prefix("ci="))
    {
        None => Ok(None),
        Some("exit") => Ok(Some(Mode::Exit)),
        Some("run") => Ok(Some(Mode::Run)),
        Some("serve") => Ok(Some(Mode::Serve)),
        Some("test") => Ok(Some(Mode::Test)),
        Some(other) => Err(Failure::new(
            format!("{README}:{line}: unknown mark `ci={other}`"),
            "the marks are ci=exit, ci=run, ci=serve and ci=test",
        )),
    }
}

fn command(line: &str, mode: Mode, number: usize) -> Result<Marked, Failure> {
    if line.contains(SHELL) {
        return Err(Failure::new(
            format!("{README}:{number}: `{line}` needs a shell"),
            "a marked block holds plain commands, one a line",
        ));
    }
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if mode == Mode::Exit {
        if !words.iter().any(|word| word == "--") {
            words.push("--".to_owned());
        }
        words.push("--exit".to_owned());
    }
    Ok(Marked {
        mode,
        line: number,
        words,
    })
}

const README: &str = "README.md";

/// Includes a build from nothing and the whole test run on two cores.
const LIMIT: Duration = Duration::from_mins(40);

/// How long a program may take to end when it is told to.
const LIMIT_OF_AN_END: Duration = Duration::from_mins(1);

/// What only a shell would understand.
const SHELL: [char; 9] = ['|', '&', ';', '<', '>', '$', '`', '"', '\''];

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Title
```sh ci=exit
cargo run --bin quickstart
```
```yaml
a: b
```
```sh ci=test
# everything
cargo test --workspace
```
```sh ci=serve
cargo run --bin server
```
```sh ci=run
cargo run --bin direct -- --port 0
```
";

    #[test]
    fn marked_blocks_are_found_and_the_rest_is_left_alone() {
        let found = commands(TEXT).expect("both needed marks are there");
        let shown: Vec<_> = found
            .iter()
            .map(|command| (command.mode, command.line, command.words.join(" ")))
            .collect();
        assert_eq!(
            shown,
            [
                (
                    Mode::Exit,
                    3,
                    "cargo run --bin quickstart -- --exit".to_owned()
                ),
                (Mode::Test, 10, "cargo test --workspace".to_owned()),
                (Mode::Serve, 13, "cargo run --bin server".to_owned()),
                (
                    Mode::Run,
                    16,
                    "cargo run --bin direct -- --port 0".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn a_readme_that_would_check_nothing_is_a_failure() {
        for (text, want) in [
            ("no block at all", "README.md has no block marked for Exit"),
            (
                "```sh ci=exit\na\n```",
                "README.md has no block marked for Test",
            ),
            (
                "```sh ci=later\na\n```",
                "README.md:1: unknown mark `ci=later`",
            ),
            (
                "```sh ci=run\na | b\n```",
                "README.md:2: `a | b` needs a shell",
            ),
            (
                "```sh ci=exit\na\n```\n```sh ci=serve\nb\n```\n```sh ci=test\nc\n```",
                "README.md:5: nothing runs while this serves",
            ),
        ] {
            let failure = commands(text).expect_err("it checks nothing").to_string();
            assert!(failure.starts_with(want), "{failure}");
        }
    }
}
