//! What one subscription asks for, and what of an application's metadata answers it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use dubbo_core::{
    registry::RegistryError,
    service::{ServiceKey, lists},
    url::Url,
};

use super::offer::Offer;
use crate::model::{MetadataInfo, ServiceInfo};

/// The service that a consumer asks for: Java's rules (`docs/spec/registry.md` §1.4, `docs/spec/metadata.md` §6.2).
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) service: ServiceKey,
    /// The protocols that it speaks; none means any.
    protocols: Vec<String>,
    /// The applications that it names itself.
    pub(super) provided_by: Option<String>,
    /// What is added to what instances say.
    extend_params: Arc<BTreeMap<String, String>>,
}

impl Request {
    /// Reads a consumer's URL. `registry` is what messages call the registry.
    ///
    /// # Errors
    ///
    /// It cannot be followed by way of applications.
    pub(super) fn of(consumer: &Url, registry: &str) -> Result<Self, RegistryError> {
        let service = consumer.service_key();
        let refused = |reason: &str| {
            Err(
                RegistryError::new(format!("subscribe to {consumer:?}"), registry, reason)
                    .refused(),
            )
        };
        if service.interface().is_empty() {
            return refused("it names no interface");
        }
        if service.interface() == "*" {
            return refused(
                "applications are found by the name of an interface, so `*` cannot be followed here",
            );
        }
        if non_empty(consumer, "category").is_some_and(|list| !lists(list, "providers")) {
            return refused(
                "only providers are found by way of applications: leave out `category`",
            );
        }
        let protocols = non_empty(consumer, "protocol").unwrap_or_default();
        Ok(Self {
            service,
            protocols: protocols
                .split(',')
                .map(|protocol| protocol.trim().to_owned())
                .filter(|protocol| !protocol.is_empty())
                .collect(),
            provided_by: non_empty(consumer, "provided-by").map(str::to_owned),
            extend_params: Arc::default(),
        })
    }

    /// The same, whose offers say `params` beside what their instances do.
    pub(super) fn extended_by(self, params: Arc<BTreeMap<String, String>>) -> Self {
        Self {
            extend_params: params,
            ..self
        }
    }

    /// What of `info` it asks for.
    pub(super) fn matched(&self, info: &MetadataInfo) -> Matched {
        let (wanted, others): (Vec<_>, Vec<_>) = info
            .services
            .of_interface(self.service.interface())
            .iter()
            .partition(|service| self.wants(service));
        Matched {
            offers: wanted
                .into_iter()
                .map(|service| Offer::new(service, info, &self.extend_params))
                .collect(),
            instead: others.iter().map(|service| service.match_key()).collect(),
        }
    }

    fn wants(&self, service: &ServiceInfo) -> bool {
        let provided = ServiceKey::new(service.name.as_str())
            .with_group(&service.group)
            .with_version(&service.version);
        let speaks = |protocol: &String| protocol.eq_ignore_ascii_case(&service.protocol);
        // Without a protocol it cannot be called by anybody.
        !service.protocol.is_empty()
            && (self.protocols.is_empty() || self.protocols.iter().any(speaks))
            && self.service.wants(&provided)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.service)?;
        if self.protocols.is_empty() {
            return Ok(());
        }
        write!(f, " on {}", self.protocols.join(" or "))
    }
}

/// What of one application's metadata answers a request.
#[derive(Debug)]
pub(super) struct Matched {
    pub(super) offers: Vec<Arc<Offer>>,
    /// The match keys of the same interface that were not asked for.
    pub(super) instead: BTreeSet<String>,
}

impl Matched {
    /// Whether the interface is served, in whatever group and version.
    pub(super) fn has_interface(&self) -> bool {
        !(self.offers.is_empty() && self.instead.is_empty())
    }
}

fn non_empty<'a>(url: &'a Url, key: &str) -> Option<&'a str> {
    url.param(key).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::Algorithm;

    fn request(query: &str) -> Result<Request, RegistryError> {
        let url = format!("consumer://10.0.0.9/{query}").parse().expect(query);
        Request::of(&url, "memory://here")
    }

    #[test]
    fn interface_group_version_and_protocol_decide() {
        let services = [
            ("a.B", "", "", "tri"),
            ("a.B", "g", "1", "tri"),
            ("a.B", "g", "2", "dubbo"),
            ("a.B", "", "1", ""),
            ("a.C", "", "", "tri"),
        ];
        let info = MetadataInfo::new(
            "app",
            services.map(|(name, group, version, protocol)| {
                Arc::new(ServiceInfo {
                    name: name.into(),
                    group: group.into(),
                    version: version.into(),
                    protocol: protocol.into(),
                    ..ServiceInfo::default()
                })
            }),
            Algorithm::R1,
        );
        for (query, want) in [
            ("a.B", &["a.B:tri"][..]),
            ("a.B?version=0.0.0", &["a.B:tri"]),
            ("a.B?group=g&version=1", &["g/a.B:1:tri"]),
            ("a.B?group=g&version=1,2", &["g/a.B:1:tri", "g/a.B:2:dubbo"]),
            (
                "a.B?group=*&version=*",
                &["a.B:tri", "g/a.B:1:tri", "g/a.B:2:dubbo"],
            ),
            ("a.B?group=*&version=*&protocol=DUBBO", &["g/a.B:2:dubbo"]),
            (
                "a.B?group=f,g&version=*&protocol=rest,tri",
                &["g/a.B:1:tri"],
            ),
            ("a.B?group=f", &[]),
            ("a.D", &[]),
        ] {
            let matched = request(query).expect(query).matched(&info);
            let keys: Vec<_> = matched
                .offers
                .iter()
                .map(|o| o.service.match_key())
                .collect();
            assert_eq!(keys, want, "{query}");
            assert_eq!(
                matched.has_interface(),
                !query.starts_with("a.D"),
                "{query}"
            );
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_with_the_reason() {
        for (query, want) in [
            ("?interface=", "names no interface"),
            ("*", "`*` cannot be followed"),
            ("a.B?category=consumers", "only providers"),
        ] {
            let error = request(query).expect_err(query).to_string();
            assert!(error.contains(want), "{query}: {error}");
        }
        assert!(request("a.B?category=routers,providers").is_ok());
    }
}
