//! Override rules as URLs: what registries hold, and what config centers may hold as a list.

use std::sync::Arc;

use dubbo_core::{
    url::Url,
    yaml::{Location, Problem, ProblemKind, Problems, Value, parse},
};

use super::{
    Configurators,
    item::{ANY, Effect, Item, Override, Whose, can_change},
    matching::Match,
    rule::RULE,
};
use crate::rules::{AddressPattern, RuleError};

impl Configurators {
    /// What `override://` and `absent://` URLs say, such as those of a registry; `empty://` among them takes them all back.
    ///
    /// One that is no override is left out, with a warning: others must not suffer from it.
    pub fn of_urls(urls: &[Url]) -> Self {
        if urls.iter().any(|url| url.protocol() == EMPTY) {
            return Self::default();
        }
        let read = urls.iter().filter_map(|url| {
            one(url).unwrap_or_else(|reason| {
                tracing::warn!(rule = ?url, reason, "an override rule is left out");
                None
            })
        });
        Self::sorted(read.collect())
    }
}

/// Reads a JSON list of URLs.
pub(super) fn list(text: &str) -> Result<Vec<Url>, RuleError> {
    let mut problems = Problems::default();
    let document = parse(RULE, text, &mut problems);
    let mut urls = Vec::new();
    let items = document.as_ref().map(|document| &document.value);
    if let Some(Value::Seq(items)) = items {
        for item in items {
            let mut refuse = |message: String| {
                let at: Location = item.at.clone();
                problems.error(Problem::new(ProblemKind::Type, at, "", message));
            };
            let Some(text) = item.as_text() else {
                refuse(format!("expected a URL, found {}", item.kind()));
                continue;
            };
            match text.parse::<Url>() {
                Ok(url) => match one(&url) {
                    Ok(_) => urls.push(url),
                    Err(reason) => refuse(format!("`{text}` is no override: {reason}")),
                },
                Err(error) => refuse(format!("`{text}` is no URL: {error}")),
            }
        }
    }
    if problems.has_errors() {
        return Err(RuleError::of(problems.into_parts().0));
    }
    Ok(urls)
}

/// What `url` changes; nothing if it is switched off.
fn one(url: &Url) -> Result<Option<Override>, String> {
    let effect = match url.protocol() {
        OVERRIDE => Effect::Replace,
        ABSENT => Effect::FillGaps,
        EMPTY => return Ok(None),
        other => return Err(format!("its protocol is `{other}`")),
    };
    let params = || url.params().filter(|(key, _)| *key != "anyhost");
    if url.param("enabled") == Some("false") || params().next().is_none() {
        return Ok(None);
    }
    let address = AddressPattern::parse(&url.address())?;
    let whose = match (url.param("configVersion"), url.param("side")) {
        (None | Some(""), _) => Whose::ByAddress,
        (Some(_), Some("consumer")) => Whose::Consumers,
        (Some(_), Some("provider")) => Whose::Providers,
        (Some(_), _) => {
            return Err(
                "it has a `configVersion` and no `side`, so that it is nobody's".to_owned(),
            );
        }
    };
    let provider_addresses = url
        .param("providerAddresses")
        .unwrap_or_default()
        .split(',');
    let provider_addresses = provider_addresses.filter(|address| !address.trim().is_empty());
    let application = url
        .param("application")
        .filter(|name| !["", ANY].contains(name));
    let mut conditions: Vec<_> = params()
        .filter_map(|(key, value)| Some((key.strip_prefix('~')?.to_owned(), value.to_owned())))
        .collect();
    if let (Whose::ByAddress, Some(side)) = (whose, url.param("side")) {
        conditions.push(("side".to_owned(), side.to_owned()));
    }
    let changed = params().filter(|(key, _)| can_change(key) && *key != "providerAddresses");
    let service = url.service_key();
    Ok(Some(Override {
        address,
        item: Arc::new(Item {
            effect,
            whose,
            provider_addresses: provider_addresses
                .map(AddressPattern::parse)
                .collect::<Result<_, _>>()?,
            applications: application.map(str::to_owned).into_iter().collect(),
            services: (service.interface() != ANY)
                .then(|| service.clone())
                .into_iter()
                .collect(),
            matching: Match::default(),
            conditions,
            priority: url
                .param("priority")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
            params: changed
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        }),
    }))
}

const OVERRIDE: &str = "override";
const ABSENT: &str = "absent";

/// Java's way of listing none.
const EMPTY: &str = "empty";
