//! What services and configs are found by.

use std::fmt;

/// The name of a service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceKey {
    /// `public` unless given.
    pub namespace: String,
    /// Such as `DEFAULT_GROUP`.
    pub group: String,
    /// The name without its group.
    pub name: String,
}

impl ServiceKey {
    /// The namespaces `""` and `public` are one.
    pub fn new(namespace: &str, group: &str, name: &str) -> Self {
        let namespace = if namespace.is_empty() {
            PUBLIC
        } else {
            namespace
        };
        Self {
            namespace: namespace.to_owned(),
            group: group.to_owned(),
            name: name.to_owned(),
        }
    }

    /// `group@@name`.
    pub(super) fn grouped(&self) -> String {
        format!("{}@@{}", self.group, self.name)
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@@{}@@{}", self.namespace, self.group, self.name)
    }
}

/// The name of a config.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigKey {
    /// `""` unless given.
    pub namespace: String,
    /// Such as `dubbo`.
    pub group: String,
    /// The name within its group.
    pub data_id: String,
}

impl ConfigKey {
    /// The namespaces `""` and `public` are one.
    pub fn new(namespace: &str, group: &str, data_id: &str) -> Self {
        let namespace = if namespace == PUBLIC { "" } else { namespace };
        Self::exact(namespace, group, data_id)
    }

    /// The namespace as it was said: listening tells `""` and `public` apart, although nothing else does.
    pub(super) fn exact(namespace: &str, group: &str, data_id: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            group: group.to_owned(),
            data_id: data_id.to_owned(),
        }
    }
}

impl fmt::Display for ConfigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.data_id, self.group, self.namespace)
    }
}

/// One transport connection to the server, never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection-{}", self.0)
    }
}

const PUBLIC: &str = "public";
