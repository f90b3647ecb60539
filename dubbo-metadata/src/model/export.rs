//! From the URL of an exported service to what consumers are told of it.

use std::collections::{BTreeMap, BTreeSet};

use dubbo_core::url::Url;

use super::{METHODS, ParamsFilter, ServiceInfo};

impl ServiceInfo {
    /// What consumers are told of the service at `url` (`docs/spec/metadata.md` §1.2, §1.5).
    ///
    /// The names of methods are sorted and empty values left out, so that what shares a revision is the same. The
    /// parameters of a method, `methods.<method>.<key>` in a URL, become `<method>.<key>`. A parameter of the service that
    /// would then read as one of a method is left out, with a warning. The port is 0: the instance's endpoints say it.
    pub fn of_url(url: &Url, filter: &ParamsFilter) -> Self {
        let key = url.service_key();
        let mut service = Self {
            name: key.interface().to_owned(),
            group: key.group().unwrap_or_default().to_owned(),
            version: key.version().unwrap_or_default().to_owned(),
            protocol: url.protocol().to_owned(),
            port: 0,
            path: if url.path().is_empty() {
                key.interface().to_owned()
            } else {
                url.path().to_owned()
            },
            params: BTreeMap::new(),
        };
        let methods = sorted_methods(url.param(METHODS).unwrap_or_default());
        for (key, value) in url.params() {
            let name = key.strip_prefix(OF_METHOD).unwrap_or(key);
            if value.is_empty() || !filter.includes(of_any(name, &methods)) {
                continue;
            }
            if let Some(method) = ambiguous(key, &methods) {
                tracing::warn!(
                    service = %service.service_key(),
                    parameter = key,
                    method,
                    "left out of the metadata: consumers would take the parameter for one of the method; rename the method"
                );
                continue;
            }
            // Both spellings of one key: the one that says `methods` is certain.
            if name == key && url.param(&format!("{OF_METHOD}{key}")).is_some() {
                continue;
            }
            service.params.insert(name.to_owned(), value.to_owned());
        }
        if !methods.is_empty() {
            let joined = Vec::from_iter(methods).join(",");
            service.params.insert(METHODS.to_owned(), joined);
        }
        service
    }
}

/// Without blanks, empty names and repetitions.
fn sorted_methods(list: &str) -> BTreeSet<&str> {
    list.split(',')
        .map(str::trim)
        .filter(|method| !method.is_empty())
        .collect()
}

/// The name of a parameter without that of the method which it is about.
fn of_any<'a>(name: &'a str, methods: &BTreeSet<&str>) -> &'a str {
    match name.split_once('.') {
        Some((method, of_method)) if methods.contains(method) && !OF_SERVICE.contains(&name) => {
            of_method
        }
        _ => name,
    }
}

/// The method that the parameter `key` of the service seems to be about.
fn ambiguous<'a>(key: &'a str, methods: &BTreeSet<&str>) -> Option<&'a str> {
    let (method, _) = key.split_once('.')?;
    (OF_SERVICE.contains(&key) && methods.contains(method)).then_some(method)
}

/// What parameters of one method begin with in a URL.
const OF_METHOD: &str = "methods.";

/// Parameters of a service with a dot in them.
const OF_SERVICE: [&str; 11] = [
    "app.version",
    "application.version",
    "dubbo.tag",
    "execute.limit.rejected.handler",
    "prefer.serialization",
    "service.filter",
    "specification.version",
    "tps.limit.interval",
    "tps.limit.rate",
    "tps.limit.rejected.handler",
    "tps.limit.strategy",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> ServiceInfo {
        ServiceInfo::of_url(&url.parse().expect("valid"), &ParamsFilter::default())
    }

    fn params(service: &ServiceInfo) -> Vec<(&str, &str)> {
        service
            .params
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn a_url_becomes_what_consumers_need() {
        let service = of(
            "tri://10.0.0.1:50051/x.Y?interface=x.Y&group=g&version=1.0.0&methods=b,a,%20b,&application=demo\
             &methods.b.timeout=1000&pid=7&timestamp=1700000000&empty=&registry.id=zk&side=provider",
        );
        assert_eq!(service.match_key(), "g/x.Y:1.0.0:tri");
        assert_eq!((service.path.as_str(), service.port), ("x.Y", 0));
        assert_eq!(
            params(&service),
            [
                ("application", "demo"),
                ("b.timeout", "1000"),
                ("group", "g"),
                ("interface", "x.Y"),
                ("methods", "a,b"),
                ("side", "provider"),
                ("version", "1.0.0"),
            ]
        );
    }

    #[test]
    fn a_path_stays_and_an_absent_one_is_the_interface() {
        assert_eq!(of("tri://h:1/custom?interface=x.Y").path, "custom");
        let service = of("tri://h:1?interface=x.Y");
        assert_eq!(
            (service.name.as_str(), service.path.as_str()),
            ("x.Y", "x.Y")
        );
    }

    #[test]
    fn a_parameter_that_would_read_as_a_methods_is_left_out() {
        let url = "tri://h:1/x.Y?prefer.serialization=fastjson2&methods=";
        let clash = of(&format!("{url}prefer"));
        assert_eq!(params(&clash), [("methods", "prefer")]);
        let clear = of(&format!("{url}prefers"));
        assert_eq!(
            params(&clear),
            [
                ("methods", "prefers"),
                ("prefer.serialization", "fastjson2")
            ]
        );
    }

    #[test]
    fn both_spellings_of_a_methods_parameter_are_one() {
        let service = of("tri://h:1/x.Y?methods=pay&pay.timeout=1&methods.pay.timeout=2");
        assert_eq!(params(&service), [("methods", "pay"), ("pay.timeout", "2")]);
        let java = of("tri://h:1/x.Y?methods=pay&pay.timeout=1");
        assert_eq!(params(&java), [("methods", "pay"), ("pay.timeout", "1")]);
    }
}
