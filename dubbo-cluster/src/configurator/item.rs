//! One thing that a rule changes, and for whom.

use std::sync::Arc;

use dubbo_core::{service::ServiceKey, url::Url};

use super::matching::Match;
use crate::rules::AddressPattern;

/// One thing that a rule changes, at one address.
#[derive(Debug, Clone)]
pub(super) struct Override {
    pub(super) address: AddressPattern,
    pub(super) item: Arc<Item>,
}

/// What a rule changes, and for whom.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) effect: Effect,
    pub(super) whose: Whose,
    /// None means all.
    pub(super) provider_addresses: Vec<AddressPattern>,
    /// Names of applications; none means all.
    pub(super) applications: Vec<String>,
    /// None means all.
    pub(super) services: Vec<ServiceKey>,
    pub(super) matching: Match,
    /// Parameters that a URL must have, by their keys.
    pub(super) conditions: Vec<(String, String)>,
    pub(super) priority: i32,
    pub(super) params: Vec<(Arc<str>, Arc<str>)>,
}

/// What becomes of parameters that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Replace,
    FillGaps,
}

/// Whose URLs are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Consumers,
    Providers,
    /// As before rules had a version: an address with a port is that of a provider, whoever looks at it; one without a port
    /// is that of a consumer; and no address in particular is both.
    ByAddress,
}

impl Override {
    /// Changes `url`, which the program at `local` has, if it is meant.
    pub(super) fn apply(&self, url: Url, local: &str) -> Url {
        if !self.means(&url, local) {
            return url;
        }
        let params = self
            .item
            .params
            .iter()
            .filter(|(key, _)| self.item.effect == Effect::Replace || url.param(key).is_none());
        // What is said of a method in Java's words comes before what the configuration says of it in ours.
        let of_methods = params.clone().filter_map(|(key, value)| {
            let twin = format!("methods.{key}");
            url.param(&twin)?;
            Some((Arc::from(twin), Arc::clone(value)))
        });
        let params: Vec<_> = params.cloned().chain(of_methods).collect();
        url.with_params(params)
    }

    fn means(&self, url: &Url, local: &str) -> bool {
        let item = &*self.item;
        self.means_program(url, local)
            && means_provider(&item.provider_addresses, url)
            && means(
                &item.applications,
                url.param("application").unwrap_or_default(),
            )
            && (item.services.is_empty() || item.services.contains(&url.service_key()))
            && item.matching.matches(url, local)
            && item.conditions.iter().all(|(key, value)| {
                value == ANY || url.param(key).is_some_and(|found| found == value)
            })
    }

    fn means_program(&self, url: &Url, local: &str) -> bool {
        let is_consumer = url.param("side") == Some("consumer");
        let address = &self.address;
        match self.item.whose {
            Whose::Consumers => is_consumer && address.matches_host(local),
            Whose::Providers => !is_consumer && address.matches(url.host(), url.port()),
            Whose::ByAddress if address.port().is_some() => {
                !is_of_consumer(url) && address.matches(url.host(), url.port())
            }
            Whose::ByAddress if is_consumer => address.matches_host(local),
            Whose::ByAddress => address.is_any(),
        }
    }
}

/// Whether one of `patterns`, if there is any, means the provider of `url`. The URL of a consumer is of no provider, so
/// that only what means all of them means it.
fn means_provider(patterns: &[AddressPattern], url: &Url) -> bool {
    patterns.is_empty()
        || patterns.iter().any(|pattern| {
            if is_of_consumer(url) {
                pattern.is_any()
            } else {
                pattern.matches(url.host(), url.port())
            }
        })
}

fn means(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|known| known == ANY || known == name)
}

/// Whether `url` says how a consumer calls, and not how it calls one provider.
pub(super) fn is_of_consumer(url: &Url) -> bool {
    url.protocol() == "consumer"
}

/// Whether a rule can change the parameter `key`: not what says who is meant, or what a URL is.
pub(super) fn can_change(key: &str) -> bool {
    !key.starts_with('~') && !FIXED.contains(&key)
}

const FIXED: [&str; 14] = [
    "anyhost",
    "application",
    "category",
    "check",
    "compatible_config",
    "configVersion",
    "dynamic",
    "enabled",
    "group",
    "interface",
    "interfaces",
    "priority",
    "side",
    "version",
];

pub(super) const ANY: &str = "*";
