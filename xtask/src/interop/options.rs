//! The arguments of the command.

use std::path::PathBuf;

use crate::{failure::Failure, process};

use super::{
    cases::Case,
    route::{Party, Protocol, Route},
};

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) matrix: Matrix,
    patterns: Vec<String>,
    protocols: Vec<Protocol>,
    /// Where the traffic of the run is written, if anywhere.
    pub(super) record: Option<PathBuf>,
}

/// Who is run against whom, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matrix {
    /// Ours and theirs.
    Against(Party),
    /// The others among themselves, for comparison.
    Others,
}

impl Matrix {
    pub(super) fn routes(self) -> [Route; 2] {
        let (one, other) = match self {
            Self::Against(peer) => (Party::Rust, peer),
            Self::Others => (Party::Java, Party::Go),
        };
        [(one, other), (other, one)].map(|(consumer, provider)| Route { consumer, provider })
    }
}

impl Options {
    /// Reads the arguments, as [`usage`] has them.
    pub(super) fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut args = args.iter();
        let matrix = match args.next().map(String::as_str) {
            Some("go") => Matrix::Against(Party::Go),
            Some("java") => Matrix::Against(Party::Java),
            Some("others") => Matrix::Others,
            Some(other) => return Err(usage(&format!("there is no peer `{other}`"))),
            None => return Err(usage("a peer is missing")),
        };
        let mut options = Self {
            matrix,
            patterns: Vec::new(),
            protocols: Vec::new(),
            record: None,
        };
        while let Some(name) = args.next() {
            let mut value = || {
                args.next()
                    .ok_or_else(|| usage(&format!("{name} needs a value")))
            };
            match name.as_str() {
                "--case" => options.patterns.push(value()?.clone()),
                "--protocol" => {
                    let named = value()?;
                    let known = Protocol::ALL.into_iter().find(|p| p.to_string() == *named);
                    options.protocols.push(
                        known.ok_or_else(|| usage(&format!("there is no protocol `{named}`")))?,
                    );
                }
                "--record" => options.record = Some(process::root().join(value()?)),
                other => return Err(usage(&format!("there is no option `{other}`"))),
            }
        }
        Ok(options)
    }

    /// Whether everything is run.
    pub(super) fn is_whole(&self) -> bool {
        self.patterns.is_empty() && self.protocols.is_empty()
    }

    /// The protocols that are meant; all of them unless some were named.
    pub(super) fn protocols(&self) -> Vec<Protocol> {
        Protocol::ALL
            .into_iter()
            .filter(|protocol| self.protocols.is_empty() || self.protocols.contains(protocol))
            .collect()
    }

    /// The cases that are meant; all of them unless some were named.
    pub(super) fn select(&self, all: Vec<Case>) -> Result<Vec<Case>, Failure> {
        let names: Vec<_> = all.iter().map(|case| &*case.name).collect();
        check(&self.patterns, &names)?;
        Ok(all
            .into_iter()
            .filter(|case| is_meant(&self.patterns, &case.name))
            .collect())
    }
}

/// Refuses a pattern that none of `names` fits.
pub(super) fn check(patterns: &[String], names: &[&str]) -> Result<(), Failure> {
    let mut patterns = patterns.iter();
    match patterns.find(|pattern| !names.iter().any(|name| matches(pattern, name))) {
        None => Ok(()),
        Some(unknown) => Err(Failure::new(
            format!("there is no case `{unknown}`"),
            format!("name one of these: {}", names.join(" ")),
        )),
    }
}

/// Whether one of `patterns` fits, or there are none.
pub(super) fn is_meant(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name))
}

/// A name, or the beginning of names before a star.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

fn usage(problem: &str) -> Failure {
    Failure::new(
        problem,
        "call it as: cargo xtask interop go|java|others [--protocol tri|dubbo] [--case NAME|START*]... \
         [--record FOLDER], or as: cargo xtask interop registry|migration|cluster|grpc|trace, or as: cargo xtask interop docs",
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
            ("node", "no peer `node`"),
            ("go --fast", "no option `--fast`"),
            ("go --case", "--case needs a value"),
            ("java --protocol rest", "no protocol `rest`"),
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
        assert_eq!(select("java --case health_*"), Ok(6));
        let error = select("go --case greets").expect_err("no such case");
        assert!(error.contains("greet_unicode"), "{error}");
    }

    #[test]
    fn a_matrix_has_both_directions() {
        let names = |line: &str| {
            parse(line)
                .expect(line)
                .matrix
                .routes()
                .map(|r| r.to_string())
        };
        assert_eq!(names("java"), ["Rust→Java", "Java→Rust"]);
        assert_eq!(names("others"), ["Java→Go", "Go→Java"]);
    }
}
