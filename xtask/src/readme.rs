//! The commands of README.md, and those of the pages of `docs/`, really run.
//!
//! A fenced block takes part when its first line says how, such as ```` ```sh ci=run ````:
//!
//! - `ci=run`: each line runs and succeeds.
//! - `ci=exit`: the same with `--exit` appended, for a program that would otherwise serve until it is stopped.
//! - `ci=serve`: the line starts and prints something, serves while the next marked line runs, and ends well when it is then
//!   told to stop.
//! - `ci=test`: the test command, of README.md alone; `.ci/run` runs it once, through `cargo xtask readme test`.
//!
//! A line is a command and its words, as a shell reads them with nothing but quotes in it.

use std::{fs, process::Command, time::Duration};

use crate::{failure::Failure, process, serving::Serving};

/// Runs every marked command but the tests.
pub(crate) fn check() -> Result<String, Failure> {
    let mut commands = Vec::new();
    for page in pages()? {
        commands.extend(marked(&page, &process::read(&page)?)?);
    }
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
    let commands = marked(README, &process::read(README)?)?;
    for command in commands.iter().filter(|command| command.mode == Mode::Test) {
        command.run()?;
    }
    Ok("the README's test command passed".to_owned())
}

/// README.md and the pages of `docs/`, by name.
fn pages() -> Result<Vec<String>, Failure> {
    let docs = process::root().join(DOCS);
    let unreadable = |e| Failure::new(format!("{DOCS} cannot be read: {e}"), "is it a checkout?");
    let mut pages = Vec::new();
    for entry in fs::read_dir(docs).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") {
            pages.push(format!("{DOCS}/{name}"));
        }
    }
    pages.sort_unstable();
    pages.insert(0, README.to_owned());
    Ok(pages)
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
    page: String,
    /// Counted from 1.
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
            "mend the command of {}:{}, or what it runs",
            self.page, self.line
        )
    }
}

/// The marked commands of a page, in order. README.md has a quick start and a test command, or it is a failure.
fn marked(page: &str, text: &str) -> Result<Vec<Marked>, Failure> {
    let mut commands = Vec::new();
    let mut open: Option<Option<Mode>> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(info) = line.trim_start().strip_prefix("```") {
            open = match open {
                Some(_) => None,
                None => Some(mode(page, info, number)?),
            };
        } else if let Some(Some(mode)) = open {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                commands.push(command(page, line, mode, number)?);
            }
        }
    }
    for needed in [Mode::Exit, Mode::Test] {
        if page == README && !commands.iter().any(|command| command.mode == needed) {
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
                format!("{page}:{}: nothing runs while this serves", command.line),
                "mark a block after it with `ci=run` or `ci=exit`",
            ));
        }
    }
    Ok(commands)
}

/// How a block with this info string takes part.
fn mode(page: &str, info: &str, line: usize) -> Result<Option<Mode>, Failure> {
    match info
        .split_whitespace()
        .find_map(|word| word.strip_prefix("ci="))
    {
        None => Ok(None),
        Some("exit") => Ok(Some(Mode::Exit)),
        Some("run") => Ok(Some(Mode::Run)),
        Some("serve") => Ok(Some(Mode::Serve)),
        Some("test") if page == README => Ok(Some(Mode::Test)),
        Some(other) => Err(Failure::new(
            format!("{page}:{line}: unknown mark `ci={other}`"),
            "the marks are ci=exit, ci=run, ci=serve and, in README.md, ci=test",
        )),
    }
}

fn command(page: &str, line: &str, mode: Mode, number: usize) -> Result<Marked, Failure> {
    let mut words = words(line).ok_or_else(|| {
        Failure::new(
            format!("{page}:{number}: `{line}` needs a shell"),
            "a marked block holds plain commands, one a line",
        )
    })?;
    if mode == Mode::Exit {
        if !words.iter().any(|word| word == "--") {
            words.push("--".to_owned());
        }
        words.push("--exit".to_owned());
    }
    Ok(Marked {
        mode,
        page: page.to_owned(),
        line: number,
        words,
    })
}

/// The words of a command; `None` when only a shell would understand it, or a quote is open at its end.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if ['\'', '"'].contains(&letter) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None if SHELL.contains(&letter) => return None,
            Some(_) | None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

const README: &str = "README.md";
const DOCS: &str = "docs";

/// Includes a build from nothing and the whole test run on two cores.
const LIMIT: Duration = Duration::from_mins(40);

/// How long a program may take to end when it is told to.
const LIMIT_OF_AN_END: Duration = Duration::from_mins(1);

/// What only a shell would understand, outside of quotes.
const SHELL: [char; 8] = ['|', '&', ';', '<', '>', '$', '`', '\\'];

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
        let found = marked(README, TEXT).expect("both needed marks are there");
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
    fn quotes_keep_together_what_belongs_together() {
        let want = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        for (line, want) in [
            ("a  b", want(&["a", "b"])),
            (
                r#"curl -d '{"a": 1}' x"#,
                want(&["curl", "-d", r#"{"a": 1}"#, "x"]),
            ),
            ("a 'b | c'd \"\"", want(&["a", "b | cd", ""])),
            ("a 'b", None),
            ("a $B", None),
        ] {
            assert_eq!(words(line), want, "{line}");
        }
    }

    #[test]
    fn a_page_needs_no_command_and_has_no_tests() {
        assert_eq!(
            marked("docs/a.md", "no block at all").ok(),
            Some(Vec::new())
        );
        let failure = marked("docs/a.md", "```sh ci=test\na\n```").expect_err("no such mark");
        assert!(failure.to_string().starts_with("docs/a.md:1: unknown mark"));
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
            let failure = marked(README, text)
                .expect_err("it checks nothing")
                .to_string();
            assert!(failure.starts_with(want), "{failure}");
        }
    }
}
