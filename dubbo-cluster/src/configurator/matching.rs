//! The clause `match` of a rule.

use dubbo_core::{
    url::Url,
    yaml::{ProblemKind, Section},
};

use super::item::is_of_consumer;
use crate::rules::{AddressPattern, StringMatch, glob};

/// For whom a rule is, clause by clause. What no clause speaks of is not asked.
#[derive(Debug, Default)]
pub(super) struct Match {
    address: Option<AddressMatch>,
    provider_address: Option<AddressMatch>,
    /// One of them.
    service: Vec<StringMatch>,
    /// One of them.
    app: Vec<StringMatch>,
    /// All of them, by parameter.
    param: Vec<(String, StringMatch)>,
}

/// Of several the network counts, then the pattern, as in Dubbo Java.
#[derive(Debug)]
enum AddressMatch {
    Network(AddressPattern),
    Wildcard(String),
    Exact(String),
}

impl Match {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            address: AddressMatch::read(s, "address"),
            provider_address: AddressMatch::read(s, "providerAddress"),
            service: one_of(s, "service"),
            app: one_of(s, "app"),
            param: s
                .items("param", |s| {
                    let key = s.string("key").unwrap_or_default();
                    if key.is_empty() {
                        s.error("key", ProblemKind::Missing, "needs the key of a parameter");
                    }
                    let value = s.section("value", StringMatch::read)?;
                    Some((key, value))
                })
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    pub(super) fn matches(&self, url: &Url, local: &str) -> bool {
        let is_one = |of: &[StringMatch], text: Option<&str>| {
            of.is_empty() || of.iter().any(|one| one.matches(text))
        };
        let is_consumer = url.param("side") == Some("consumer");
        let (host, port) = if is_consumer {
            (local, None)
        } else {
            (url.host(), url.port())
        };
        self.address
            .as_ref()
            .is_none_or(|address| address.matches(host, port))
            && self.provider_address.as_ref().is_none_or(|address| {
                // How a consumer calls in general is said of no provider.
                !is_of_consumer(url) && address.matches(url.host(), url.port())
            })
            && is_one(&self.service, Some(&url.service_key().to_string()))
            && is_one(&self.app, url.param("application"))
            && self
                .param
                .iter()
                .all(|(key, value)| value.matches(url.param(key)))
    }
}

impl AddressMatch {
    fn read(s: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        s.node(key)?;
        let read = s.section(key, |s| {
            let expected = "a network such as `10.20.0.0/16`";
            // Dubbo Java spells it `cird`.
            let mut network = |key| s.parse(key, expected, |text| AddressPattern::parse(text).ok());
            let (cird, cidr) = (network("cird"), network("cidr"));
            let (wildcard, exact) = (s.string("wildcard"), s.string("exact"));
            cidr.or(cird)
                .map(Self::Network)
                .or_else(|| wildcard.map(Self::Wildcard))
                .or_else(|| exact.map(Self::Exact))
        });
        if read.is_none() {
            let message = "needs one of `cidr`, `wildcard` and `exact`";
            s.error(key, ProblemKind::Missing, message);
        }
        read
    }

    fn matches(&self, host: &str, port: Option<u16>) -> bool {
        let is = |test: &dyn Fn(&str) -> bool| {
            test(host) || port.is_some_and(|port| test(&format!("{host}:{port}")))
        };
        match self {
            Self::Network(network) => network.matches(host, port),
            Self::Wildcard(any) if any == "0.0.0.0" => true,
            Self::Wildcard(pattern) => is(&|address| glob(pattern, address)),
            Self::Exact(exact) => is(&|address| exact == address),
        }
    }
}

fn one_of(s: &mut Section<'_, '_>, key: &'static str) -> Vec<StringMatch> {
    if s.node(key).is_none() {
        return Vec::new();
    }
    let read = s.section(key, |s| s.items("oneof", StringMatch::read));
    if read.is_empty() {
        s.error(
            key,
            ProblemKind::Missing,
            "needs a list `oneof` that is not empty",
        );
    }
    read.into_iter().flatten().collect()
}
