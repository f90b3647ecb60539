use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use dubbo_core::yaml::{ProblemKind, Section};

use super::{RegistryConfig, Secret, settings};
use crate::config::format::{EXTENSIONS, Format};

settings! {
    /// `dubbo.config-center`: where the configuration goes on, and where the rules of routers, overrides and retries are kept,
    /// which apply as they change (`docs/spec/config.md` §1.11, `docs/spec/cluster.md` §4.1).
    ///
    /// With a `data-id`, the document of that name is laid over the files before an instance is built. Without this section
    /// each registry that can be a config center is one for rules, unless `use-as-config-center` says no.
    pub struct ConfigCenterConfig {
        /// `protocol`: the center's plugin. By default the scheme of `address`.
        protocol: Option<String>,
        /// `address`, as that of a registry. Empty or `N/A`, or none at all, means that there is no such center.
        address: Option<String>,
        /// `username`.
        username: Option<String>,
        /// `password`. Never printed.
        password: Option<Secret>,
        /// `timeout`, by default 10 s: how long the document is waited for, and how long a first call waits for the rules that
        /// there are. Later ones do not wait, and rules apply when they come.
        timeout: Option<Duration>,
        /// `data-id`: the document's key in the center. It is like a file, and stronger.
        data_id: Option<String>,
        /// `file-extension`, by default what `data-id` ends in, else `yaml`: the format of the document.
        file_extension: Option<Format>,
        /// `group`, by default `dubbo`, where Dubbo Java and consoles keep rules: the group that they and the document are
        /// looked for in. For a document in Nacos the default is `DEFAULT_GROUP`, as in dubbo-go.
        group: Option<String>,
        /// `namespace`: a space of its own inside the center, for those that have them.
        namespace: Option<String>,
        /// `params`: further parameters for the plugin. They win over the settings above. Beside those: `optional: "true"`
        /// lets a program start without the document, and with `base64: "true"` it is in Base64.
        params[param]: BTreeMap<String, String>,
    }
}

impl ConfigCenterConfig {
    /// The center at `scheme://host:port`.
    pub fn at(address: impl Into<String>) -> Self {
        Self::new().address(address)
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        for key in ["app-id", "cluster"] {
            if s.node(key).is_some() {
                let message = "is for Apollo, which is not supported; leave it out";
                s.error(key, ProblemKind::Unsupported, message);
            }
        }
        Self {
            protocol: s.string("protocol"),
            address: s.string("address"),
            username: s.string("username"),
            password: s.string("password").map(Secret::from),
            timeout: s.duration("timeout"),
            data_id: s.string("data-id"),
            file_extension: s.choice("file-extension", &EXTENSIONS),
            group: s.string("group"),
            namespace: s.string("namespace"),
            params: s.texts("params"),
        }
    }

    /// The registry that would be reached by the same settings; `None` when there is no such center.
    pub(crate) fn as_registry(&self) -> Option<RegistryConfig> {
        let registry = RegistryConfig {
            protocol: self.protocol.clone(),
            address: self.address.clone(),
            timeout: self.timeout,
            namespace: self.namespace.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            params: self.params.clone(),
            ..RegistryConfig::new()
        };
        let is_set = registry.protocol.is_some() || registry.address.is_some();
        (is_set && !registry.is_off()).then_some(registry)
    }
}

settings! {
    /// `dubbo.rules`: rules in files. This section is our own.
    pub struct RulesConfig {
        /// `path`, by default none: a folder of rules, each in a file called like its key and then `.yaml`, such as
        /// `order-center.tag-router.yaml`. It is looked at every second. A rule from a config center is stronger, and one
        /// from code ([`Instance::rules`](crate::Instance::rules)) is stronger still.
        path: Option<PathBuf>,
    }
}

impl RulesConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            path: s.string("path").map(PathBuf::from),
        }
    }
}
