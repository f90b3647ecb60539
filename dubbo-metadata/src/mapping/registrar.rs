//! The provider's side: its application is added to what each interface is mapped to (`docs/spec/metadata.md` §5.1).

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    metadata::{CasOutcome, MetadataReport},
    registry::RegistryError,
};
use metrics::{Gauge, gauge};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{error::MetadataError, jitter::EqualJitter};

/// What a [`Registrar`] is made from.
#[derive(Clone)]
#[non_exhaustive]
pub struct RegistrarOptions {
    /// The application's name.
    pub application: String,
    /// The metadata reports by their ids.
    pub reports: Vec<(String, Arc<dyn MetadataReport>)>,
    /// Whether registering waits until every report has the mapping. Off by default.
    pub required: bool,
    /// How often a write is repeated at once when others write the same mapping. Default 10.
    pub cas_retries: u32,
    /// The longest wait before a report that failed is tried again. Default 5 s.
    pub retry_interval: Duration,
    /// Where chance begins: that of waiting times.
    pub seed: u64,
}

impl RegistrarOptions {
    /// The defaults for `application`.
    pub fn new(
        application: impl Into<String>,
        reports: Vec<(String, Arc<dyn MetadataReport>)>,
        seed: u64,
    ) -> Self {
        Self {
            application: application.into(),
            reports,
            required: false,
            cas_retries: 10,
            retry_interval: Duration::from_secs(5),
            seed,
        }
    }
}

impl fmt::Debug for RegistrarOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reports: Vec<_> = self.reports.iter().map(|(id, _)| id).collect();
        f.debug_struct("RegistrarOptions")
            .field("application", &self.application)
            .field("reports", &reports)
            .field("required", &self.required)
            .finish_non_exhaustive()
    }
}

/// Adds one application to the mappings of its interfaces, in every report.
///
/// A mapping is a wish as an instance is: a report that fails is tried for ever, and one that has lost the name, with all
/// of its data or by another writer, gets it again, because it is looked for once or twice a minute and whenever the report
/// answers after a failure. Reports are independent of one another. Names that are there stay, in their order.
///
/// [`close`](Self::close) and dropping it end all that; what was written stays.
pub struct Registrar {
    options: RegistrarOptions,
    /// Told when a report answers after a failure, in the order of the reports.
    recoveries: Vec<Arc<Notify>>,
    states: watch::Sender<States>,
    tasks: Mutex<Tasks>,
}

impl Registrar {
    /// A registrar that has nothing to register yet.
    ///
    /// # Errors
    ///
    /// The application's name cannot stand in a mapping.
    pub fn new(options: RegistrarOptions) -> Result<Arc<Self>, MetadataError> {
        MetadataError::check_application(&options.application)?;
        Ok(Arc::new(Self {
            tasks: Mutex::new(Tasks {
                running: JoinSet::new(),
                random: fastrand::Rng::with_seed(options.seed),
            }),
            recoveries: options.reports.iter().map(|_| Arc::default()).collect(),
            states: watch::Sender::new(States::new()),
            options,
        }))
    }

    /// Adds the application to the mapping of `interface`, in the background. Once is enough, and again does nothing. The
    /// metadata service itself is mapped to nobody.
    ///
    /// # Errors
    ///
    /// Only when it is [required](RegistrarOptions::required), and then it waits for it: a report does not have the
    /// mapping after 5 s, or there is no report. The trying goes on.
    ///
    /// # Cancel safety
    ///
    /// The trying goes on when the future is dropped.
    pub async fn register(&self, interface: &str) -> Result<(), RegistryError> {
        if METADATA_SERVICES.contains(&interface) {
            return Ok(());
        }
        for ((id, report), recovery) in self.options.reports.iter().zip(&self.recoveries) {
            self.start(interface, id, report, recovery);
        }
        if self.options.required {
            self.wait(interface).await
        } else {
            Ok(())
        }
    }

    /// How far each mapping is, by interface and report; `dubbo_mapping_registered` is the number of it.
    pub fn status(&self) -> Vec<RegistrationStatus> {
        self.states
            .borrow()
            .iter()
            .map(|((interface, report), state)| RegistrationStatus {
                interface: interface.clone(),
                report: report.clone(),
                written: state.written,
                error: state.error.clone(),
            })
            .collect()
    }

    /// Ends all trying and looking, and waits until nothing is written any more. What was written stays, as with all
    /// implementations: other processes of the application may go on.
    ///
    /// Registering starts anew.
    ///
    /// # Cancel safety
    ///
    /// All is told to end at once; whether it has is open when the future is dropped.
    pub async fn close(&self) {
        let mut running = {
            let mut tasks = self.tasks.lock();
            self.states.send_modify(States::clear);
            std::mem::take(&mut tasks.running)
        };
        running.shutdown().await;
    }

    fn start(
        &self,
        interface: &str,
        id: &str,
        report: &Arc<dyn MetadataReport>,
        recovery: &Arc<Notify>,
    ) {
        let key = (interface.to_owned(), id.to_owned());
        let mut tasks = self.tasks.lock();
        let is_new = self.states.send_if_modified(|states| {
            let is_new = !states.contains_key(&key);
            if is_new {
                states.insert(key.clone(), State::default());
            }
            is_new
        });
        if !is_new {
            return;
        }
        let (name, report_id) = (interface.to_owned(), id.to_owned());
        let writer = Writer {
            gauge: gauge!("dubbo_mapping_registered", "interface" => name, "report" => report_id),
            application: self.options.application.clone(),
            cas_retries: self.options.cas_retries,
            retry_interval: self.options.retry_interval,
            report: Arc::clone(report),
            recovery: Arc::clone(recovery),
            states: self.states.clone(),
            random: tasks.random.fork(),
            key,
        };
        tasks.running.spawn(writer.run());
    }

    async fn wait(&self, interface: &str) -> Result<(), RegistryError> {
        let error = |address: &str, reason: String| {
            RegistryError::new(
                format!("map {interface} to {}", self.options.application),
                address,
                reason,
            )
        };
        if self.options.reports.is_empty() {
            let reason = "`mapping.required` is set and there is no metadata report";
            return Err(error("no metadata report", reason.to_owned()).refused());
        }
        let mut states = self.states.subscribe();
        let pending = |states: &States| {
            states
                .iter()
                .find(|((name, _), state)| name == interface && !state.written)
                .map(|((_, report), state)| (report.clone(), state.error.clone()))
        };
        let done = states.wait_for(|states| pending(states).is_none());
        let is_done = timeout(REQUIRED_WITHIN, done).await.is_ok();
        match pending(&self.states.borrow()) {
            Some((report, reason)) if !is_done => {
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                Err(error(
                    &format!("metadata report {report}"),
                    format!("not done within {} s{reason}", REQUIRED_WITHIN.as_secs()),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar")
            .field("options", &self.options)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// How far one mapping is in one report.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RegistrationStatus {
    /// The interface.
    pub interface: String,
    /// The id of the report.
    pub report: String,
    /// Whether the application was in it when it was looked at last with success.
    pub written: bool,
    /// Why the last look or write failed, if it did. It is tried again, for ever.
    pub error: Option<Arc<RegistryError>>,
}

/// By interface and report.
type States = BTreeMap<(String, String), State>;

#[derive(Debug, Clone, Default)]
struct State {
    written: bool,
    error: Option<Arc<RegistryError>>,
}

#[derive(Debug)]
struct Tasks {
    running: JoinSet<()>,
    random: fastrand::Rng,
}

/// Adds the application to one mapping in one report.
struct Writer {
    application: String,
    cas_retries: u32,
    retry_interval: Duration,
    report: Arc<dyn MetadataReport>,
    recovery: Arc<Notify>,
    key: (String, String),
    states: watch::Sender<States>,
    /// Shows whether the application is there.
    gauge: Gauge,
    random: fastrand::Rng,
}

impl Writer {
    /// Sees to it for ever that the application is there.
    async fn run(mut self) {
        let mut waits = EqualJitter::new(FIRST_WAIT, self.retry_interval);
        let mut is_failing = false;
        loop {
            match self.merge().await {
                Ok(was_there) => {
                    waits.reset();
                    if std::mem::take(&mut is_failing) {
                        self.recovery.notify_waiters();
                    }
                    self.set(|state| {
                        *state = State {
                            written: true,
                            error: None,
                        };
                    });
                    self.gauge.set(1.0);
                    self.rest(was_there).await;
                }
                Err(error) => {
                    is_failing = true;
                    let (interface, report) = &self.key;
                    tracing::warn!(interface, report, %error, "the mapping is not registered; trying again");
                    // What is written stays so for others as long as nothing else is known.
                    self.set(|state| state.error = Some(Arc::new(error)));
                    sleep(waits.next_wait(&mut self.random)).await;
                }
            }
        }
    }

    /// Waits until it is time to look again.
    async fn rest(&mut self, was_there: bool) {
        if !was_there {
            // Another writer that compares nothing, as dubbo-go's first write to Nacos, may take it out again.
            return sleep(SECOND_LOOK).await;
        }
        let rest = EqualJitter::new(LOOK_AGAIN, LOOK_AGAIN).next_wait(&mut self.random);
        tokio::select! {
            () = sleep(rest) => {}
            // It may have come back without its data. Not all interfaces are read in the same moment.
            () = self.recovery.notified() => sleep(SPREAD.mul_f64(self.random.f64())).await,
        }
    }

    /// Adds the application, unless it is there; whether it was.
    async fn merge(&mut self) -> Result<bool, RegistryError> {
        let mut waits = EqualJitter::new(FIRST_WAIT, CONFLICT_WAIT);
        let interface = self.key.0.clone();
        for _ in 0..=self.cas_retries {
            let (mut mapping, ticket) = self.report.mapping(&interface).await?;
            if !mapping.add(&self.application) {
                return Ok(true);
            }
            let write = self.report.cas_mapping(&interface, &mapping, ticket);
            match write.await? {
                CasOutcome::Written => return Ok(false),
                // Nacos may show the old value for a while, and it would be compared in vain.
                CasOutcome::Conflict => {
                    sleep(waits.next_wait(&mut self.random).max(READS_LAG)).await;
                }
            }
        }
        let url = self.report.url();
        Err(RegistryError::new(
            format!("map {interface} to {}", self.application),
            url.origin(),
            format!(
                "others wrote in between, {} times in a row",
                self.cas_retries + 1
            ),
        ))
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        self.states.send_modify(|states| {
            // There is none once the registrar is closed.
            if let Some(state) = states.get_mut(&self.key) {
                change(state);
            }
        });
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.gauge.set(0.0);
    }
}

/// How long registering waits for a mapping that is required.
const REQUIRED_WITHIN: Duration = Duration::from_secs(5);

/// When a mapping that was written is looked at again.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// How long a mapping that is there is believed to stay there, at most; half of that at least.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// In which time all mappings of a report that has failed are looked at.
const SPREAD: Duration = Duration::from_secs(5);

const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait before a write is repeated after a conflict.
const CONFLICT_WAIT: Duration = Duration::from_secs(2);

/// How long a read of Nacos may show what was before a write (`docs/spec/metadata.md` §5.1).
const READS_LAG: Duration = Duration::from_millis(100);

/// Every application has them.
const METADATA_SERVICES: [&str; 2] = [
    "org.apache.dubbo.metadata.MetadataService",
    "org.apache.dubbo.metadata.MetadataServiceV2",
];
