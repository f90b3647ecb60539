//! Keeping the metadata in a report fresh, and taking away what nobody refers to any more (`docs/spec/metadata.md` §4.3).
//!
//! A revision is removed when all of this is so: it was written long ago and by somebody who writes it again each day; the
//! registry, which answers, lists this very instance and no instance of that revision, twice with a minute in between;
//! and nobody has written it meanwhile. An outage looks like none of this.

mod collect;
mod schedule;
mod settings;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    discovery::{ServiceDiscovery, ServiceInstance},
    metadata::MetadataReport,
    registry::{RegistryError, RegistryErrorKind},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout_at},
};

pub(crate) use self::settings::Settings;
use self::{collect::NotCollected, schedule::DAY};
use crate::{
    clock::Clock,
    instance::{Storage, keys},
    jitter::EqualJitter,
    published::{History, Published},
    push::push,
};

/// The daily work of one provider in one report.
pub(crate) struct Renewal {
    pub(crate) application: String,
    pub(crate) report: Arc<dyn MetadataReport>,
    pub(crate) discovery: Arc<dyn ServiceDiscovery>,
    /// What this process answers for.
    pub(crate) history: Arc<History>,
    /// The instances of this process that are visible in the registry.
    pub(crate) instances: watch::Receiver<Arc<[ServiceInstance]>>,
    pub(crate) settings: Settings,
    pub(crate) dry_run: bool,
    pub(crate) clock: Clock,
    pub(crate) random: fastrand::Rng,
}

impl Renewal {
    /// Works each day until it is dropped.
    pub(crate) async fn run(mut self) {
        if self.settings.on_startup {
            // What is published now has the time of now: only the second half is left to do.
            if self.registered().await.is_none() {
                return;
            }
            self.collect().await;
        }
        let wait = schedule::until_first(&self.clock, &mut self.random);
        let mut next = Instant::now() + wait;
        loop {
            sleep_until(next).await;
            next += DAY;
            // A report that is out of reach for a day is tried with what is current then.
            let _ = timeout_at(next, self.renew()).await;
            self.collect().await;
        }
    }

    /// Waits until consumers are sent to the report.
    async fn registered(&mut self) -> Option<()> {
        let registered = self.instances.wait_for(|told| told.iter().any(is_remote));
        registered.await.ok().map(|_| ())
    }

    /// Writes what consumers are sent to the report for once more, until the report has taken all of it or refuses.
    async fn renew(&mut self) {
        let mut waits = EqualJitter::new(FIRST_RETRY, LAST_RETRY);
        let mut renewed = BTreeSet::new();
        while let Err(error) = self.renew_once(&mut renewed).await {
            if error.kind == RegistryErrorKind::Refused {
                tracing::warn!(application = self.application, %error, "metadata is not renewed");
                return;
            }
            let wait = waits.next_wait(&mut self.random);
            tracing::warn!(application = self.application, %error, ?wait, "metadata is not renewed yet");
            sleep(wait).await;
        }
        tracing::debug!(
            application = self.application,
            ?renewed,
            "metadata is renewed"
        );
    }

    async fn renew_once(&self, renewed: &mut BTreeSet<String>) -> Result<(), RegistryError> {
        for revision in self.remote_revisions() {
            if renewed.contains(&revision) {
                continue;
            }
            // Gone already: it is nobody's any more.
            let Some(published) = self.history.get(&revision) else {
                continue;
            };
            let json = stamped(&published, self.clock.now_ms());
            push(&*self.report, &self.application, &revision, json).await?;
            renewed.insert(revision);
        }
        Ok(())
    }

    fn remote_revisions(&self) -> BTreeSet<String> {
        let instances = self.instances.borrow();
        let remote = instances.iter().filter(|instance| is_remote(instance));
        remote.filter_map(revision).collect()
    }

    async fn collect(&self) {
        if !self.settings.collects {
            return;
        }
        let application = &self.application;
        match self.try_collect().await {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) if self.dry_run => tracing::info!(
                application,
                revisions = removed.join(", "),
                "stale metadata would be removed, if this were no dry run"
            ),
            Ok(removed) => tracing::info!(
                application,
                revisions = removed.join(", "),
                "stale metadata is removed"
            ),
            Err(NotCollected::Taken) => {
                tracing::debug!(
                    application,
                    "another instance looks for stale metadata today"
                );
            }
            Err(NotCollected::Unknown(why)) => tracing::warn!(
                application,
                why,
                "stale metadata is not looked for: what is referred to is not known for certain"
            ),
            Err(NotCollected::Failed(error)) if error.kind == RegistryErrorKind::Refused => {
                tracing::info!(application, %error, "stale metadata cannot be looked for");
            }
            Err(NotCollected::Failed(error)) => {
                tracing::warn!(application, %error, "stale metadata is not looked for");
            }
        }
    }
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal")
            .field("application", &self.application)
            .field("report", self.report.url())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// `published` as JSON that says when it was written.
pub(crate) fn stamped(published: &Published, now_ms: u64) -> bytes::Bytes {
    let mut info = (*published.info).clone();
    info.last_updated_ms = i64::try_from(now_ms).ok();
    info.to_json()
}

fn is_remote(instance: &ServiceInstance) -> bool {
    let said = instance.metadata.get(keys::STORAGE_TYPE);
    Storage::of(said) == Storage::Remote
}

fn revision(instance: &ServiceInstance) -> Option<String> {
    instance.metadata.get(keys::REVISION).map(str::to_owned)
}

/// Waits before a report that has failed is asked again.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(10);
