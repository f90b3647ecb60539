//! Publishing metadata into a report, before anybody hears of its revision (`docs/spec/metadata.md` §4.2).

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    metadata::MetadataReport,
    registry::{RegistryError, RegistryErrorKind},
};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::ProviderOptions;
use crate::{
    clock::Clock, error::MetadataError, jitter::EqualJitter, model::MetadataInfo,
    published::Published, push::push, renewal::stamped, reports::Reports,
};

/// Publishes into one report, and looks from time to time whether what it has acknowledged is still there: it may have
/// lost its data.
pub(super) struct Publisher {
    report: Arc<dyn MetadataReport>,
    /// The id of the report, where consumers have to be told.
    cluster: Option<String>,
    application: String,
    /// What is published says when it was, by this.
    stamp: Option<Clock>,
    timeout: Duration,
    /// By revision, with the time when it is to be looked for.
    acknowledged: BTreeMap<String, Instant>,
    /// Waits after looks that failed.
    looks: EqualJitter,
    trouble: Option<Trouble>,
}

impl Publisher {
    pub(super) fn new(options: &ProviderOptions) -> Result<Self, MetadataError> {
        let reports = Reports::new(options.registry.clone(), options.reports.clone());
        let (id, report) = reports
            .of(None)
            .map_err(|error| MetadataError::Report(error.to_string()))?;
        Ok(Self {
            report: Arc::clone(report),
            cluster: (options.reports.len() > 1).then(|| id.to_owned()),
            application: options.application.clone(),
            stamp: None,
            timeout: options.timings.publish,
            acknowledged: BTreeMap::new(),
            looks: EqualJitter::new(FIRST_WAIT, LOOK_RETRY),
            trouble: None,
        })
    }

    /// Says in what is published when it was, by `clock`.
    pub(super) fn stamps(&mut self, clock: Clock) {
        self.stamp = Some(clock);
    }

    /// Where it publishes.
    pub(super) fn report(&self) -> &Arc<dyn MetadataReport> {
        &self.report
    }

    /// The id of the report, if there are others.
    pub(super) fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Publishes what the report has not yet acknowledged of `current`, or has lost since, and tries for as long as it may
    /// take; once that is over, once a call, until a call succeeds. Returns when it is to be called again at the latest.
    ///
    /// # Cancel safety
    ///
    /// Safe: the next call goes on where this one was.
    pub(super) async fn publish(
        &mut self,
        current: &[Arc<Published>],
        random: &mut fastrand::Rng,
    ) -> Result<Option<Instant>, NotPublished> {
        self.acknowledged
            .retain(|revision, _| current.iter().any(|one| one.revision() == revision));
        for published in current {
            if !self.is_there(published, random).await {
                self.acknowledged.remove(published.revision());
                self.publish_one(published, random).await?;
                self.believe(published, random);
            }
        }
        if self.trouble.take().is_some() {
            tracing::info!(report = %self.report.url().address(), "metadata is published again");
        }
        Ok(self.acknowledged.values().min().copied())
    }

    /// Whether the report has `published`, for all that is known.
    async fn is_there(&mut self, published: &Published, random: &mut fastrand::Rng) -> bool {
        let revision = published.revision();
        match self.acknowledged.get(revision) {
            None => return false,
            Some(look) if Instant::now() < *look => return true,
            Some(_) => {}
        }
        let read = self.report.app(&self.application, revision);
        let read = timeout(self.timeout, read).await;
        let read = read.unwrap_or_else(|_| Err(self.no_answer("look for", revision)));
        match read {
            Ok(Some(json)) if is_usable(&json, revision) => {
                self.looks.reset();
                self.believe(published, random);
                true
            }
            Ok(_) => {
                tracing::warn!(
                    report = %self.report.url().address(), revision,
                    "the report has lost published metadata; publishing it again"
                );
                self.looks.reset();
                false
            }
            // Nothing says that it is gone.
            Err(error) => {
                tracing::debug!(%error, "whether metadata is still published is not known; looking again");
                let wait = self.looks.next_wait(random);
                self.acknowledged
                    .insert(revision.to_owned(), Instant::now() + wait);
                true
            }
        }
    }

    fn believe(&mut self, published: &Published, random: &mut fastrand::Rng) {
        let wait = EqualJitter::new(LOOK_AGAIN, LOOK_AGAIN).next_wait(random);
        let revision = published.revision().to_owned();
        self.acknowledged.insert(revision, Instant::now() + wait);
    }

    async fn publish_one(
        &mut self,
        published: &Published,
        random: &mut fastrand::Rng,
    ) -> Result<(), NotPublished> {
        loop {
            let limit = match &self.trouble {
                Some(trouble) if trouble.deadline > Instant::now() => trouble.deadline,
                _ => Instant::now() + self.timeout,
            };
            let error = match self.attempt(published, limit).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let trouble = self.trouble.get_or_insert_with(|| Trouble::until(limit));
            if error.kind == RegistryErrorKind::Refused {
                return Err(NotPublished { error, retry: None });
            }
            let retry = Instant::now() + trouble.quick.next_wait(random);
            if retry < trouble.deadline {
                tracing::debug!(%error, "publishing metadata failed; trying again");
                sleep_until(retry).await;
                continue;
            }
            sleep_until(trouble.deadline).await;
            return Err(NotPublished {
                error,
                retry: Some(Instant::now() + trouble.slow.next_wait(random)),
            });
        }
    }

    async fn attempt(&self, published: &Published, limit: Instant) -> Result<(), RegistryError> {
        let json = match &self.stamp {
            Some(clock) => stamped(published, clock.now_ms()),
            None => published.json.clone(),
        };
        let revision = published.revision();
        let publish = push(&*self.report, &self.application, revision, json);
        timeout_at(limit, publish)
            .await
            .unwrap_or_else(|_| Err(self.no_answer("publish", revision)))
    }

    fn no_answer(&self, what: &str, revision: &str) -> RegistryError {
        let url = self.report.url();
        RegistryError::new(
            format!(
                "{what} metadata of {} at revision {revision}",
                self.application
            ),
            url.origin(),
            "no answer in time",
        )
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Publisher").field(self.report.url()).finish()
    }
}

/// The report does not take the metadata.
#[derive(Debug)]
pub(super) struct NotPublished {
    pub(super) error: RegistryError,
    /// When to try again; never, if the report refuses what it is given.
    pub(super) retry: Option<Instant>,
}

/// A time in which publishing fails.
#[derive(Debug)]
struct Trouble {
    /// Until when others wait for it.
    deadline: Instant,
    quick: EqualJitter,
    slow: EqualJitter,
}

impl Trouble {
    fn until(deadline: Instant) -> Self {
        Self {
            deadline,
            quick: EqualJitter::new(FIRST_WAIT, QUICK),
            slow: EqualJitter::new(QUICK, SLOW),
        }
    }
}

/// Whether consumers who read `json` find `revision` in it.
fn is_usable(json: &[u8], revision: &str) -> bool {
    MetadataInfo::from_json(json).is_ok_and(|info| info.revision == revision)
}

const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait while others wait for it (`docs/spec/metadata.md` §4.5).
const QUICK: Duration = Duration::from_secs(2);

/// The longest wait when nobody does.
const SLOW: Duration = Duration::from_secs(30);

/// How long what was published is believed to stay there, at most; half of that at least.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// The longest wait before a report that could not be looked into is asked again.
const LOOK_RETRY: Duration = Duration::from_secs(5);
