//! Why there is a provider or none, step by step.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use dubbo_cluster::{migration::Path, router::Request};
use dubbo_core::{
    cluster::Directory, explain::Step, invocation::Invocation, service::ServiceKey, url::Url,
};

use super::{Inner, registries::NamedRegistry};
use crate::{config::ReferenceConfig, error::Error};

/// How the providers of one service were found, or were not: the answer of [`Instance::explain`](super::Instance::explain).
///
/// Its text has a line for each step.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explanation {
    /// The service.
    pub service: ServiceKey,
    /// One for each registry of each reference, or for the direct URLs of one. For a registry that is asked both ways and
    /// that there is no reference for, one for each way.
    pub roads: Vec<Road>,
}

/// How providers were looked for in one place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Road {
    /// Who names the providers, such as `registry nacos://10.0.0.1:8848`.
    pub origin: String,
    /// The steps, from the question to those that can be called.
    pub steps: Vec<Step>,
}

impl Explanation {
    /// Whether a call would find a provider.
    pub fn is_available(&self) -> bool {
        self.roads.iter().any(|road| road.emptied().is_none())
    }
}

impl Road {
    /// The step at which nothing was left, if nothing was left in the end. Applications and interfaces are two ways to one
    /// end: what was not found by the ones may have been found by the others.
    pub fn emptied(&self) -> Option<&Step> {
        let end = self.steps.iter().rfind(|step| step.left.is_some())?;
        let steps = end.is_empty().then_some(&self.steps)?;
        steps.iter().find(|step| step.is_empty())
    }

    fn of(directory: &dyn Directory, call: &Invocation) -> Self {
        Self {
            origin: directory.origin(),
            steps: directory.explain(call),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_available() {
            "can be called"
        } else {
            "has no provider that can be called"
        };
        write!(f, "{} {verdict}", self.service)?;
        if self.roads.is_empty() {
            f.write_str("\n  there is no reference to it, and no registry to ask")?;
        }
        for road in &self.roads {
            write!(f, "\n{road}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Road {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", self.origin)?;
        let emptied = self.emptied();
        for step in &self.steps {
            let here = if emptied.is_some_and(|emptied| std::ptr::eq(emptied, step)) {
                "  <- here"
            } else {
                ""
            };
            write!(f, "\n    {step}{here}")?;
        }
        Ok(())
    }
}

impl Inner {
    /// Explains `service` for a call that no rule can tell from others: without arguments, attachments, and a name of its
    /// method.
    pub(super) async fn explain(&self, service: &str) -> Result<Explanation, Error> {
        let key: ServiceKey = service.parse().map_err(|error| Error::Refer {
            service: ServiceKey::new(service),
            reason: format!("{error}"),
        })?;
        let roads = self.roads(&key, &Request::new(key.interface(), "").invocation());
        self.explained(key, roads).await
    }

    /// The way of each reference to `service`, for `call`.
    pub(super) fn roads(&self, service: &ServiceKey, call: &Invocation) -> Vec<Road> {
        let directories = self.directories_of(service);
        directories
            .iter()
            .map(|directory| Road::of(&**directory, call))
            .collect()
    }

    /// Of a service that there is no reference to, the registries are asked.
    pub(super) async fn explained(
        &self,
        service: ServiceKey,
        mut roads: Vec<Road>,
    ) -> Result<Explanation, Error> {
        if roads.is_empty() {
            roads = self.ask(&service).await?;
        }
        Ok(Explanation { service, roads })
    }

    fn directories_of(&self, service: &ServiceKey) -> Vec<Arc<dyn Directory>> {
        let running = self.running.lock();
        let references = running.references.iter();
        let of_service = references.filter(|reference| reference.service == *service);
        of_service
            .flat_map(|reference| reference.directories.iter().filter_map(Weak::upgrade))
            .collect()
    }

    /// Looks for the providers of a service that nothing here refers to.
    async fn ask(&self, service: &ServiceKey) -> Result<Vec<Road>, Error> {
        let mut config = ReferenceConfig::new();
        config.group = service.group().map(str::to_owned);
        config.version = service.version().map(str::to_owned);
        self.config.complete_reference(&mut config);
        let consumer = self.consumer_url(&config, service.interface());
        let mut roads = Vec::new();
        for (_, registry) in self.registries.chosen(config.registry_ids.as_deref()) {
            let only = registry.only_path();
            let paths = Path::BOTH.into_iter();
            let paths = paths.filter(|path| only.is_none_or(|only| only == *path));
            for path in paths {
                roads.push(self.ask_registry(registry, path, &consumer).await?);
            }
        }
        Ok(roads)
    }

    async fn ask_registry(
        &self,
        registry: &NamedRegistry,
        path: Path,
        consumer: &Url,
    ) -> Result<Road, Error> {
        let mut subscription = registry.subscribe(path, consumer).await?;
        let steps = match subscription.current().state {
            Ok(snapshot) => {
                let listed = snapshot.providers.len();
                let mut steps = vec![Step::new(
                    "registry",
                    format!("{} answers", registry.name()),
                )];
                steps.extend(snapshot.steps.iter().cloned());
                steps.push(Step::leaving("listed", format!("{listed} listed"), listed));
                steps
            }
            Err(error) if !error.steps.is_empty() => error.steps.to_vec(),
            Err(error) => vec![Step::leaving("registry", error.to_string(), 0)],
        };
        let origin = if registry.only_path().is_none() {
            format!("{} by {path}", registry.name())
        } else {
            registry.name()
        };
        Ok(Road { origin, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_what_is_left_in_the_end() {
        for (left, want) in [
            (&[][..], "can"),
            (&[("registry", None)], "can"),
            (&[("mapping", Some(1)), ("available", Some(1))], "can"),
            (
                &[
                    ("mapping", Some(0)),
                    ("registered", Some(1)),
                    ("available", Some(1)),
                ],
                "can",
            ),
            (
                &[
                    ("mapping", Some(1)),
                    ("instances", Some(0)),
                    ("available", Some(0)),
                ],
                "not: instances",
            ),
            (&[("registry", Some(0))], "not: registry"),
            (
                &[("listed", Some(1)), ("available", Some(0)), ("note", None)],
                "not: available",
            ),
        ] {
            let step = |&(name, left)| match left {
                Some(left) => Step::leaving(name, "x", left),
                None => Step::new(name, "x"),
            };
            let explanation = Explanation {
                service: ServiceKey::new("a.B"),
                roads: vec![Road {
                    origin: "registry r://h".to_owned(),
                    steps: left.iter().map(step).collect(),
                }],
            };
            let text = explanation.to_string();
            let marked = text.lines().find(|line| line.ends_with("<- here"));
            match want.strip_prefix("not: ") {
                None => assert!(
                    text.starts_with("a.B can be called") && marked.is_none(),
                    "{text}"
                ),
                Some(step) => {
                    assert!(text.starts_with("a.B has no provider"), "{text}");
                    assert!(marked.is_some_and(|line| line.contains(step)), "{text}");
                }
            }
            assert_eq!(explanation.is_available(), want == "can");
        }
    }
}
