//! From interface-level to application-level discovery, and back, without losing a call.
//!
//! A reference that may be followed both ways has a [`MigrationDirectory`] over two directories. Which of them there are
//! and which takes a call says a [`Rule`], Dubbo Java's; the [`Controller`] of the application takes rules in, from config
//! centers, a file and the program itself. `docs/spec/metadata.md` §7.5.
//!
//! ```text
//! config centers, file, set_rule -> Controller -> the rule
//!                                                  |
//! interface directory  --\                         v
//!                         +--> evidence --> state machine --> choice <- calls
//! application directory --/                 of a reference
//! ```

mod choice;
mod compare;
mod controller;
mod directory;
mod driver;
mod evidence;
mod gauges;
mod machine;
mod path;
mod roads;
mod rule;
mod status;
mod step;
mod terms;
mod traffic;

#[cfg(test)]
mod tests;

pub use self::{
    compare::{Comparators, UnknownComparator},
    controller::{Center, Controller, ControllerOptions, GROUP, LocalFile},
    directory::{MigrationDirectory, MigrationError},
    path::Path,
    roads::{Road, Roads},
    rule::{Entry, Rule, RuleError},
    status::{MigrationStatus, ReferenceStatus, StepReport, registration},
    step::{MigrationStep, UnknownStep},
    terms::{Terms, TermsError},
    traffic::Meter,
};
