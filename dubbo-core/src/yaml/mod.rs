//! YAML as configuration and rules are written in it: read without losing where anything stands.
//!
//! [`parse`] makes a tree of [`Node`]s of a document, each with its [`Location`]; a [`Reader`] takes typed values out of
//! the tree, [`Section`] by section, and notes every mistake in one list of [`Problems`] instead of stopping at the
//! first: a key that nobody reads, a value of the wrong type, a key that is there twice. JSON is read too, as the subset
//! of YAML that it is.
//!
//! Texts are not guessed at: `version: 1.10` is the text `1.10`, and `group: no` is the text `no`.
//!
//! ```
//! use std::time::Duration;
//! use dubbo_core::yaml::{Problems, Reader, parse};
//!
//! let mut problems = Problems::default();
//! let text = "
//! rule:
//!   timeout: 3s
//!   prioritty: 7
//! ";
//! let document = parse("rule.yaml", text, &mut problems);
//! let mut reader = Reader::new(problems);
//! let timeout = reader.read("", document.as_ref(), |document| {
//!     document.section("rule", |rule| {
//!         rule.integer("priority", 0..=100_u32);
//!         rule.duration("timeout")
//!     })
//! });
//! assert_eq!(timeout, Some(Duration::from_secs(3)));
//!
//! let (errors, _) = reader.finish().0.into_parts();
//! assert_eq!(
//!     errors[0].to_string(),
//!     "rule.yaml:4:3: rule.prioritty: unknown key (did you mean `priority`?)",
//! );
//! ```

mod compose;
mod node;
mod path;
mod places;
mod problem;
mod section;
mod suggest;
mod values;

pub use compose::{MAX_BYTES, MAX_DEPTH, MAX_NODES, parse};
pub use node::{Entry, Location, Map, Node, Scalar, Value};
pub use path::Path;
pub use places::Places;
pub use problem::{Problem, ProblemKind, Problems};
pub use section::{Overlay, Reader, Section};
pub use suggest::nearest;
