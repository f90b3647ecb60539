//! The steps of a migration.

use std::{fmt, str::FromStr};

use super::Path;

/// Which of its two subscriptions a reference has, and which of them takes the calls.
///
/// From one end of a migration to the other: all by interfaces, both with the interface preferred, both with the
/// application preferred, all by applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationStep {
    /// `FORCE_INTERFACE`, or `INTERFACE`: by the interface alone.
    ForceInterface,
    /// `INTERFACE_FIRST`: both; by the application as long as the interface has no address.
    InterfaceFirst,
    /// `APPLICATION_FIRST`: both; by the application when it has enough addresses, else by the interface.
    ApplicationFirst,
    /// `FORCE_APPLICATION`, or `APPLICATION`: by the application alone.
    ForceApplication,
}

impl MigrationStep {
    /// Every name that is read, the one that is written first.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("APPLICATION_FIRST", Self::ApplicationFirst),
        ("FORCE_APPLICATION", Self::ForceApplication),
        ("FORCE_INTERFACE", Self::ForceInterface),
        ("INTERFACE_FIRST", Self::InterfaceFirst),
        ("APPLICATION", Self::ForceApplication),
        ("INTERFACE", Self::ForceInterface),
    ];

    /// Its name as rules write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ForceInterface => "FORCE_INTERFACE",
            Self::InterfaceFirst => "INTERFACE_FIRST",
            Self::ApplicationFirst => "APPLICATION_FIRST",
            Self::ForceApplication => "FORCE_APPLICATION",
        }
    }

    /// The path that it forces or prefers.
    pub fn favoured(self) -> Path {
        match self {
            Self::ForceInterface | Self::InterfaceFirst => Path::Interface,
            Self::ApplicationFirst | Self::ForceApplication => Path::Application,
        }
    }

    /// Whether it leaves one path only.
    pub fn is_forced(self) -> bool {
        matches!(self, Self::ForceApplication | Self::ForceInterface)
    }

    /// Whether `path` is followed in this step.
    pub(super) fn needs(self, path: Path) -> bool {
        !self.is_forced() || self.favoured() == path
    }

    /// Its place on the way from interfaces to applications, for a gauge.
    pub(super) fn number(self) -> f64 {
        match self {
            Self::ForceInterface => 0.0,
            Self::InterfaceFirst => 1.0,
            Self::ApplicationFirst => 2.0,
            Self::ForceApplication => 3.0,
        }
    }
}

impl fmt::Display for MigrationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MigrationStep {
    type Err = UnknownStep;

    /// Names are read in any case.
    fn from_str(text: &str) -> Result<Self, UnknownStep> {
        Self::NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, step)| *step)
            .ok_or_else(|| UnknownStep(text.to_owned()))
    }
}

/// A text that names no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no step of a migration; there are FORCE_INTERFACE, INTERFACE_FIRST, APPLICATION_FIRST and FORCE_APPLICATION"
)]
pub struct UnknownStep(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case_and_written_as_rules_have_them() {
        for (text, want) in [
            ("APPLICATION_FIRST", "APPLICATION_FIRST"),
            ("application_first", "APPLICATION_FIRST"),
            ("Application", "FORCE_APPLICATION"),
            ("FORCE_APPLICATION", "FORCE_APPLICATION"),
            ("INTERFACE", "FORCE_INTERFACE"),
            ("force_interface", "FORCE_INTERFACE"),
            ("INTERFACE_FIRST", "INTERFACE_FIRST"),
        ] {
            let step: MigrationStep = text.parse().expect(text);
            assert_eq!(step.to_string(), want, "{text}");
        }
        for text in ["", "FIRST", "APPLICATION-FIRST"] {
            let error = text.parse::<MigrationStep>().expect_err(text);
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
