//! Which parameters of an exported URL others are told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use dubbo_core::{
    extension::{ExtensionError, Extensions},
    metadata::MetadataParamsFilter,
    url::Url,
};

/// The filters that services name, by the plugins there are.
#[derive(Debug, Clone)]
pub struct ParamsFilters {
    extensions: Extensions,
    secrets: Vec<String>,
}

impl ParamsFilters {
    /// Those of the plugins in `extensions`.
    pub fn new(extensions: Extensions) -> Self {
        Self {
            extensions,
            secrets: Vec::new(),
        }
    }

    /// The same, which never tell parameters of these names, nor those that have `.` and one of them in it.
    pub fn keeping_secret<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.secrets.extend(lower(names));
        self
    }

    /// The filter of the service at `url`: that called `default` and those that `params-filter` names, without those that
    /// stand there behind `-`.
    ///
    /// # Errors
    ///
    /// There is no filter of such a name.
    pub fn of(&self, url: &Url) -> Result<ParamsFilter, ExtensionError> {
        let mut names = BTreeSet::from([DEFAULT]);
        let mut removed = BTreeSet::new();
        let listed = url.param(PARAMS_FILTER).unwrap_or_default().split(',');
        for name in listed.map(str::trim).filter(|name| !name.is_empty()) {
            let (list, name) = match name.strip_prefix('-') {
                Some(name) => (&mut removed, name.trim()),
                None => (&mut names, name),
            };
            let canonical = self
                .extensions
                .canonical::<dyn MetadataParamsFilter>(name)?;
            list.insert(canonical);
        }
        let filters: Result<Vec<_>, _> = names
            .difference(&removed)
            .map(|name| {
                self.extensions
                    .create::<dyn MetadataParamsFilter>(name, url)
            })
            .collect();
        Ok(ParamsFilter::of(&filters?, self.secrets.clone()))
    }
}

impl Default for ParamsFilters {
    /// The built-in one alone.
    fn default() -> Self {
        let mut extensions = Extensions::none();
        extensions.register::<dyn MetadataParamsFilter>(DEFAULT, |_| Ok(Arc::new(DefaultFilter)));
        Self::new(extensions)
    }
}

/// What the filters of one service let through, taken together (`docs/spec/metadata.md` §1.5; the rules are those of
/// [`MetadataParamsFilter`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamsFilter {
    service: Choice,
    /// The names that the instance tells.
    instance: BTreeSet<String>,
    secrets: Vec<String>,
}

/// Names in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    AllBut(Vec<String>),
    Only(Vec<String>),
}

impl ParamsFilter {
    fn of(filters: &[Arc<dyn MetadataParamsFilter>], secrets: Vec<String>) -> Self {
        let union = |names: fn(&dyn MetadataParamsFilter) -> Vec<String>| -> Vec<String> {
            lower(filters.iter().flat_map(|filter| names(&**filter))).collect()
        };
        let included = union(MetadataParamsFilter::service_params_included);
        let service = if included.is_empty() {
            Choice::AllBut(union(MetadataParamsFilter::service_params_excluded))
        } else {
            Choice::Only(included)
        };
        let mut instance =
            BTreeSet::from_iter(union(MetadataParamsFilter::instance_params_included));
        let excluded = union(MetadataParamsFilter::instance_params_excluded);
        if instance.is_empty() && !excluded.is_empty() {
            instance.extend(lower(OF_INSTANCE));
            instance.retain(|name| !excluded.contains(name));
        }
        Self {
            service,
            instance,
            secrets,
        }
    }

    /// Whether consumers are told the parameter `key` of a service, or of each of its methods.
    pub fn includes(&self, key: &str) -> bool {
        let key = key.to_ascii_lowercase();
        let is_hidden = key.is_empty() || key.starts_with('.');
        if is_hidden || excludes(&self.secrets, &key) {
            return false;
        }
        NEEDED.contains(&key.as_str())
            || match &self.service {
                Choice::AllBut(excluded) => !excludes(excluded, &key),
                Choice::Only(included) => included.contains(&key),
            }
    }

    /// What the instance tells of the service at `url`.
    pub fn instance_params(&self, url: &Url) -> BTreeMap<String, String> {
        url.params()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
            .filter(|(key, _)| self.instance.contains(key) && !excludes(&self.secrets, key))
            .collect()
    }
}

impl Default for ParamsFilter {
    /// That of a service that names none.
    fn default() -> Self {
        Self::of(&[Arc::new(DefaultFilter)], Vec::new())
    }
}

/// What a service has that names no filter: excluded is what differs between two instances with the same services, such as
/// `pid`, what is about the provider alone, such as `registry`, and paths of files.
struct DefaultFilter;

impl MetadataParamsFilter for DefaultFilter {
    fn service_params_excluded(&self) -> Vec<String> {
        EXCLUDED.map(str::to_owned).into()
    }

    fn instance_params_included(&self) -> Vec<String> {
        OF_INSTANCE.map(str::to_owned).into()
    }
}

dubbo_core::extension!(dyn MetadataParamsFilter, "default", |_cx| Ok(Arc::new(
    DefaultFilter
)));

/// Whether one of `names` is `key`, or stands behind a `.` in it.
fn excludes(names: &[String], key: &str) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(folder) if folder.ends_with('.') => key.starts_with(folder),
        _ => key
            .match_indices(name.as_str())
            .any(|(at, _)| (at == 0 && key.len() == name.len()) || key[..at].ends_with('.')),
    })
}

fn lower<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> impl Iterator<Item = String> {
    let names = names.into_iter();
    names
        .map(|name| name.as_ref().trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
}

/// The parameter of a service that names its filters.
const PARAMS_FILTER: &str = "params-filter";

/// The name of the built-in filter.
const DEFAULT: &str = "default";

/// What dubbo-go and Dubbo Java read from the metadata of a service, and cannot do without.
const NEEDED: [&str; 4] = ["application", "group", "methods", "version"];

/// What Dubbo Java's instances tell of their services' parameters.
const OF_INSTANCE: [&str; 3] = [
    super::instance_params::HEARTBEAT_TIMEOUT,
    super::instance_params::IPV6,
    super::instance_params::TIMESTAMP,
];

/// The names that Dubbo Java excludes, and below them those that are ours.
const EXCLUDED: [&str; 30] = [
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
    "registry.*",
    "bean.name",
    "service.filter",
    "export",
    "metadata-type",
    PARAMS_FILTER,
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

    /// What a filter names: service included, service excluded, instance included, instance excluded.
    struct Names(&'static [&'static str; 4]);

    impl Names {
        fn at(&self, index: usize) -> Vec<String> {
            self.0[index]
                .split_whitespace()
                .map(str::to_owned)
                .collect()
        }
    }

    impl MetadataParamsFilter for Names {
        fn service_params_included(&self) -> Vec<String> {
            self.at(0)
        }

        fn service_params_excluded(&self) -> Vec<String> {
            self.at(1)
        }

        fn instance_params_included(&self) -> Vec<String> {
            self.at(2)
        }

        fn instance_params_excluded(&self) -> Vec<String> {
            self.at(3)
        }
    }

    fn filters() -> ParamsFilters {
        let mut extensions = ParamsFilters::default().extensions;
        for (name, names) in [
            ("timeouts", &["Timeout", "retries", "", ""]),
            ("owners", &["owner", "", "", ""]),
            ("no-retries", &["", "retries x.*", "", ""]),
            ("zones", &["", "", "zone", "ipv6"]),
            ("no-ipv6", &["", "", "", "IPv6"]),
        ] {
            extensions
                .register::<dyn MetadataParamsFilter>(name, move |_| Ok(Arc::new(Names(names))));
        }
        ParamsFilters::new(extensions).keeping_secret(["Password"])
    }

    fn url(filter: &str) -> Url {
        format!(
            "tri://h:1/a.B?application=demo&group=g&methods=m&version=1&timeout=1&retries=2&owner=me&pid=7&x.y=1&password=p\
             &zone=z&ipv6=fe80::1&timestamp=1700000000000&params-filter={filter}"
        )
        .parse()
        .expect("valid")
    }

    #[test]
    fn what_differs_between_instances_or_is_nobodys_business_is_left_out() {
        let filter = filters().of(&url("")).expect("the built-in one");
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
            ("password", false),
            ("the.PASSWORD", false),
            ("tls-key-file", false),
        ] {
            assert_eq!(filter.includes(key), want, "{key}");
        }
    }

    #[test]
    fn filters_are_taken_together_and_what_is_included_counts_more_than_what_is_excluded() {
        let optional = ["timeout", "retries", "owner", "pid", "x.y"];
        for (names, want) in [
            ("", "timeout retries owner x.y"),
            ("default", "timeout retries owner x.y"),
            ("no-retries", "timeout owner"),
            ("No-Retries, -Default", "timeout owner pid"),
            ("timeouts", "timeout"),
            ("timeouts,no-retries", "timeout"),
            ("timeouts,owners,-default", "timeout owner"),
            ("-default", "timeout retries owner pid x.y"),
            ("no-retries,-no-retries", "timeout retries owner x.y"),
        ] {
            let filter = filters().of(&url(names)).expect(names);
            let told: Vec<_> = optional
                .into_iter()
                .filter(|key| filter.includes(key))
                .collect();
            assert_eq!(told.join(" "), want, "{names}");
            assert!(NEEDED.iter().all(|key| filter.includes(key)), "{names}");
            assert!(!filter.includes("password"), "{names}");
        }
    }

    #[test]
    fn an_instance_tells_what_filters_include() {
        for (names, want) in [
            ("", "ipv6 timestamp"),
            ("zones", "ipv6 timestamp zone"),
            ("zones,-default", "zone"),
            ("no-ipv6,-default", "timestamp"),
            ("-default", ""),
        ] {
            let url = url(names);
            let told = filters().of(&url).expect(names).instance_params(&url);
            let told: Vec<_> = told.keys().map(String::as_str).collect();
            assert_eq!(told.join(" "), want, "{names}");
        }
    }

    #[test]
    fn a_filter_that_is_not_there_is_an_error_that_names_those_that_are() {
        for names in ["nope", "-nope", "default,nope"] {
            let error = filters().of(&url(names)).expect_err(names).to_string();
            assert!(
                error.contains("no metadata params filter is called `nope`"),
                "{error}"
            );
            assert!(error.contains("no-retries"), "{error}");
        }
    }

    #[test]
    fn the_built_in_filter_is_a_linked_plugin() {
        let linked = Extensions::linked().expect("no duplicates");
        let filter = ParamsFilters::new(linked).of(&url("")).expect("linked");
        assert_eq!(filter, ParamsFilter::default());
    }
}
