use std::fmt::{self, Write as _};

use super::Location;

/// One thing that is wrong with a document, with where it is and what may have been meant.
///
/// Prints as one line: `dubbo.yaml:4:7: dubbo.consumer.chek: unknown key (did you mean `check`?)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where it was written.
    pub at: Location,
    /// The full path of the key, such as `dubbo.registries.nacos.timeout`; empty when the document as a whole is meant.
    pub path: String,
    /// What sort of mistake it is.
    pub kind: ProblemKind,
    /// What is wrong, in words.
    pub message: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl Problem {
    /// A problem without a suggestion.
    pub fn new(
        kind: ProblemKind,
        at: Location,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            at,
            path: path.into(),
            kind,
            message: message.into(),
            suggestion: None,
        }
    }

    /// The same problem with what was probably meant, if anything comes to mind.
    pub fn suggest(mut self, suggestion: Option<impl Into<String>>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = format!("{}: ", self.at);
        if !self.path.is_empty() {
            line.push_str(&self.path);
            line.push_str(": ");
        }
        line.push_str(&self.message);
        if let Some(suggestion) = &self.suggestion {
            line.push_str(" (did you mean `");
            line.push_str(suggestion);
            line.push_str("`?)");
        }
        // Keys and values come from the document and may hold line breaks; a problem is one line.
        line.chars().try_for_each(|letter| {
            if letter.is_control() {
                write!(f, "{}", letter.escape_default())
            } else {
                f.write_char(letter)
            }
        })
    }
}

/// The sorts of mistakes a document can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Two settings that cannot both be.
    Conflict,
    /// An old spelling; its value was used.
    Deprecated,
    /// A key that is there twice.
    Duplicate,
    /// A key that is known and has no effect.
    NoEffect,
    /// Something required is not there.
    Missing,
    /// The text is not YAML, or more than is read.
    Syntax,
    /// A value that is not what the key takes.
    Type,
    /// A key that nobody reads.
    UnknownKey,
    /// A name that refers to nothing: an id that is not defined, a plugin that is not linked.
    UnknownName,
    /// The source itself cannot be read.
    Unreadable,
    /// A placeholder without a value.
    Unresolved,
    /// A known setting whose feature does not exist here.
    Unsupported,
}

/// All that is wrong with a document: reading goes on after a mistake, so that one report names every one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Problems {
    /// Notes a mistake: what was read must not be used.
    pub fn error(&mut self, problem: Problem) {
        self.errors.push(problem);
    }

    /// Notes something that the author should know and that does no harm.
    pub fn warn(&mut self, problem: Problem) {
        self.warnings.push(problem);
    }

    /// Makes warnings of all errors of this kind.
    pub fn demote(&mut self, kind: ProblemKind) {
        self.warnings
            .extend(self.errors.extract_if(.., |problem| problem.kind == kind));
    }

    /// Whether anything was noted that forbids to use what was read.
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The errors and the warnings, each sorted by where they were written.
    pub fn into_parts(mut self) -> (Vec<Problem>, Vec<Problem>) {
        self.errors.sort_by(|a, b| a.at.cmp(&b.at));
        self.warnings.sort_by(|a, b| a.at.cmp(&b.at));
        (self.errors, self.warnings)
    }
}
