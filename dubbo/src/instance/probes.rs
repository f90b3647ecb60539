//! Whether an instance lives, is ready and has started (`docs/spec/config.md` §4.5).

use std::{
    fmt,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dubbo_core::extension::BoxError;
use futures_util::FutureExt as _;
use tokio::time::timeout;

use super::{Inner, InstanceBuilder, Phase, Reference};

/// What can be asked of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Probe {
    /// Whether it works at all: who says no is started again.
    Live,
    /// Whether calls may be sent to it.
    Ready,
    /// Whether it has started.
    Startup,
}

/// The checks of a program, and how far its start has come.
#[derive(Default)]
pub(super) struct Probes {
    pub(super) liveness: Vec<(String, Check)>,
    pub(super) readiness: Vec<(String, Check)>,
    pub(super) startup: Vec<(String, Check)>,
    has_started: AtomicBool,
}

/// Says what is wrong, if anything is.
pub(super) type Check =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>> + Send + Sync>;

fn kept<F, Fut, E>(check: F) -> Check
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<BoxError>,
{
    Arc::new(move || {
        let checked = check();
        Box::pin(async move { checked.await.map_err(Into::into) })
    })
}

impl InstanceBuilder {
    /// Adds a check to those that say whether the program works at all: who asks `/live` of `metrics.probe` or of the port
    /// for operators starts a program again that says no. An answer has 5 s.
    ///
    /// ```
    /// use dubbo::Instance;
    ///
    /// let instance = Instance::builder()
    ///     .readiness("database", async || Err::<(), _>("no connection"))
    ///     .build()?;
    /// # Ok::<_, dubbo::Error>(())
    /// ```
    pub fn liveness<F, Fut, E>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.probes.liveness.push((name.into(), kept(check)));
        self
    }

    /// Adds a check to those that say whether calls may be sent to the program (`/ready`), beside what the instance knows of
    /// itself: it is registered, and each reference with `check` has a provider.
    pub fn readiness<F, Fut, E>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.probes.readiness.push((name.into(), kept(check)));
        self
    }

    /// Adds a check to those that say whether the program has started (`/startup`), beside what the instance knows of
    /// itself.
    pub fn startup<F, Fut, E>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.probes.startup.push((name.into(), kept(check)));
        self
    }
}

impl Probes {
    /// All that a start does is done.
    pub(super) fn started(&self) {
        self.has_started.store(true, Ordering::Release);
    }

    pub(super) fn has_started(&self) -> bool {
        self.has_started.load(Ordering::Acquire)
    }

    fn checks(&self, probe: Probe) -> &[(String, Check)] {
        match probe {
            Probe::Live => &self.liveness,
            Probe::Ready => &self.readiness,
            Probe::Startup => &self.startup,
        }
    }
}

impl Inner {
    /// Asks what the instance knows of itself, if that counts, and then each check of the program.
    ///
    /// # Errors
    ///
    /// Which check says no, and why: `probe <name>: <why>`. The first one is enough.
    pub(super) async fn probe(&self, probe: Probe) -> Result<(), String> {
        let internal = self.config.metrics.probe.use_internal_state != Some(false);
        if let Some(why) = self.why_not(probe).filter(|_| internal) {
            return Err(format!("probe internal: {why}"));
        }
        for (name, check) in self.probes.checks(probe) {
            // It may panic before it has given a future, too.
            let checking = AssertUnwindSafe(async { check().await }).catch_unwind();
            let why = match timeout(CHECK, checking).await {
                Ok(Ok(Ok(()))) => continue,
                Ok(Ok(Err(error))) => error.to_string(),
                Ok(Err(_)) => "it panicked".to_owned(),
                Err(_) => format!("no answer within {CHECK:?}"),
            };
            return Err(format!("probe {name}: {why}"));
        }
        Ok(())
    }

    /// Why the instance itself says no.
    fn why_not(&self, probe: Probe) -> Option<String> {
        match probe {
            Probe::Live => None,
            Probe::Startup => self.why_not_started(),
            Probe::Ready => self.why_not_ready(),
        }
    }

    fn why_not_started(&self) -> Option<String> {
        // A program that provides nothing need not be started to make calls.
        let provides = !self.provided.is_empty() || !self.mounted.is_empty();
        (provides && !self.probes.has_started()).then(|| "it has not started".to_owned())
    }

    fn why_not_ready(&self) -> Option<String> {
        if *self.phase.borrow() >= Phase::ShuttingDown {
            return Some("it is shutting down".to_owned());
        }
        self.why_not_started()
            .or_else(|| self.presence.why_absent())
            .or_else(|| self.why_not_served())
    }

    /// Which reference has to have a provider, and has none.
    fn why_not_served(&self) -> Option<String> {
        let references: Vec<_> = {
            let running = self.running.lock();
            let checked = running
                .references
                .iter()
                .filter(|reference| reference.check);
            checked.map(Reference::directories_of).collect()
        };
        references.into_iter().find_map(|(service, directories)| {
            let reasons: Vec<_> = directories
                .iter()
                .map(|directory| directory.why_unavailable())
                .collect::<Option<_>>()?;
            let is_gone = reasons.is_empty();
            (!is_gone).then(|| format!("{service} has no provider: {}", reasons.join("; ")))
        })
    }
}

impl Reference {
    fn directories_of(
        &self,
    ) -> (
        dubbo_core::service::ServiceKey,
        Vec<Arc<dyn dubbo_core::cluster::Directory>>,
    ) {
        let directories = self.directories.iter().filter_map(Weak::upgrade);
        (self.service.clone(), directories.collect())
    }
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probes")
            .field("liveness", &self.liveness.len())
            .field("readiness", &self.readiness.len())
            .field("startup", &self.startup.len())
            .field("has_started", &self.has_started)
            .finish()
    }
}

/// What one check may take.
const CHECK: Duration = Duration::from_secs(5);
