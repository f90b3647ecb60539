//! Getting the metadata of one revision: from whom, in which order, and what is believed.

use std::{
    collections::{BTreeSet, HashMap},
    error::Error,
    fmt,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dubbo_core::{discovery::ServiceInstance, metadata::MetadataReport, registry::RegistryError};
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep, timeout},
};

use super::{
    Fetch, FetchError, metrics,
    options::{ConsumerOptions, FetchSlots},
    view::said,
};
use crate::{
    error::MetadataError,
    instance::{Storage, keys},
    model::MetadataInfo,
    reports::{NoReport, Reports},
    revision::Revision,
};

/// Gets the metadata of revisions, from reports and instances.
pub(super) struct Loader {
    fetch: Arc<dyn Fetch>,
    reports: Arc<Reports>,
    timeout: Duration,
    own: Semaphore,
    shared: FetchSlots,
    asked: AtomicU64,
    failed: AtomicU64,
}

impl Loader {
    pub(super) fn new(options: &ConsumerOptions, reports: Arc<Reports>) -> Self {
        Self {
            fetch: Arc::clone(&options.fetch),
            reports,
            timeout: options.fetch_timeout,
            own: Semaphore::new(options.fetch_concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            shared: options.fetch_slots.clone(),
            asked: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// How often instances and reports were asked, and how often in vain.
    pub(super) fn counts(&self) -> (u64, u64) {
        (
            self.asked.load(Ordering::Relaxed),
            self.failed.load(Ordering::Relaxed),
        )
    }

    /// One round: the report if an instance keeps its metadata there, then up to three instances. When all of those
    /// fail, the report after all: Java providers may publish there what they also tell themselves.
    pub(super) async fn load(
        &self,
        wanted: &Wanted,
        candidates: &[Arc<ServiceInstance>],
        failures: &mut Failures,
        random: &mut fastrand::Rng,
    ) -> Result<MetadataInfo, LoadError> {
        let mut attempts = Vec::new();
        let clusters: BTreeSet<Option<&str>> = candidates
            .iter()
            .filter(|instance| is_remote(instance))
            .map(|instance| said(instance, keys::CLUSTER))
            .collect();
        for cluster in &clusters {
            match self.read_report(wanted, *cluster).await {
                Ok(info) => return Ok(info),
                Err(attempt) => attempts.push(attempt),
            }
        }
        let askable: Vec<_> = candidates
            .iter()
            .filter(|instance| !is_remote(instance) || serves_metadata(instance))
            .collect();
        let chosen = failures.choose(askable, random);
        match self.ask_some(wanted, chosen, failures).await {
            Ok(info) => return Ok(info),
            Err(failed) => attempts.extend(failed),
        }
        if clusters.is_empty() && self.reports.of(None).is_ok() {
            match self.read_report(wanted, None).await {
                Ok(info) => return Ok(info),
                // That there is nothing is what is to be expected.
                Err(Attempt {
                    error: AttemptError::NotStored,
                    ..
                }) => {}
                Err(attempt) => attempts.push(attempt),
            }
        }
        Err(LoadError(attempts))
    }

    /// Asks one instance after another until one answers well. The next one is asked when one has failed, and also when
    /// all are silent: the first good answer counts, and the others are not waited for.
    async fn ask_some(
        &self,
        wanted: &Wanted,
        instances: Vec<&Arc<ServiceInstance>>,
        failures: &mut Failures,
    ) -> Result<MetadataInfo, Vec<Attempt>> {
        let mut failed = Vec::new();
        let mut good = |answer: Result<MetadataInfo, Attempt>| {
            answer
                .map_err(|attempt| {
                    failures.note(&attempt.whom);
                    failed.push(attempt);
                })
                .ok()
        };
        let mut asked = FuturesUnordered::new();
        for instance in instances {
            // Whoever waits for a turn is not silent.
            let turn = self.turn();
            tokio::pin!(turn);
            let turn = loop {
                tokio::select! {
                    biased;
                    Some(answer) = asked.next() => if let Some(info) = good(answer) {
                        return Ok(info);
                    },
                    turn = &mut turn => break turn,
                }
            };
            asked.push(self.ask(turn, wanted, instance));
            tokio::select! {
                biased;
                Some(answer) = asked.next() => if let Some(info) = good(answer) {
                    return Ok(info);
                },
                () = sleep(SILENCE) => {}
            }
        }
        while let Some(answer) = asked.next().await {
            if let Some(info) = good(answer) {
                return Ok(info);
            }
        }
        Err(failed)
    }

    async fn ask(
        &self,
        turn: Turn<'_>,
        wanted: &Wanted,
        instance: &ServiceInstance,
    ) -> Result<MetadataInfo, Attempt> {
        let asking = async {
            let answer = self.fetch.fetch(instance, &wanted.revision).await;
            wanted.verified(answer.map_err(AttemptError::Fetch)?)
        };
        let asked = Asked::new(self, wanted, "instance");
        self.limited(turn, asked, asking)
            .await
            .map_err(|error| Attempt {
                whom: instance.id(),
                error,
            })
    }

    async fn read_report(
        &self,
        wanted: &Wanted,
        cluster: Option<&str>,
    ) -> Result<MetadataInfo, Attempt> {
        let (id, report) = self.reports.of(cluster).map_err(|error| Attempt {
            whom: "metadata report".to_owned(),
            error: AttemptError::NoReport(error),
        })?;
        let turn = self.turn().await;
        let asked = Asked::new(self, wanted, "report");
        self.limited(turn, asked, read(report, wanted))
            .await
            .map_err(|error| Attempt {
                whom: format!("metadata report {id}"),
                error,
            })
    }

    /// Waits until few enough are asked at once.
    async fn turn(&self) -> Turn<'_> {
        // Nobody closes them, so waiting cannot fail.
        let own = self.own.acquire().await.ok();
        let shared = self.shared.0.acquire().await.ok();
        Turn {
            _own: own,
            _shared: shared,
        }
    }

    /// Asks within the time limit.
    async fn limited(
        &self,
        _turn: Turn<'_>,
        mut asked: Asked<'_>,
        asking: impl Future<Output = Result<MetadataInfo, AttemptError>>,
    ) -> Result<MetadataInfo, AttemptError> {
        // A panic must not end the task: the revision would stay unknown for ever.
        let answer = timeout(self.timeout, AssertUnwindSafe(asking).catch_unwind())
            .await
            .unwrap_or(Ok(Err(AttemptError::NoAnswer(self.timeout))))
            .unwrap_or(Err(AttemptError::Panicked));
        asked.result = if answer.is_ok() { "ok" } else { "failed" };
        answer
    }
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader")
            .field("reports", &self.reports)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// The permission to ask.
struct Turn<'l> {
    _own: Option<SemaphorePermit<'l>>,
    _shared: Option<SemaphorePermit<'l>>,
}

/// One request, which counts when it ends.
struct Asked<'l> {
    loader: &'l Loader,
    application: &'l Arc<str>,
    path: &'static str,
    result: &'static str,
}

impl<'l> Asked<'l> {
    fn new(loader: &'l Loader, wanted: &'l Wanted, path: &'static str) -> Self {
        Self {
            loader,
            application: &wanted.application,
            path,
            result: "abandoned",
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.loader.asked.fetch_add(1, Ordering::Relaxed);
        if self.result == "failed" {
            self.loader.failed.fetch_add(1, Ordering::Relaxed);
        }
        metrics::fetched(self.application, self.path, self.result);
    }
}

async fn read(
    report: &Arc<dyn MetadataReport>,
    wanted: &Wanted,
) -> Result<MetadataInfo, AttemptError> {
    let json = report
        .app(&wanted.application, &wanted.revision)
        .await
        .map_err(AttemptError::Report)?
        .ok_or(AttemptError::NotStored)?;
    let info = MetadataInfo::from_json(&json).map_err(AttemptError::Content)?;
    wanted.verified(info)
}

/// What is to be got.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) application: Arc<str>,
    pub(crate) revision: Arc<str>,
}

impl Wanted {
    /// Whether the same revision may be something else later.
    pub(super) fn is_weak(&self) -> bool {
        Revision::of(&self.revision) == Revision::Weak
    }

    /// `info`, if it is what was asked for. A provider may have moved on, or another one may answer at its address.
    fn verified(&self, info: MetadataInfo) -> Result<MetadataInfo, AttemptError> {
        if !info.app.is_empty() && info.app != *self.application {
            return Err(AttemptError::Application(info.app));
        }
        if !info.revision.is_empty() && info.revision != *self.revision {
            return Err(AttemptError::Revision(info.revision));
        }
        Ok(info)
    }
}

/// Who failed lately, so that others are asked first.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<String, Instant>);

impl Failures {
    /// Up to three by chance, without those that failed lately, unless all have.
    fn choose<'a>(
        &mut self,
        mut candidates: Vec<&'a Arc<ServiceInstance>>,
        random: &mut fastrand::Rng,
    ) -> Vec<&'a Arc<ServiceInstance>> {
        let now = Instant::now();
        self.0.retain(|_, failed| now < *failed + AVOIDED_FOR);
        let rested: Vec<_> = candidates
            .iter()
            .filter(|instance| !self.0.contains_key(&instance.id()))
            .copied()
            .collect();
        if !rested.is_empty() {
            candidates = rested;
        }
        for index in 0..CANDIDATES.min(candidates.len()) {
            let other = random.usize(index..candidates.len());
            candidates.swap(index, other);
        }
        candidates.truncate(CANDIDATES);
        candidates
    }

    fn note(&mut self, id: &str) {
        self.0.insert(id.to_owned(), Instant::now());
    }
}

/// Nobody had the metadata: who was asked, and what came of it. Never empty as long as there is anybody to ask.
#[derive(Debug)]
pub(crate) struct LoadError(Vec<Attempt>);

impl LoadError {
    /// What came of the last attempt, if there was one.
    pub(super) fn last(&self) -> Option<String> {
        self.0.last().map(Attempt::to_string)
    }

    /// Whether it tells the same as `other`, whoever was asked.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let causes =
            |error: &Self| -> BTreeSet<String> { error.0.iter().map(|a| a.error.text()).collect() };
        causes(self) == causes(other)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no instance offers it");
        }
        for (index, attempt) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{attempt}")?;
        }
        Ok(())
    }
}

impl Error for LoadError {}

#[derive(Debug)]
struct Attempt {
    whom: String,
    error: AttemptError,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.whom, self.error.text())
    }
}

#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error("it is the application {0}")]
    Application(String),
    #[error("what is stored there cannot be used")]
    Content(#[source] MetadataError),
    #[error(transparent)]
    Fetch(FetchError),
    #[error("no answer within {0:?}")]
    NoAnswer(Duration),
    #[error(transparent)]
    NoReport(NoReport),
    #[error("it has none of this revision")]
    NotStored,
    #[error("a panic while asking it; the log has its text")]
    Panicked,
    #[error("it cannot be read")]
    Report(#[source] RegistryError),
    #[error("it answered with revision {0:?}")]
    Revision(String),
}

impl AttemptError {
    /// Its text and that of the errors behind it, as far as that is short enough: peers write some of it.
    fn text(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        if let Some((end, _)) = text.char_indices().nth(TEXT) {
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

fn is_remote(instance: &ServiceInstance) -> bool {
    Storage::of(said(instance, keys::STORAGE_TYPE)) == Storage::Remote
}

/// Whether the instance says how its metadata service is called. Those that keep their metadata in a report and do not
/// say it have none.
fn serves_metadata(instance: &ServiceInstance) -> bool {
    [keys::METADATA_SERVICE_PARAMS, keys::METADATA_SERVICE_URLS]
        .iter()
        .any(|key| said(instance, key).is_some())
}

const CANDIDATES: usize = 3;

/// How long those who are asked may be silent before another one is asked, too.
const SILENCE: Duration = Duration::from_secs(1);

/// How many characters of an error are told.
const TEXT: usize = 300;

const AVOIDED_FOR: Duration = Duration::from_secs(30);
