//! Why bytes could not be read.

use std::{borrow::Cow, error::Error, fmt};

use crate::decode::Kind;

/// Why bytes could not be read: what is wrong, at which byte, and in which field of which class. One pointer wide.
#[derive(Clone)]
pub struct DecodeError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    problem: Problem,
    offset: Option<usize>,
    /// The innermost step first.
    path: Vec<Step>,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("{0}")]
    Custom(Cow<'static, str>),
    #[error("{wanted} more bytes are needed and {left} are left")]
    Truncated { wanted: usize, left: usize },
    #[error("expected {expected}, found {found}")]
    Unexpected { expected: &'static str, found: Kind },
    #[error("no value starts with the byte 0x{0:02x}")]
    Lead(u8),
    #[error("expected {expected}, found the byte 0x{found:02x}")]
    Byte { expected: &'static str, found: u8 },
    #[error("{value} does not fit into {target}")]
    Range { value: String, target: &'static str },
    #[error("{length} is no length of {what}")]
    Length { what: &'static str, length: i64 },
    #[error("more than {limit} {what} (limit `{name}`)")]
    Limit {
        what: &'static str,
        name: &'static str,
        limit: usize,
    },
    #[error("reference to value {index}, and there are {known}")]
    Reference { index: i64, known: usize },
    #[error("object of class {index}, and {known} are defined")]
    ClassIndex { index: i64, known: usize },
    #[error("type number {index}, and there are {known}")]
    TypeIndex { index: i64, known: usize },
    #[error("a value that contains itself; use `Shared<T>` or `Value`")]
    Cyclic,
    #[error("{0}")]
    Text(&'static str),
    #[error("null where {0} is required; use `Option`")]
    Null(&'static str),
    #[error("class `{0}` is refused by the class policy; allow it, or read it as a `Value`")]
    Refused(String),
    #[error("values nest so deep that reading them takes more than half of a small stack")]
    Stack,
    #[error("the value ends, and {0} bytes follow")]
    Trailing(usize),
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field {
        class: String,
        field: String,
    },
    Item(usize),
    /// Steps that were left out.
    More,
}

impl DecodeError {
    /// An error with a text of its own. Its place is added by the decoder that it passes through.
    pub fn custom(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Problem::Custom(message.into()), None)
    }

    /// Null where a value of `class` is required.
    pub fn null_for(class: &'static str) -> Self {
        Self::new(Problem::Null(class), None)
    }

    /// The byte at which the value that could not be read stands; 0 while it is unknown.
    pub fn offset(&self) -> usize {
        self.0.offset.unwrap_or(0)
    }

    /// The way to the place from the value that was read, as JSON has it: `.address.zips[3].code`; empty for the value
    /// itself.
    pub fn path(&self) -> String {
        let steps = self.0.path.iter().rev();
        let steps = steps.map(|step| match step {
            Step::Field { field, .. } => format!(".{field}"),
            Step::Item(index) => format!("[{index}]"),
            Step::More => "…".to_owned(),
        });
        steps.collect()
    }

    /// What is wrong, without the place, for whoever wrote the value in another form than this.
    pub fn reason(&self) -> String {
        match &self.0.problem {
            Problem::Null(class) => format!("null where {class} is required"),
            problem => problem.to_string(),
        }
    }

    /// Whether the input ended before the value did.
    pub fn is_truncated(&self) -> bool {
        matches!(self.0.problem, Problem::Truncated { .. })
    }

    /// Whether a limit of [`Limits`](crate::Limits) was met.
    pub fn is_limit(&self) -> bool {
        matches!(self.0.problem, Problem::Limit { .. } | Problem::Stack)
    }

    /// Whether the class policy refused a class.
    pub fn is_refused(&self) -> bool {
        matches!(self.0.problem, Problem::Refused(_))
    }

    /// Says in which field of which class it went wrong. Call it from the inside out.
    pub fn in_field(self, class: &str, field: &str) -> Self {
        self.within(|| Step::Field {
            class: shortened(class),
            field: shortened(field),
        })
    }

    pub(crate) fn new(problem: Problem, offset: impl Into<Option<usize>>) -> Self {
        Self(Box::new(Inner {
            problem,
            offset: offset.into(),
            path: Vec::new(),
        }))
    }

    /// Adds the place, unless it is known.
    pub(crate) fn or_at(mut self, offset: usize) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    pub(crate) fn in_item(self, index: usize) -> Self {
        self.within(|| Step::Item(index))
    }

    /// Adds a step at the outside. A peer that nests values deeply must not fill our logs with the way to its mistake.
    fn within(mut self, step: impl FnOnce() -> Step) -> Self {
        match self.0.path.len() {
            0..STEPS => self.0.path.push(step()),
            STEPS => self.0.path.push(Step::More),
            _ => {}
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn problem(&self) -> &Problem {
        &self.0.problem
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The class of the outermost object tells where to look; those inside follow from its fields.
        let (mut started, mut named) = (false, false);
        for step in self.0.path.iter().rev() {
            match step {
                Step::Field { class, field } if !named => {
                    f.write_str(if started { " " } else { "" })?;
                    write!(f, "{class}.{field}")?;
                    named = true;
                }
                Step::Field { field, .. } => write!(f, ".{field}")?,
                Step::Item(index) => write!(f, "[{index}]")?,
                Step::More => f.write_str("…")?,
            }
            started = true;
        }
        if !self.0.path.is_empty() {
            f.write_str(": ")?;
        }
        write!(f, "{}", self.0.problem)?;
        match self.0.offset {
            Some(offset) => write!(f, " (at byte {offset})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodeError")
            .field("problem", &self.0.problem)
            .field("offset", &self.0.offset)
            .field("path", &self.0.path)
            .finish()
    }
}

impl Error for DecodeError {}

/// The names of classes and fields come from the peer as well.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// How many steps of the way to a mistake are kept.
const STEPS: usize = 16;
/// How many characters of a name are kept.
const NAME: usize = 100;

#[cfg(test)]
mod tests {
    use super::{DecodeError, Problem};

    #[test]
    fn an_error_tells_the_way_to_its_place_from_the_outside() {
        let error = DecodeError::custom("no")
            .or_at(7)
            .in_field("com.x.Zip", "code")
            .in_item(3);
        let error = error
            .in_field("com.x.Address", "zips")
            .in_field("com.x.User", "address");
        assert_eq!(
            error.to_string(),
            "com.x.User.address.zips[3].code: no (at byte 7)"
        );
        assert_eq!(error.path(), ".address.zips[3].code");
        let error = error.in_item(1);
        assert_eq!(
            error.to_string(),
            "[1] com.x.User.address.zips[3].code: no (at byte 7)"
        );
        assert_eq!(error.path(), "[1].address.zips[3].code");
        assert_eq!(error.reason(), "no");
        let error = (0..100).fold(DecodeError::custom("no"), |error, _| {
            error.in_field(&"c".repeat(1000), &"f".repeat(1000))
        });
        assert!(error.to_string().len() < 2500, "{error}");
        let limit = Problem::Limit {
            what: "levels of lists, maps and objects",
            name: "depth",
            limit: 128,
        };
        assert_eq!(
            DecodeError::new(limit, 7).to_string(),
            "more than 128 levels of lists, maps and objects (limit `depth`) (at byte 7)"
        );
        let error = DecodeError::custom("no").or_at(7).or_at(9);
        assert_eq!(error.offset(), 7);
        assert_eq!(
            DecodeError::null_for("com.x.User").to_string(),
            "null where com.x.User is required; use `Option`"
        );
        assert_eq!(
            DecodeError::null_for("com.x.User").reason(),
            "null where com.x.User is required"
        );
    }
}
