//! Which service: interface, group and version.

use std::{fmt, str::FromStr, sync::Arc};

/// Names one exported or referenced service: interface, group and version.
///
/// Written `[group/]interface[:version]` (`docs/spec/registry.md` §1.1). Empty parts are absent parts.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceKey {
    interface: Arc<str>,
    group: Option<Arc<str>>,
    version: Option<Arc<str>>,
}

impl ServiceKey {
    /// A key without group and version.
    pub fn new(interface: impl Into<Arc<str>>) -> Self {
        Self {
            interface: interface.into(),
            group: None,
            version: None,
        }
    }

    /// The same key in `group`; an empty group is none.
    pub fn with_group(mut self, group: &str) -> Self {
        self.group = non_empty(group);
        self
    }

    /// The same key at `version`; an empty version is none.
    pub fn with_version(mut self, version: &str) -> Self {
        self.version = non_empty(version);
        self
    }

    /// The interface's full name, such as `greet.Greeter`.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The group, if there is one.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The version, if there is one.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = &self.group {
            write!(f, "{group}/")?;
        }
        f.write_str(&self.interface)?;
        if let Some(version) = &self.version {
            write!(f, ":{version}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceKey({self})")
    }
}

impl FromStr for ServiceKey {
    type Err = ServiceKeyError;

    fn from_str(text: &str) -> Result<Self, ServiceKeyError> {
        let (group, rest) = text.split_once('/').unwrap_or(("", text));
        let (interface, version) = rest.rsplit_once(':').unwrap_or((rest, ""));
        if interface.is_empty() {
            return Err(ServiceKeyError(text.to_owned()));
        }
        Ok(Self::new(interface).with_group(group).with_version(version))
    }
}

/// A text that names no interface where `[group/]interface[:version]` is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no interface; expected `[group/]interface[:version]`")]
pub struct ServiceKeyError(String);

fn non_empty(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_what_it_writes() {
        for text in ["a.B", "g/a.B", "a.B:1.0", "g/a.B:1.0.0"] {
            let key: ServiceKey = text.parse().expect(text);
            assert_eq!(key.to_string(), text);
        }
        for text in ["", "g/", ":1.0", "g/:1"] {
            assert!(text.parse::<ServiceKey>().is_err(), "{text:?}");
        }
    }
}
