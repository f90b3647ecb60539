//! What stands in a service of Nacos.

use std::collections::BTreeMap;

/// One registered address.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Instance {
    /// A name or an IP address, without brackets.
    pub(super) host: String,
    /// 0 if there is none.
    pub(super) port: u16,
    /// In Nacos's scale: 1 by default.
    pub(super) weight: f64,
    pub(super) healthy: bool,
    /// Others do not see one that is not.
    pub(super) enabled: bool,
    pub(super) metadata: BTreeMap<String, String>,
}

impl Instance {
    /// One that is well.
    pub(super) fn new(host: &str, port: u16, metadata: BTreeMap<String, String>) -> Self {
        Self {
            host: host.to_owned(),
            port,
            weight: 1.0,
            healthy: true,
            enabled: true,
            metadata,
        }
    }

    /// What a server knows it by.
    pub(super) fn id(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}
