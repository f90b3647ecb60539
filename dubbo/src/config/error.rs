use std::fmt;

use dubbo_core::yaml::{Problem, Problems};

/// Why a configuration cannot be used: everything that is wrong with it, in one report.
///
/// Prints one line for each problem, in the order of the files, and behind them the warnings, because one of them may be
/// the cause:
///
/// ```text
/// dubbo.yaml:7:16: dubbo.registries.local.timeout: expected a duration such as `3s` or `500ms`, …, found `soon`
/// dubbo.yaml:12:5: dubbo.consumer.chek: unknown key (did you mean `check`?)
/// warning: dubbo.yaml:2:13: dubbo.profiles.active: there is no file `dubbo-prod.yaml`
/// ```
///
/// Its `Debug` is the same text, because that is what a `main` that returns it prints; several lines begin on a new one.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl ConfigErrors {
    /// What must be corrected; there is at least one.
    pub fn errors(&self) -> &[Problem] {
        &self.errors
    }

    /// What was found besides.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    pub(super) fn new(problems: Problems) -> Self {
        let (errors, warnings) = problems.into_parts();
        Self { errors, warnings }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let line_break = if index > 0 { "\n" } else { "" };
            write!(f, "{line_break}{error}")?;
        }
        for warning in &self.warnings {
            write!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.errors.len() + self.warnings.len() > 1 {
            f.write_str("\n")?;
        }
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigErrors {}
