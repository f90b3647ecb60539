//! Publishing metadata into a report, before anybody hears of its revision (`docs/spec/metadata.md` §4.2).

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    metadata::MetadataReport,
    registry::{RegistryError, RegistryErrorKind},
};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::ProviderOptions;
use crate::{error::MetadataError, jitter::EqualJitter, published::Published, reports::Reports};

/// Publishes into one report, and remembers what it has acknowledged.
pub(super) struct Publisher {
    report: Arc<dyn MetadataReport>,
    /// The id of the report, where consumers have to be told.
    cluster: Option<String>,
    application: String,
    timeout: Duration,
    acknowledged: BTreeSet<String>,
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
            timeout: options.timings.publish,
            acknowledged: BTreeSet::new(),
            trouble: None,
        })
    }

    /// The id of the report, if there are others.
    pub(super) fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Publishes what the report has not yet acknowledged of `current`, and tries for as long as it may take; once that
    /// is over, once a call, until a call succeeds.
    ///
    /// # Cancel safety
    ///
    /// Safe: the next call goes on where this one was.
    pub(super) async fn publish(
        &mut self,
        current: &[Arc<Published>],
        random: &mut fastrand::Rng,
    ) -> Result<(), NotPublished> {
        self.acknowledged
            .retain(|revision| current.iter().any(|one| one.revision() == revision));
        for published in current {
            if !self.acknowledged.contains(published.revision()) {
                self.publish_one(published, random).await?;
                self.acknowledged.insert(published.revision().to_owned());
            }
        }
        if self.trouble.take().is_some() {
            tracing::info!(report = %self.report.url().address(), "metadata is published again");
        }
        Ok(())
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
        let publish = self.report.publish_app(
            &self.application,
            published.revision(),
            published.json.clone(),
        );
        timeout_at(limit, publish).await.unwrap_or_else(|_| {
            let url = self.report.url();
            Err(RegistryError::new(
                format!(
                    "publish metadata of {} at revision {}",
                    self.application,
                    published.revision()
                ),
                format!("{}://{}", url.protocol(), url.address()),
                "no answer in time",
            ))
        })
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

const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait while others wait for it (`docs/spec/metadata.md` §4.5).
const QUICK: Duration = Duration::from_secs(2);

/// The longest wait when nobody does.
const SLOW: Duration = Duration::from_secs(30);
