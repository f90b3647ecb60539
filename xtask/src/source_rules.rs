//! Rules about source files that no compiler lint covers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    failure::Failure,
    process,
    rust_text::{self, Line},
};

/// Reads every Rust file and manifest of the project, and names each line that breaks a rule.
pub(crate) fn check() -> Result<String, Failure> {
    let root = process::root();
    let files = files(&root)?;
    let mut problems = Vec::new();
    let mut lengths = Vec::new();
    for path in &files {
        let text = process::read(path)?;
        let found = if path.ends_with("Cargo.toml") {
            manifest_problems(&text)
        } else {
            lengths.push((text.lines().count(), path));
            source_problems(&text, Role::of(path))
        };
        problems.extend(
            found
                .iter()
                .map(|(line, problem)| format!("{}:{line}: {problem}", path.display())),
        );
    }
    Failure::unless_none(&problems, "CONTRIBUTING.md has the rules and the reasons")?;

    lengths.sort_unstable();
    let (Some((longest, name)), Some((median, _))) =
        (lengths.last(), lengths.get(lengths.len() / 2))
    else {
        return Err(Failure::new(
            format!("there is no Rust file below {}", root.display()),
            "run it from the project's own checkout",
        ));
    };
    Ok(format!(
        "{} files, median {median} lines, longest {longest} ({})",
        lengths.len(),
        name.display()
    ))
}

/// What a file is for: some rules hold for library code only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It ships: a bug here is a user's bug.
    Library,
    /// Tests, test support, benches, examples and tools.
    Support,
}

impl Role {
    fn of(path: &Path) -> Self {
        let mut folders = path.iter().filter_map(|part| part.to_str());
        let ships = folders
            .next()
            .is_some_and(|package| package.starts_with("dubbo") && package != "dubbo-test")
            && folders.next() == Some("src");
        // `mod tests;` keeps the tests of a module in a file of their own.
        let tests = path
            .iter()
            .any(|part| part == "tests" || part == "tests.rs");
        if ships && !tests {
            Self::Library
        } else {
            Self::Support
        }
    }
}

type Problem = (usize, String);

fn manifest_problems(text: &str) -> Vec<Problem> {
    let has = |line: &str| text.lines().any(|found| found.trim() == line);
    if has("[workspace]") || text.contains("[lints]\nworkspace = true") {
        return Vec::new();
    }
    vec![(
        1,
        "the crate does not take the workspace's lints: [lints] workspace = true".to_owned(),
    )]
}

fn source_problems(text: &str, role: Role) -> Vec<Problem> {
    let lines = rust_text::lines(text);
    let mut problems = length_problem(text);
    for (index, line) in lines.iter().enumerate() {
        let found = CODE_WORDS
            .iter()
            .filter(|(word, _)| has_word(&line.code, word))
            .chain(
                COMMENT_WORDS
                    .iter()
                    .filter(|(word, _)| has_word(&line.comment, word)),
            );
        problems.extend(found.map(|(word, reason)| (index + 1, format!("`{word}`: {reason}"))));
    }
    if role == Role::Library {
        problems.extend(library_problems(before_tests(&lines)));
    }
    problems
}

fn length_problem(text: &str) -> Vec<Problem> {
    let length = text.lines().count();
    let reason = text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with(REASON));
    let problem = if length > LENGTH_CAP {
        format!("{length} lines; no file has more than {LENGTH_CAP}: split it by concept")
    } else if length > LENGTH_WITHOUT_REASON && !reason {
        format!(
            "{length} lines; over {LENGTH_WITHOUT_REASON} the first line says why: `{REASON} ...`"
        )
    } else {
        return Vec::new();
    };
    vec![(1, problem)]
}

fn library_problems(lines: &[Line]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let spawns = SPAWNS.iter().any(|call| line.code.contains(call));
        let before = index
            .checked_sub(1)
            .map_or("", |before| &lines[before].comment);
        if spawns && !before.contains(DETACHED) {
            problems.push((
                index + 1,
                format!(
                    "a task nobody waits for outlives shutdown: use a TaskTracker or a JoinSet, \
                     or say `//{DETACHED} <why>` on the line before"
                ),
            ));
        }
        // rustfmt puts a long message on the line after.
        let message = if line.code.trim_end().ends_with(".expect(") {
            lines.get(index + 1)
        } else {
            Some(line).filter(|line| line.code.contains(".expect(\""))
        };
        let announced = lines[index.saturating_sub(PANICS_REACH)..index]
            .iter()
            .any(|line| line.comment.contains("# Panics"));
        if !announced && message.is_some_and(|line| !line.strings.contains(INVARIANT)) {
            problems.push((
                index + 1,
                format!(
                    "`expect` outside tests is for invariants provable on the spot (\"{INVARIANT}...\"), \
                     and for what a `# Panics` section announces"
                ),
            ));
        }
    }
    problems
}

/// The lines before `#[cfg(test)] mod ...`, which stands last in a file.
fn before_tests(lines: &[Line]) -> &[Line] {
    let tests = lines
        .windows(2)
        .position(|pair| pair[0].code.trim() == "#[cfg(test)]" && pair[1].code.contains("mod "));
    &lines[..tests.unwrap_or(lines.len())]
}

/// Whether `word` stands in `text` by itself, not as part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(part_of_word) && !text[at + word.len()..].starts_with(part_of_word)
    })
}

/// Every Rust file and manifest that is written by hand, named from `root`.
fn files(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let unreadable = |e| {
            Failure::new(
                format!("{} cannot be listed: {e}", folder.display()),
                "look at its permissions",
            )
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                if !name.starts_with('.') && !NOT_BY_HAND.contains(&name.as_ref()) {
                    folders.push(path);
                }
            } else if kind.is_file() && (name == "Cargo.toml" || name.ends_with(".rs")) {
                found.extend(path.strip_prefix(root).map(Path::to_path_buf));
            }
        }
    }
    found.sort();
    Ok(found)
}

const LENGTH_CAP: usize = 800;
const LENGTH_WITHOUT_REASON: usize = 600;
const REASON: &str = "// Long because";
const DETACHED: &str = " detached:";
const INVARIANT: &str = "invariant: ";

/// How many lines above an `expect` its `# Panics` section may stand.
const PANICS_REACH: usize = 20;

const CODE_WORDS: [(&str, &str); 4] = [
    ("dbg!", "log it with `tracing`, or remove it"),
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or refuse it with an error"),
    ("unsafe", "there is no unsafe code in this project"),
];

const COMMENT_WORDS: [(&str, &str); 4] = [
    ("FIXME", NO_OPEN_ENDS),
    ("HACK", NO_OPEN_ENDS),
    ("TODO", NO_OPEN_ENDS),
    ("XXX", NO_OPEN_ENDS),
];

const NO_OPEN_ENDS: &str = "finish it now, or open an issue";

const SPAWNS: [&str; 2] = ["tokio::spawn(", "task::spawn("];

const NOT_BY_HAND: [&str; 3] = ["generated", "node_modules", "target"];

#[cfg(test)]
mod tests {
    use super::*;

    fn library(text: &str) -> Vec<usize> {
        source_problems(text, Role::Library)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn rules_hold_in_code_and_not_in_what_code_quotes() {
        for (text, want) in [
            ("fn a() {\n    todo!()\n}", &[2][..]),
            ("fn a() { dbg!(b) }", &[1]),
            ("unsafe impl Send for A {}", &[1]),
            ("#![forbid(unsafe_code)]", &[]),
            ("let a = \"unsafe todo!\"; // never unsafe", &[]),
            ("// TODO: later", &[1]),
            ("let a = \"TODO\"; // TODOS", &[]),
        ] {
            assert_eq!(library(text), want, "{text}");
        }
    }

    #[test]
    fn a_detached_task_needs_a_reason() {
        for (text, want) in [
            ("tokio::spawn(a());", &[1][..]),
            (
                "// detached: ends with the process\ntokio::spawn(a());",
                &[],
            ),
            ("tracker.spawn(a());", &[]),
            ("#[cfg(test)]\nmod tests {\n    tokio::spawn(a());\n}", &[]),
        ] {
            assert_eq!(library(text), want, "{text}");
        }
    }

    #[test]
    fn expect_names_an_invariant_outside_tests() {
        for (text, want) in [
            ("a.expect(\"invariant: never empty\");", &[][..]),
            ("a.expect(\"works\");", &[1]),
            ("a\n    .expect(\n        \"works\",\n    );", &[2]),
            ("a\n    .expect(\n        \"invariant: b\",\n    );", &[]),
            (
                "/// # Panics\n///\n/// On b.\nfn a() {\n    a.expect(\"works\");\n}",
                &[],
            ),
            (
                "#[cfg(test)]\nmod tests {\n    a.expect(\"works\");\n}",
                &[],
            ),
        ] {
            assert_eq!(library(text), want, "{text}");
        }
        assert_eq!(source_problems("a.expect(\"works\");", Role::Support), []);
    }

    #[test]
    fn a_long_file_says_why_and_a_very_long_one_is_split() {
        for (lines, first, ok) in [
            (600, "//! A module.", true),
            (601, "//! A module.", false),
            (601, "// Long because it is one table.", true),
            (800, "// Long because it is one table.", true),
            (801, "// Long because it is one table.", false),
        ] {
            let text = format!("{first}\n{}", "\n".repeat(lines - 1));
            assert_eq!(
                length_problem(&text).is_empty(),
                ok,
                "{lines} lines, {first}"
            );
        }
    }

    #[test]
    fn library_rules_hold_where_code_ships() {
        for (path, want) in [
            ("dubbo-core/src/url/mod.rs", Role::Library),
            ("dubbo/src/lib.rs", Role::Library),
            ("dubbo-core/src/url/tests.rs", Role::Support),
            ("dubbo/tests/drain.rs", Role::Support),
            ("dubbo-test/src/peer.rs", Role::Support),
            ("examples/src/bin/quickstart.rs", Role::Support),
        ] {
            assert_eq!(Role::of(Path::new(path)), want, "{path}");
        }
    }

    #[test]
    fn a_member_takes_the_lints_of_the_workspace() {
        for (text, ok) in [
            ("[package]\n[lints]\nworkspace = true\n", true),
            ("[package]\nname = \"a\"\n", false),
            ("[package]\n[workspace]\n", true),
        ] {
            assert_eq!(manifest_problems(text).is_empty(), ok, "{text}");
        }
    }
}
