//! Which OpenAPI, and how it is written.

use std::{fmt, str::FromStr};

/// A version of the OpenAPI specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Version {
    /// 3.0.1, which both other implementations write.
    #[default]
    V3_0_1,
    /// 3.1.0, whose schemas are those of JSON Schema 2020-12.
    V3_1_0,
}

impl Version {
    /// As a document names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V3_0_1 => "3.0.1",
            Self::V3_1_0 => "3.1.0",
        }
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    /// Reads what a caller asks for; nothing is the default.
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        match text.trim() {
            "" => Ok(Self::default()),
            "3.0.1" => Ok(Self::V3_0_1),
            "3.1.0" => Ok(Self::V3_1_0),
            other => Err(UnknownVersion(other.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A version of OpenAPI that is not written here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("OpenAPI {0:.32} is not written here; 3.0.1 and 3.1.0 are")]
pub struct UnknownVersion(String);

/// How a document is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// JSON without white space.
    #[default]
    Json,
    /// JSON, indented.
    PrettyJson,
    /// YAML.
    Yaml,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_versions_are_known_by_their_names_and_nothing_else_is() {
        for version in [Version::V3_0_1, Version::V3_1_0] {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert_eq!("".parse(), Ok(Version::V3_0_1));
        for text in ["3", "3.0", "3.0.3", "3.1", "2.0", "v3.0.1"] {
            let error = text.parse::<Version>().expect_err(text);
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
