//! The providers of one reference, by whichever of two paths a migration leads.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use dubbo_core::{
    cluster::{Candidates, Directory, NodeList},
    explain::Step,
    invocation::Invocation,
    registry::RegistryError,
    service::ServiceKey,
    status::Status,
    url::Url,
};
use tokio::{
    sync::{Mutex, watch},
    task::JoinSet,
};

use super::{
    Controller, ReferenceStatus, Roads,
    choice::{Chance, Choice},
    driver::Driver,
    path::Both,
    terms::{Terms, TermsError},
    traffic::Traffic,
};
use crate::directory::availability::Availability;

/// A directory over two others, one by interface and one by application, of which the migration's rule says which takes
/// a call (`docs/spec/metadata.md` §7.5).
///
/// A task follows the rules of the [`Controller`] and the lists of both; calls read what it has decided. Each of the two
/// is there only while it is needed: the one that a forced step leaves is closed half a minute later.
pub struct MigrationDirectory {
    shared: Arc<Shared>,
    availability: Availability,
    stop: watch::Sender<bool>,
    task: Mutex<JoinSet<()>>,
}

/// What the task writes and calls read.
pub(super) struct Shared {
    pub(super) subject: Subject,
    pub(super) choice: ArcSwap<Choice>,
    pub(super) status: ArcSwap<ReferenceStatus>,
    pub(super) traffic: Both<Arc<Traffic>>,
}

/// The reference that migrates.
pub(super) struct Subject {
    pub(super) consumer: Url,
    pub(super) service: ServiceKey,
    /// What messages call the registry.
    pub(super) registry: String,
    /// What the reference says itself.
    pub(super) terms: Terms,
    pub(super) chance: Chance,
}

impl MigrationDirectory {
    /// Follows the providers that `consumer` asks `registry` for, by the paths that its migration needs now. When it
    /// returns, the first lists have been taken in.
    ///
    /// The consumer's parameters `migration.*` are its terms ([`Terms::of_consumer`]); `migration.sticky-key` names the
    /// attachment by whose value, instead of by chance, a `proportion` of the calls is chosen.
    ///
    /// # Errors
    ///
    /// A parameter is wrong, or a path cannot be followed at all.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn follow(
        consumer: Url,
        registry: &Url,
        controller: &Arc<Controller>,
        roads: Arc<dyn Roads>,
    ) -> Result<Self, MigrationError> {
        let terms = Terms::of_consumer(&consumer)?;
        let sticky_key = consumer.param("migration.sticky-key").map(str::to_owned);
        let subject = Subject {
            service: consumer.service_key(),
            registry: format!("registry {}://{}", registry.protocol(), registry.address()),
            terms,
            chance: Chance::new(controller.seed(), sticky_key),
            consumer,
        };
        controller.start().await;
        let (stop, stopped) = watch::channel(false);
        let (driver, shared) = Driver::start(subject, controller, roads, stopped).await?;
        controller.enroll(&shared);
        let mut task = JoinSet::new();
        task.spawn(driver.run());
        let watched = Arc::clone(&shared);
        Ok(Self {
            shared,
            availability: Availability::new(move || watched.choice.load().is_available()),
            stop,
            task: Mutex::new(task),
        })
    }

    /// How far the migration of this reference is.
    pub fn status(&self) -> ReferenceStatus {
        self.shared.status()
    }
}

/// A reference that cannot be migrated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// A parameter of the reference is wrong.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// A path cannot be followed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl Shared {
    pub(super) fn status(&self) -> ReferenceStatus {
        let mut status = ReferenceStatus::clone(&self.status.load());
        status.application_calls = self.traffic.application.calls();
        status.interface_calls = self.traffic.interface.calls();
        status
    }

    /// The error of a call for which no path has anybody.
    fn nobody(&self, choice: &Choice, last: Option<&Status>) -> Status {
        let reasons = choice.open().map(|(path, road)| {
            let why = road.why_unavailable();
            let last = || last.map(|status| status.message().to_owned());
            let why = why
                .or_else(last)
                .unwrap_or_else(|| "it is being opened".to_owned());
            format!("by {path}: {why}")
        });
        let reasons: Vec<_> = reasons.collect();
        let reasons = if reasons.is_empty() {
            format!("{} is being asked", self.subject.registry)
        } else {
            reasons.join("; ")
        };
        let terms = &choice.terms;
        let step = if terms.step.is_forced() {
            format!(
                " ({} says {}, so there is no other way)",
                terms.said_by, terms.step
            )
        } else {
            String::new()
        };
        Status::unavailable(format!(
            "no provider available for {}: {reasons}{step}",
            self.subject.service
        ))
        .not_processed()
    }
}

#[async_trait]
impl Directory for MigrationDirectory {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        let shared = &self.shared;
        let choice = shared.choice.load();
        let Some((path, road)) = choice.pick(invocation, &shared.subject.chance) else {
            return Err(shared.nobody(&choice, None));
        };
        let refused = match road.list(invocation) {
            Ok(candidates) => {
                shared.traffic.get(path).count();
                return Ok(candidates);
            }
            Err(refused) => refused,
        };
        // Routers may leave nobody of one path.
        if let Some(other) = choice.roads.get(path.other())
            && let Ok(candidates) = other.list(invocation)
        {
            shared.traffic.get(path.other()).count();
            return Ok(candidates);
        }
        Err(shared.nobody(&choice, Some(&refused)))
    }

    fn nodes(&self) -> Arc<NodeList> {
        let choice = self.shared.choice.load();
        let leading = choice.leading();
        leading.map_or_else(Arc::default, |(_, road)| road.nodes())
    }

    fn why_unavailable(&self) -> Option<String> {
        let choice = self.shared.choice.load();
        if choice.is_available() {
            return None;
        }
        let reasons = choice.open().map(|(path, road)| {
            let why = road
                .why_unavailable()
                .unwrap_or_else(|| "one came just now".to_owned());
            format!("by {path}: {why}")
        });
        let reasons: Vec<_> = reasons.collect();
        if reasons.is_empty() {
            return Some(format!("{} is being asked", self.shared.subject.registry));
        }
        Some(reasons.join("; "))
    }

    /// The migration, then the steps of each path; those of the path that calls go by come last.
    fn explain(&self, call: &Invocation) -> Vec<Step> {
        let status = self.shared.status();
        let mut evidence = format!("{}, as {} says", status.step, status.said_by);
        if let Some(wanted) = status.wanted {
            let refused = status.refused.as_ref();
            let why = refused.map_or_else(
                || "it is waited for".to_owned(),
                |why| format!("it is refused: {why}"),
            );
            evidence = format!("{evidence}, not yet {wanted}: {why}");
        }
        let choice = self.shared.choice.load();
        let Some((path, road)) = choice.leading() else {
            return vec![Step::leaving("migration", evidence, 0)];
        };
        evidence = format!("{evidence}; calls go by {path}: {}", status.why);
        if path != status.preferred {
            evidence = format!(
                "{evidence}; but no provider can be called by {}",
                path.other()
            );
        }
        let mut steps = vec![Step::new("migration", evidence)];
        if let Some(other) = choice.roads.get(path.other()) {
            steps.push(named(path.other()));
            steps.extend(other.explain(call));
        }
        steps.push(named(path));
        steps.extend(road.explain(call));
        steps
    }

    fn consumer_url(&self) -> &Url {
        &self.shared.subject.consumer
    }

    fn origin(&self) -> String {
        self.shared.subject.registry.clone()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        self.availability.watch()
    }

    async fn close(&self) {
        self.stop.send_replace(true);
        let mut task = self.task.lock().await;
        while task.join_next().await.is_some() {}
    }
}

impl fmt::Debug for MigrationDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrationDirectory")
            .field("consumer", &self.shared.subject.consumer)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

fn named(path: super::Path) -> Step {
    Step::new("path", format!("by {path}"))
}
