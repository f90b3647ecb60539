//! Why there is no provider: the steps from a consumer's question to its providers, each with what was seen there.

use std::fmt;

/// One step on the way from a consumer to its providers, such as reading the mapping of its interface.
///
/// A list of steps is in the order in which they are taken. The first one with nothing [left](Step::left) is the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What the step is, such as `mapping`.
    pub name: &'static str,
    /// What was seen there, such as `shop.Users is provided by user-center, user-center-gray`. It changes only when what
    /// it tells changes: no times, no counters of attempts.
    pub evidence: String,
    /// How many are left after this step; `None` for a step that counts nothing.
    pub left: Option<usize>,
}

impl Step {
    /// A step that counts nothing.
    pub fn new(name: &'static str, evidence: impl Into<String>) -> Self {
        Self {
            name,
            evidence: evidence.into(),
            left: None,
        }
    }

    /// A step after which `left` are left.
    pub fn leaving(name: &'static str, evidence: impl Into<String>, left: usize) -> Self {
        Self {
            left: Some(left),
            ..Self::new(name, evidence)
        }
    }

    /// Whether nothing is left after it.
    pub fn is_empty(&self) -> bool {
        self.left == Some(0)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, evidence, .. } = self;
        match self.left {
            Some(left) => write!(f, "{name}: {evidence} -> {left}"),
            None => write!(f, "{name}: {evidence}"),
        }
    }
}
