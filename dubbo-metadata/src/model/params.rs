//! Which parameters of an exported URL are told to consumers.

/// Decides which parameters of a URL enter a [`ServiceInfo`](super::ServiceInfo): all but those that are excluded
/// (`docs/spec/metadata.md` §1.5).
///
/// A parameter is excluded when its name is one of the excluded names, whatever the case, or has `.` and one of them in
/// it. Excluded by default are what differs between two instances with the same services, such as `pid`, what is about
/// the provider alone, such as `registry`, and paths of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamsFilter {
    /// In lower case.
    excluded: Vec<String>,
}

impl ParamsFilter {
    /// The same filter that excludes these names too, such as those of secrets.
    pub fn excluding<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.excluded.extend(
            names
                .into_iter()
                .map(|name| name.as_ref().to_ascii_lowercase()),
        );
        self
    }

    /// Whether the parameter `key` is told to consumers.
    pub fn includes(&self, key: &str) -> bool {
        let key = key.to_ascii_lowercase();
        let excluded = key.is_empty()
            || key.starts_with('.')
            || key.starts_with("registry.")
            || self.excluded.iter().any(|name| {
                key.match_indices(name.as_str())
                    .any(|(at, _)| (at == 0 && key.len() == name.len()) || key[..at].ends_with('.'))
            });
        !excluded
    }
}

impl Default for ParamsFilter {
    fn default() -> Self {
        Self {
            excluded: EXCLUDED.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

/// The names that Dubbo Java excludes, and below them those that are ours.
const EXCLUDED: [&str; 29] = [
    "monitor",
    "bind.ip",
    "bind.port",
    "qos.enable",
    "qos.host",
    "qos.port",
    "qos.accept.foreign.ip",
    "validation",
    "interfaces",
    "pid",
    "timestamp",
    "heartbeat.timeout",
    "ipv6",
    "registry",
    "bean.name",
    "service.filter",
    "export",
    "metadata-type",
    "params-filter",
    // The instance says these: instances that differ in them serve the same.
    "application.tag",
    "environment",
    // Files of TLS, as dubbo-go and Dubbo Java name them.
    "ca-cert-file",
    "tls-cert-file",
    "tls-key-file",
    "server-key-cert-chain-path",
    "server-private-key-path",
    "server-trust-cert-collection-path",
    "client-private-key-path",
    "client-trust-cert-collection-path",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_instances_or_is_nobodys_business_is_left_out() {
        let filter = ParamsFilter::default().excluding(["Secret-Key"]);
        for (key, want) in [
            ("timeout", true),
            ("interface", true),
            ("prefer.serialization", true),
            ("pay.timeout", true),
            ("pids", true),
            ("stupid", true),
            ("registry-type", true),
            ("pid", false),
            ("PID", false),
            ("pay.pid", false),
            ("pay.pid.x", false),
            ("timestamp", false),
            ("qos.port", false),
            (".internal", false),
            ("", false),
            ("registry", false),
            ("registry.role", false),
            ("secret-key", false),
            ("tls-key-file", false),
        ] {
            assert_eq!(filter.includes(key), want, "{key}");
        }
    }
}
