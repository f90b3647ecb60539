//! What a command says when it stops.

use std::fmt;

/// Why a command stopped, and what its user can do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    problem: String,
    advice: String,
}

impl Failure {
    /// `problem` may have several lines; `advice` is one.
    pub(crate) fn new(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    /// Nothing, or one failure that lists every problem found.
    pub(crate) fn unless_none(problems: &[String], advice: &str) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        let noun = if problems.len() == 1 {
            "problem"
        } else {
            "problems"
        };
        let list = problems.join("\n  ");
        Err(Self::new(
            format!("{} {noun}:\n  {list}", problems.len()),
            advice,
        ))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  to do: {}", self.problem, self.advice)
    }
}
