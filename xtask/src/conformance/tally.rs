//! What the suite's runner says of a run.

use std::{collections::BTreeMap, fmt};

/// How many cases there were, and what became of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    /// Those that should have passed, those that should not have, and those that were not run.
    pub(super) failed: usize,
    /// Those that failed as the known list says.
    pub(super) known: usize,
    /// Cases by protocol and version of HTTP.
    by_protocol: BTreeMap<String, usize>,
}

impl Tally {
    /// Reads it from what the runner printed; `None` when it did not get to the end.
    pub(super) fn read(said: &str) -> Option<Self> {
        let mut tally = Self::default();
        let mut ended = false;
        for line in said.lines() {
            if let Some((passed, failed)) = line.split_once(" passed, ") {
                tally.passed = passed.parse().ok()?;
                tally.failed += failed.strip_suffix(" failed")?.parse::<usize>().ok()?;
                ended = true;
            } else if let Some(rest) = line.strip_prefix("(Another ") {
                tally.known = number(rest)?;
            } else if let Some(rest) = line.strip_prefix("Another ") {
                tally.failed += number(rest)?;
            } else if let Some(rest) = line.strip_prefix("Running ")
                && let Some((_, server)) = rest.split_once('{')
            {
                *tally.by_protocol.entry(protocol(server)?).or_default() += number(rest)?;
            }
        }
        ended.then_some(tally)
    }

    /// How many cases there were.
    pub(super) fn cases(&self) -> usize {
        self.passed + self.failed + self.known
    }

    /// Adds another side's.
    pub(super) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.known += other.known;
        for (protocol, cases) in &other.by_protocol {
            *self.by_protocol.entry(protocol.clone()).or_default() += cases;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} differ as known",
            self.passed, self.failed, self.known
        )?;
        for (protocol, cases) in &self.by_protocol {
            write!(f, "; {protocol} {cases}")?;
        }
        Ok(())
    }
}

/// What is said of each case that failed.
pub(super) fn failures(said: &str) -> impl Iterator<Item = String> {
    let mut lines = said.lines().peekable();
    std::iter::from_fn(move || {
        let mut failure = lines.find(|line| line.starts_with("FAILED: "))?.to_owned();
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            failure.push('\n');
            failure.push_str(line);
        }
        Some(failure)
    })
}

fn number(text: &str) -> Option<usize> {
    text.split(' ').next()?.parse().ok()
}

/// Of `HTTP_VERSION_2, PROTOCOL_GRPC_WEB, TLS:true}...`.
fn protocol(server: &str) -> Option<String> {
    let mut parts = server.split(", ");
    let version = parts.next()?.strip_prefix("HTTP_VERSION_")?;
    let protocol = match parts.next()?.strip_prefix("PROTOCOL_")? {
        "CONNECT" => "Connect",
        "GRPC" => "gRPC",
        "GRPC_WEB" => "gRPC-Web",
        other => other,
    };
    Some(format!("{protocol} over HTTP/{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
Computed 44 config case permutations.
Running 47 tests with reference-server for server config #1 {HTTP_VERSION_2, PROTOCOL_GRPC, TLS:false}...
Running 40 tests with reference-server for server config #2 {HTTP_VERSION_2, PROTOCOL_GRPC, TLS:true}...
Running 9 tests for server config #3 {HTTP_VERSION_1, PROTOCOL_CONNECT, TLS:true (with client certs)}...
INFO: Errors/x failed (as expected):
\tcode
FAILED: Basic/a/b:
\texpected one
\tand another
FAILED: Basic/c was expected to fail but did not

Total cases: 94
80 passed, 2 failed
Another 2 could not be run due to client timing out or exiting prematurely.
(Another 12 failed as expected due to being known failures/flakes.)
";

    #[test]
    fn what_the_runner_says_is_counted() {
        let mut tally = Tally::read(SAID).expect("it has ended");
        assert_eq!((tally.passed, tally.failed, tally.known), (80, 4, 12));
        assert_eq!(tally.cases(), 96);
        assert_eq!(
            tally.to_string(),
            "80 passed, 4 failed, 12 differ as known; Connect over HTTP/1 9; gRPC over HTTP/2 87"
        );
        tally.add(&Tally::read("3 passed, 0 failed\n").expect("it has ended"));
        assert_eq!(tally.cases(), 99);
        assert_eq!(Tally::read("Computed 44 config case permutations.\n"), None);
    }

    #[test]
    fn what_failed_is_shown_with_the_reason() {
        let failures: Vec<_> = failures(SAID).collect();
        assert_eq!(
            failures,
            [
                "FAILED: Basic/a/b:\n\texpected one\n\tand another",
                "FAILED: Basic/c was expected to fail but did not",
            ]
        );
    }
}
