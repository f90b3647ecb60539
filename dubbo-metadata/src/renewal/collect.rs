//! Which revisions in a report are stale, and taking them away.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use dubbo_core::{metadata::CasOutcome, registry::RegistryError};
use tokio::time::sleep;

use super::{Renewal, revision, schedule::DAY};
use crate::{model::MetadataInfo, revision::Revision};

/// Why nothing was looked for.
#[derive(Debug)]
pub(super) enum NotCollected {
    /// The registry or the report has failed.
    Failed(RegistryError),
    /// Another instance does it today, or has done it.
    Taken,
    /// What the registry lists cannot be all that there is.
    Unknown(&'static str),
}

impl From<RegistryError> for NotCollected {
    fn from(error: RegistryError) -> Self {
        Self::Failed(error)
    }
}

/// A revision that seems to be stale.
struct Candidate {
    revision: String,
    /// What stood there at the first look.
    json: Bytes,
}

impl Renewal {
    /// Removes what is stale, at most once a day among all instances of the application, and tells what it was. In a dry
    /// run it tells what it would be, and writes nothing at all.
    ///
    /// # Cancel safety
    ///
    /// What was not removed yet stays, until another day.
    pub(super) async fn try_collect(&self) -> Result<Vec<String>, NotCollected> {
        let (last, ticket) = self.report.last_collection(&self.application).await?;
        let now = self.clock.now_ms();
        if last.is_some_and(|last| day(last) == day(now)) {
            return Err(NotCollected::Taken);
        }
        let listed = self.report.list_app(&self.application).await?;
        let referenced = self.referenced().await?;
        if !self.dry_run {
            let written = self
                .report
                .cas_last_collection(&self.application, now, ticket);
            if written.await? == CasOutcome::Conflict {
                return Err(NotCollected::Taken);
            }
        }

        let listed = listed.into_iter().map(|(revision, _)| revision);
        let candidates = self.candidates(listed, &referenced).await?;
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        sleep(BETWEEN_LOOKS).await;
        let referenced = self.referenced().await?;
        let mut removed = Vec::new();
        for candidate in candidates {
            let stays = referenced.contains(&candidate.revision)
                || self.history.get(&candidate.revision).is_some()
                || !self.is_unchanged(&candidate).await?;
            if stays {
                self.count("kept");
                continue;
            }
            if self.dry_run {
                self.count("would_remove");
            } else {
                self.report
                    .remove_app(&self.application, &candidate.revision)
                    .await?;
                self.count("removed");
            }
            removed.push(candidate.revision);
        }
        Ok(removed)
    }

    /// The revisions of all instances in the registry, among which have to be those of this process: a registry that does
    /// not list them is not to be believed.
    async fn referenced(&self) -> Result<BTreeSet<String>, NotCollected> {
        let listed = self.discovery.snapshot(&self.application).await?;
        let ids: BTreeSet<_> = listed.iter().map(|instance| instance.id()).collect();
        let own = self.instances.borrow();
        if own.is_empty() {
            return Err(NotCollected::Unknown("this instance is not registered"));
        }
        if own.iter().any(|instance| !ids.contains(&instance.id())) {
            return Err(NotCollected::Unknown(
                "the registry does not list this instance, which is registered",
            ));
        }
        let listed = listed.iter().map(|instance| &**instance);
        Ok(listed.chain(&**own).filter_map(revision).collect())
    }

    async fn candidates(
        &self,
        listed: impl Iterator<Item = String>,
        referenced: &BTreeSet<String>,
    ) -> Result<Vec<Candidate>, RegistryError> {
        let mut candidates = Vec::new();
        for revision in listed {
            let is_special = matches!(Revision::of(&revision), Revision::Empty | Revision::Unknown);
            let is_own = self.history.get(&revision).is_some();
            if is_special || is_own || referenced.contains(&revision) {
                continue;
            }
            let json = self.report.app(&self.application, &revision).await?;
            if let Some(json) = json
                && self.is_old(&json)
            {
                candidates.push(Candidate { revision, json });
            }
            if candidates.len() == AT_ONCE {
                break;
            }
        }
        Ok(candidates)
    }

    /// Whether `json` says that it was written long ago. What does not say when it was written is nobody's business.
    fn is_old(&self, json: &[u8]) -> bool {
        let written = MetadataInfo::from_json(json)
            .ok()
            .and_then(|info| u64::try_from(info.last_updated_ms?).ok())
            .filter(|written| *written > 0);
        let age = written.map(|written| self.clock.now_ms().saturating_sub(written));
        age.is_some_and(|age| Duration::from_millis(age) > self.settings.window)
    }

    async fn is_unchanged(&self, candidate: &Candidate) -> Result<bool, RegistryError> {
        let json = self.report.app(&self.application, &candidate.revision);
        Ok(json.await?.as_ref() == Some(&candidate.json))
    }

    fn count(&self, result: &'static str) {
        metrics::counter!(
            "dubbo_metadata_gc_total",
            "application" => self.application.clone(),
            "result" => result
        )
        .increment(1);
    }
}

/// The day, of UTC wherever the instances are: they have to agree on it.
fn day(ms: u64) -> u64 {
    ms / u64::try_from(DAY.as_millis()).expect("invariant: a day is short")
}

/// How long a revision has to be stale while somebody looks.
const BETWEEN_LOOKS: Duration = Duration::from_mins(1);

/// How many revisions are looked at twice. What is left over is for the next day.
const AT_ONCE: usize = 1_000;
