//! What an application serves: [`MetadataInfo`] and its [`ServiceInfo`]s (`docs/spec/metadata.md` §1).

mod diff;
mod export;
mod hessian;
mod instance_params;
mod json;
mod params;
mod services;

use std::{collections::BTreeMap, sync::Arc};

use dubbo_core::service::ServiceKey;

pub use diff::{MetadataDiff, ServiceDiff};
pub use instance_params::{InstanceParams, ParamConflict};
pub use params::{ParamsFilter, ParamsFilters};
pub use services::Services;

use crate::revision::Algorithm;

/// All that one application serves at one revision. A value is never changed once others have seen it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataInfo {
    /// The application's name.
    pub app: String,
    /// The digest of the rest; `0` when nothing is served.
    pub revision: String,
    /// The application's tag, as dubbo-go writes it. Ours leaves it out and writes it into the instance only: instances
    /// with different tags share a revision.
    pub tag: Option<String>,
    /// When it was last written into a metadata report, in milliseconds since the epoch.
    pub last_updated_ms: Option<i64>,
    /// The services by their [match keys](ServiceInfo::match_key).
    pub services: Services,
}

impl MetadataInfo {
    /// What `app` serves, with its revision.
    pub fn new(
        app: impl Into<String>,
        services: impl IntoIterator<Item = Arc<ServiceInfo>>,
        algorithm: Algorithm,
    ) -> Self {
        let app = app.into();
        let services: Services = services.into_iter().collect();
        Self {
            revision: algorithm.revision(&app, services.values()),
            app,
            services,
            ..Self::default()
        }
    }

    /// What it has changed of `older`.
    pub fn describe(&self, older: &Self) -> MetadataDiff {
        MetadataDiff::between(self, older)
    }

    /// Its services with this [key](ServiceInfo::service_key), one for each protocol.
    pub fn services_of(&self, service_key: &str) -> &[Arc<ServiceInfo>] {
        self.services.of_key(service_key)
    }

    /// Its services that a consumer of `pattern` [wants](ServiceKey::wants): the group and version of a pattern may be `*`
    /// or lists, the interface `*`.
    pub fn services_matching<'s>(
        &'s self,
        pattern: &'s ServiceKey,
    ) -> impl Iterator<Item = &'s Arc<ServiceInfo>> {
        self.services.matching(pattern)
    }
}

/// One service on one protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceInfo {
    /// The interface.
    pub name: String,
    /// The group; empty when there is none.
    pub group: String,
    /// The version; empty when there is none.
    pub version: String,
    /// The protocol, such as `tri`.
    pub protocol: String,
    /// The port. 0 or less means that the instance's endpoints say it.
    pub port: i32,
    /// The path, without leading slash: the interface, unless a path was configured.
    pub path: String,
    /// The parameters. Those of one method are `<method>.<key>`.
    pub params: BTreeMap<String, String>,
}

impl ServiceInfo {
    /// `[group/]interface[:version]`, as dubbo-go builds it: version `0.0.0` is none (`docs/spec/metadata.md` §1.1).
    pub fn service_key(&self) -> String {
        let version = if self.version == NO_VERSION {
            ""
        } else {
            &self.version
        };
        service_key(&self.group, &self.name, version)
    }

    /// The service key and the protocol: what it is found by among the services of its application.
    pub fn match_key(&self) -> String {
        with_protocol(self.service_key(), &self.protocol)
    }

    /// The names of its methods, in the order in which they were written.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.params
            .get(METHODS)
            .into_iter()
            .flat_map(|methods| methods.split(','))
            .map(str::trim)
            .filter(|method| !method.is_empty())
    }

    /// The key that Dubbo Java builds: version `0.0.0` is a version.
    pub(crate) fn java_match_key(&self) -> String {
        with_protocol(
            service_key(&self.group, &self.name, &self.version),
            &self.protocol,
        )
    }
}

fn service_key(group: &str, name: &str, version: &str) -> String {
    let mut key = String::with_capacity(group.len() + name.len() + version.len() + 2);
    if !group.is_empty() {
        key.extend([group, "/"]);
    }
    key.push_str(name);
    if !version.is_empty() {
        key.extend([":", version]);
    }
    key
}

fn with_protocol(mut key: String, protocol: &str) -> String {
    if !protocol.is_empty() {
        key.extend([":", protocol]);
    }
    key
}

/// The parameter with the names of the methods.
pub(crate) const METHODS: &str = "methods";

/// What dubbo-go takes for no version.
const NO_VERSION: &str = "0.0.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_only_the_parts_that_are_there() {
        for (group, version, protocol, want, java) in [
            ("", "", "tri", "x.Y:tri", "x.Y:tri"),
            ("g", "1.0.0", "tri", "g/x.Y:1.0.0:tri", "g/x.Y:1.0.0:tri"),
            ("", "0.0.0", "dubbo", "x.Y:dubbo", "x.Y:0.0.0:dubbo"),
            ("g", "", "", "g/x.Y", "g/x.Y"),
        ] {
            let service = ServiceInfo {
                name: "x.Y".into(),
                group: group.into(),
                version: version.into(),
                protocol: protocol.into(),
                ..ServiceInfo::default()
            };
            assert_eq!(service.match_key(), want);
            assert_eq!(service.java_match_key(), java);
        }
    }
}
