//! What a consumer is shown of what stands in a registry, and why.

use std::collections::BTreeMap;

use dubbo_core::{explain::Step, registry::RegistrySnapshot, service::ServiceKey, url::Url};

use crate::matching::{self, Category};

/// What `consumer` sees of `standing`. `seen` says how the registry was read.
pub(super) fn snapshot<'a>(
    consumer: &Url,
    standing: impl IntoIterator<Item = (Category, &'a Url)>,
    seen: Step,
) -> RegistrySnapshot {
    let mut by_category: BTreeMap<&str, Vec<Url>> = BTreeMap::new();
    let mut providers = Vec::new();
    for (category, url) in standing {
        if category == Category::Providers {
            providers.push(url);
        } else if matching::matches(consumer, url) {
            by_category
                .entry(category.name())
                .or_default()
                .push(url.clone());
        }
    }
    let mut of = |category: Category| by_category.remove(category.name()).unwrap_or_default();
    let (found, steps) = providers_of(consumer, providers);
    let mut snapshot = RegistrySnapshot::of_providers(unique(found));
    snapshot.configurators = unique(of(Category::Configurators)).into();
    snapshot.routers = unique(of(Category::Routers)).into();
    if Category::Providers.is_wanted_by(consumer) {
        snapshot.steps = std::iter::once(seen).chain(steps).collect();
    }
    snapshot
}

/// Those of `providers` that are for `consumer`, and how they were chosen.
fn providers_of(consumer: &Url, providers: Vec<&Url>) -> (Vec<Url>, Vec<Step>) {
    let wanted = consumer.service_key();
    let total = providers.len();
    let mut steps = vec![Step::leaving(
        "registered",
        match total {
            0 => format!("nobody as a provider of {}", wanted.interface()),
            _ => format!("{total} as providers of {}", wanted.interface()),
        },
        total,
    )];
    if total == 0 {
        return (Vec::new(), steps);
    }
    let (matching, others): (Vec<_>, Vec<_>) = providers
        .into_iter()
        .partition(|url| wanted.wants(&url.service_key()));
    steps.push(Step::leaving(
        "group and version",
        if others.is_empty() {
            format!("all are of {wanted}")
        } else {
            format!("asked for is {wanted}; there are also {}", keys(&others))
        },
        matching.len(),
    ));
    let (on, off): (Vec<_>, Vec<_>) = matching
        .into_iter()
        .partition(|url| matching::is_enabled(consumer, url));
    if !off.is_empty() {
        let evidence = format!("{} switched off by `enabled=false`", off.len());
        steps.push(Step::leaving("enabled", evidence, on.len()));
    }
    (on.into_iter().cloned().collect(), steps)
}

/// The services that `urls` are of, and how many of each; the first few.
fn keys(urls: &[&Url]) -> String {
    let mut counts: BTreeMap<ServiceKey, usize> = BTreeMap::new();
    for url in urls {
        *counts.entry(url.service_key()).or_default() += 1;
    }
    let more = counts.len().saturating_sub(SHOWN);
    let mut shown: Vec<_> = counts
        .iter()
        .take(SHOWN)
        .map(|(key, count)| format!("{count} of {key}"))
        .collect();
    if more > 0 {
        shown.push(format!("{more} other services"));
    }
    shown.join(", ")
}

/// Each once: a server may have two spellings of a service, in both of which one provider stands.
fn unique(mut urls: Vec<Url>) -> Vec<Url> {
    let mut seen = std::collections::HashSet::new();
    urls.retain(|url| seen.insert(url.clone()));
    urls
}

/// How many services are named.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_say_where_the_providers_went() {
        let consumer: Url = "consumer://c/a.B?group=g&version=1".parse().expect("valid");
        let with = |more: usize| {
            let many = (0..more).map(move |n| format!("tri://h:9/a.B?group=x{n}"));
            many.collect::<Vec<_>>()
        };
        let none = "registered: nobody as a provider of a.B -> 0";
        for (providers, want) in [
            (vec![], vec![none]),
            (
                vec!["tri://h:1/a.B?group=g&version=1".to_owned()],
                vec![
                    "registered: 1 as providers of a.B -> 1",
                    "group and version: all are of g/a.B:1 -> 1",
                ],
            ),
            (
                vec![
                    "tri://h:1/a.B?group=g".to_owned(),
                    "tri://h:2/a.B?group=g&version=1&enabled=false".to_owned(),
                    "tri://h:3/a.B?group=g".to_owned(),
                ],
                vec![
                    "registered: 3 as providers of a.B -> 3",
                    "group and version: asked for is g/a.B:1; there are also 2 of g/a.B -> 1",
                    "enabled: 1 switched off by `enabled=false` -> 0",
                ],
            ),
            (
                with(7),
                vec![
                    "registered: 7 as providers of a.B -> 7",
                    "group and version: asked for is g/a.B:1; there are also 1 of x0/a.B, 1 of x1/a.B, \
                     1 of x2/a.B, 1 of x3/a.B, 1 of x4/a.B, 2 other services -> 0",
                ],
            ),
        ] {
            let urls: Vec<Url> = providers
                .iter()
                .map(|u| u.parse().expect("valid"))
                .collect();
            let standing = urls.iter().map(|url| (Category::Providers, url));
            let seen = Step::new("registry", "memory://local answers");
            let found = snapshot(&consumer, standing, seen);
            let steps: Vec<_> = found
                .steps
                .iter()
                .skip(1)
                .map(ToString::to_string)
                .collect();
            assert_eq!(steps, want);
        }
    }

    #[test]
    fn a_url_in_two_places_is_one() {
        let consumer: Url = "consumer://c/a.B".parse().expect("valid");
        let url: Url = "tri://h:1/a.B".parse().expect("valid");
        let standing = [&url, &url].map(|url| (Category::Providers, url));
        let found = snapshot(&consumer, standing, Step::new("registry", ""));
        assert_eq!(found.providers, [url]);
    }
}
