//! What is printed: text for people, JSON for programs.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

use serde_json::Value;

use crate::fail::{Class, Failure};

/// Where commands print to: results on standard output, everything else on standard error.
#[derive(Debug)]
pub(crate) struct Console {
    json: bool,
}

#[allow(
    clippy::unused_self,
    reason = "whoever prints has a console to print to"
)]
impl Console {
    /// With JSON in place of text, if `json`.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether a program reads it.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A result, in the form that was asked for.
    pub(crate) fn show(
        &self,
        json: impl FnOnce() -> Value,
        text: impl Display,
    ) -> Result<(), Failure> {
        if self.json {
            self.line(&json())
        } else {
            self.line(&text)
        }
    }

    /// A line, or several, on standard output.
    pub(crate) fn line(&self, text: &dyn Display) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()?;
        Ok(())
    }

    /// A line that is no result, on standard error.
    pub(crate) fn note(&self, text: &dyn Display) {
        // Nothing can be done for somebody who does not listen.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// What went wrong, on standard error.
    pub(crate) fn failure(&self, failure: &Failure) {
        match failure.class() {
            Class::Unheard => {}
            _ if self.json => self.note(&failure.to_json()),
            _ => self.note(failure),
        }
    }
}
