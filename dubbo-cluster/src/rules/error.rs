//! What is wrong with a rule, and how one is read.

use std::fmt;

use dubbo_core::yaml::{
    Location, Node, Problem, ProblemKind, Problems, Reader, Section, parse as parse_yaml,
};

/// What is wrong with a text that is no rule, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleError {
    /// All of it, in the order of the text.
    pub problems: Vec<Problem>,
}

impl RuleError {
    /// One thing is wrong, and with the whole text.
    pub fn new(message: impl Into<String>) -> Self {
        let at = Location::named("rule");
        Self::at(at, message)
    }

    /// One thing is wrong, `at` a place.
    pub fn at(at: Location, message: impl Into<String>) -> Self {
        Self::of(vec![Problem::new(ProblemKind::Type, at, "", message)])
    }

    /// All of these are wrong.
    pub fn of(problems: Vec<Problem>) -> Self {
        Self { problems }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listed(&self.problems))
    }
}

impl std::error::Error for RuleError {}

/// Reads a rule that is a map in YAML or JSON. `name` stands for the text in messages: its key.
///
/// Keys that `take` does not ask for are left alone, with a warning in the log: a console may be newer than this program.
///
/// # Errors
///
/// All that is wrong with it, each with its line and column.
pub fn read<R>(
    name: &str,
    text: &str,
    take: impl FnOnce(&mut Section<'_, '_>) -> R,
) -> Result<R, RuleError> {
    let (rule, _) = read_document(name, text, take).map_err(RuleError::of)?;
    Ok(rule)
}

/// Reads a rule as [`read`] does, and tells whether there is anything in it.
pub(crate) fn read_document<R>(
    name: &str,
    text: &str,
    take: impl FnOnce(&mut Section<'_, '_>) -> R,
) -> Result<(R, bool), Vec<Problem>> {
    let mut problems = Problems::default();
    let document = parse_yaml(name, text, &mut problems);
    let says_something = document.as_ref().is_some_and(|node| !Node::is_null(node));
    let mut reader = Reader::new(problems);
    let rule = reader.read("", document.as_ref(), take);
    let (mut problems, _) = reader.finish();
    problems.demote(ProblemKind::UnknownKey);
    let failed = problems.has_errors();
    let (problems, warnings) = problems.into_parts();
    if failed {
        return Err(problems);
    }
    if !warnings.is_empty() {
        tracing::warn!("the rule `{name}` is read, but: {}", listed(&warnings));
    }
    Ok((rule, says_something))
}

/// The first of them in one line, and how many more there are: a rule may come from anybody.
pub(crate) fn listed(problems: &[Problem]) -> String {
    let mut texts: Vec<_> = problems
        .iter()
        .take(SHOWN)
        .map(Problem::to_string)
        .collect();
    if problems.len() > SHOWN {
        texts.push(format!("and {} more", problems.len() - SHOWN));
    }
    texts.join("; ")
}

/// How many problems a message names.
const SHOWN: usize = 10;
