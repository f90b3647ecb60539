//! The arguments of the command.

use std::path::PathBuf;

use crate::{failure::Failure, process};

use super::cases::Case;

/// What to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    patterns: Vec<String>,
    /// Where the traffic of the run is written, if anywhere.
    pub(super) record: Option<PathBuf>,
}

impl Options {
    /// Reads `go [--case NAME]... [--record FOLDER]`.
    pub(super) fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut args = args.iter();
        match args.next().map(String::as_str) {
            Some("go") => {}
            Some(other) => return Err(usage(&format!("there is no peer `{other}`"))),
            None => return Err(usage("a peer is missing")),
        }
        let mut options = Self::default();
        while let Some(name) = args.next() {
            let value = || format!("{name} needs a value");
            match name.as_str() {
                "--case" => options
                    .patterns
                    .push(args.next().ok_or_else(|| usage(&value()))?.clone()),
                "--record" => {
                    let folder = args.next().ok_or_else(|| usage(&value()))?;
                    options.record = Some(process::root().join(folder));
                }
                other => return Err(usage(&format!("there is no option `{other}`"))),
            }
        }
        Ok(options)
    }

    /// The cases that are meant; all of them unless some were named.
    pub(super) fn select(&self, all: Vec<Case>) -> Result<Vec<Case>, Failure> {
        let names: Vec<_> = all.iter().map(|case| &*case.name).collect();
        if let Some(unknown) = self
            .patterns
            .iter()
            .find(|pattern| !names.iter().any(|name| matches(pattern, name)))
        {
            return Err(Failure::new(
                format!("there is no case `{unknown}`"),
                format!("name one of these: {}", names.join(" ")),
            ));
        }
        let wanted = |name: &str| self.patterns.iter().any(|pattern| matches(pattern, name));
        Ok(all
            .into_iter()
            .filter(|case| self.patterns.is_empty() || wanted(&case.name))
            .collect())
    }
}

/// A name, or the beginning of names before a star.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

fn usage(problem: &str) -> Failure {
    Failure::new(
        problem,
        "call it as: cargo xtask interop go [--case NAME|START*]... [--record FOLDER]",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::cases;

    fn parse(line: &str) -> Result<Options, String> {
        let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&args).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for (line, problem) in [
            ("", "a peer is missing"),
            ("java", "no peer `java`"),
            ("go --fast", "no option `--fast`"),
            ("go --case", "--case needs a value"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(problem), "{line}: {error}");
        }
    }

    #[test]
    fn cases_are_selected_by_name_and_by_beginning() {
        let select = |line| {
            parse(line)
                .expect(line)
                .select(cases::all())
                .map(|cases| cases.len())
                .map_err(|failure| failure.to_string())
        };
        assert_eq!(select("go"), Ok(cases::all().len()));
        assert_eq!(select("go --case greet --case echo_all"), Ok(2));
        assert_eq!(select("go --case health_*"), Ok(6));
        let error = select("go --case greets").expect_err("no such case");
        assert!(error.contains("greet_unicode"), "{error}");
    }
}
