//! Override rules as they are kept in config centers.

use std::sync::Arc;

use dubbo_core::{
    service::ServiceKey,
    yaml::{ProblemKind, Section},
};

use super::{
    item::{ANY, Effect, Item, Override, Whose, can_change},
    matching::Match,
    raw,
};
use crate::rules::{AddressPattern, RuleError, key::Subject, read};

/// What overrides URLs: one rule, or what a registry holds for one service (`docs/spec/cluster.md` §5).
#[derive(Debug, Clone, Default)]
pub struct Configurators {
    /// In the order in which they are applied.
    pub(super) overrides: Vec<Override>,
}

impl Configurators {
    /// Reads the rule that is kept for `subject`: YAML, or a list of `override://` and `absent://` URLs in JSON.
    ///
    /// # Errors
    ///
    /// All that is wrong with it, with line and column.
    pub fn parse(subject: Subject<'_>, text: &str) -> Result<Self, RuleError> {
        if text.trim_start().starts_with('[') {
            return raw::list(text).map(|urls| Self::of_urls(&urls));
        }
        let overrides = read(RULE, text, |s| rule(s, subject))?;
        Ok(Self::sorted(overrides))
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.overrides.is_empty()
    }

    /// In Dubbo Java's order: by address, then by priority.
    pub(super) fn sorted(mut overrides: Vec<Override>) -> Self {
        overrides.sort_by(|a, b| {
            let place = |it: &Override| (it.address.as_str().to_owned(), it.item.priority);
            place(a).cmp(&place(b))
        });
        Self { overrides }
    }
}

fn rule(s: &mut Section<'_, '_>, subject: Subject<'_>) -> Vec<Override> {
    let has_match = s.parse(
        "configVersion",
        "`v2.7` or `v3.0`; what newer ones mean is not known",
        |text| match text {
            _ if text.starts_with("v3.0") => Some(true),
            _ if text.starts_with("v2.") => Some(false),
            _ => None,
        },
    );
    let scope = s.choice("scope", &[(APPLICATION, APPLICATION), (SERVICE, SERVICE)]);
    let key = s.string("key");
    let is_enabled = s.bool("enabled").unwrap_or(true);
    let configs = s.items("configs", |s| config(s, subject, has_match == Some(true)));
    if let Some(reason) = strays(subject, scope, key.as_deref()) {
        tracing::warn!(
            reason,
            "an override rule is for somebody else than where it is kept; it is left out"
        );
        return Vec::new();
    }
    let configs = configs.into_iter().flatten();
    let enabled = configs.filter(|config| config.is_enabled.unwrap_or(is_enabled));
    enabled
        .flat_map(|config| {
            let item = Arc::new(config.item);
            config.addresses.into_iter().map(move |address| Override {
                address,
                item: Arc::clone(&item),
            })
        })
        .collect()
}

/// One entry of `configs`.
struct Config {
    addresses: Vec<AddressPattern>,
    item: Item,
    /// `None`: as the rule is.
    is_enabled: Option<bool>,
}

fn config(s: &mut Section<'_, '_>, subject: Subject<'_>, has_match: bool) -> Option<Config> {
    let side = s.choice(
        "side",
        &[
            ("consumer", Whose::Consumers),
            ("provider", Whose::Providers),
        ],
    );
    if side.is_none() {
        s.error(
            "side",
            ProblemKind::Missing,
            "needs `consumer` or `provider`: whose options change",
        );
    }
    let mut addresses = addresses(s, "addresses");
    if addresses.is_empty() {
        addresses.extend(AddressPattern::parse(ANY));
    }
    let provider_addresses = self::addresses(s, "providerAddresses");
    let (services, applications) = (s.list("services"), s.list("applications"));
    let is_own = s.string("type").is_some_and(|kind| kind != "general");
    let is_enabled = s.bool("enabled").unwrap_or(true);
    let matching = if has_match {
        s.section("match", Match::read)
    } else {
        s.no_effect("match", "it takes `configVersion: v3.0`");
        Match::default()
    };
    let all = s.texts("parameters");
    // What is there and cannot be read has been told of.
    let is_there = s
        .node("parameters")
        .is_some_and(|node| node.as_map().is_none_or(|map| map.iter().next().is_some()));
    if all.is_empty() && !is_there {
        s.error(
            "parameters",
            ProblemKind::Missing,
            "needs at least one parameter to change",
        );
    }
    let conditions = all.iter().filter_map(|(key, value)| {
        let key = key.strip_prefix('~')?;
        Some((key.to_owned(), value.clone()))
    });
    let conditions = conditions.collect();
    let params = all.iter().filter(|(key, _)| can_change(key));
    let params = params.map(|(key, value)| (key.as_str().into(), value.as_str().into()));
    let params = params.collect();
    // The one is for a rule that is kept for a service, the other for one that is kept for an application.
    let (services, applications) = match subject {
        Subject::Application(_) => {
            s.no_effect("applications", "the rule is that of one application");
            (services.unwrap_or_default(), Vec::new())
        }
        Subject::Service(_) => {
            s.no_effect("services", "the rule is that of one service");
            (Vec::new(), applications.unwrap_or_default())
        }
    };
    Some(Config {
        addresses,
        item: Item {
            effect: Effect::Replace,
            whose: side?,
            provider_addresses,
            applications,
            services: self::services(s, services),
            matching,
            conditions,
            priority: 0,
            params,
        },
        is_enabled: is_own.then_some(is_enabled),
    })
}

fn addresses(s: &mut Section<'_, '_>, key: &'static str) -> Vec<AddressPattern> {
    let mut read = Vec::new();
    for text in s.list(key).unwrap_or_default() {
        match AddressPattern::parse(&text) {
            Ok(pattern) => read.push(pattern),
            Err(error) => s.error(key, ProblemKind::Type, error),
        }
    }
    read
}

/// None means all.
fn services(s: &mut Section<'_, '_>, names: Vec<String>) -> Vec<ServiceKey> {
    if names.iter().any(|name| name == ANY) {
        return Vec::new();
    }
    let mut read = Vec::new();
    for name in names {
        match name.parse() {
            Ok(key) => read.push(key),
            Err(_) => s.error(
                "services",
                ProblemKind::Type,
                format!("`{name}` is no service: `[group/]interface[:version]`"),
            ),
        }
    }
    read
}

/// Why a rule with this scope and key is not meant for `subject`, if so. What it does not say, its place does.
fn strays(subject: Subject<'_>, scope: Option<&str>, key: Option<&str>) -> Option<String> {
    let key = key.filter(|key| !key.is_empty());
    let (kind, name) = match subject {
        Subject::Application(name) => (APPLICATION, name.to_owned()),
        Subject::Service(service) => (SERVICE, service.to_string()),
    };
    if let Some(scope) = scope.filter(|scope| *scope != kind) {
        return Some(format!(
            "its scope is `{scope}`, and it is kept for the {kind} {name}"
        ));
    }
    let is_meant = match subject {
        Subject::Application(name) => key.is_none_or(|key| key == name),
        Subject::Service(service) => key.is_none_or(|key| names(key, service)),
    };
    (!is_meant).then(|| {
        let key = key.unwrap_or_default();
        format!("its key is `{key}`, and it is kept for the {kind} {name}")
    })
}

/// Whether `key`, `[group/]interface[:version[:group]]`, names `service`. What it leaves out may be anything: consoles write
/// the interface alone.
fn names(key: &str, service: &ServiceKey) -> bool {
    let (group, rest) = key
        .split_once('/')
        .map_or((None, key), |(group, rest)| (Some(group), rest));
    let mut parts = rest.split(':');
    let interface = parts.next();
    let (version, last) = (parts.next(), parts.next());
    let is = |said: Option<&str>, has: Option<&str>| {
        said.is_none_or(|said| said.is_empty() || said == has.unwrap_or_default())
    };
    interface == Some(service.interface())
        && is(
            version.filter(|version| *version != "0.0.0"),
            service.version(),
        )
        && is(group.or(last), service.group())
}

/// What messages call the text.
pub(super) const RULE: &str = "rule";

const APPLICATION: &str = "application";
const SERVICE: &str = "service";
