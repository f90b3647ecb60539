//! The provider's side: its application is added to what each interface is mapped to (`docs/spec/metadata.md` §5.1).

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    metadata::{CasOutcome, MetadataReport},
    registry::RegistryError,
};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
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
/// Reports are independent of one another, and a report that fails is tried for ever. Names that are there stay, in
/// their order. Dropping it ends the trying.
pub struct Registrar {
    options: RegistrarOptions,
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
        for (id, report) in &self.options.reports {
            self.start(interface, id, report);
        }
        if self.options.required {
            self.wait(interface).await
        } else {
            Ok(())
        }
    }

    /// How far each mapping is, by interface and report.
    pub fn status(&self) -> Vec<MappingStatus> {
        self.states
            .borrow()
            .iter()
            .map(|((interface, report), state)| MappingStatus {
                interface: interface.clone(),
                report: report.clone(),
                state: state.clone(),
            })
            .collect()
    }

    fn start(&self, interface: &str, id: &str, report: &Arc<dyn MetadataReport>) {
        let key = (interface.to_owned(), id.to_owned());
        let is_new = self.states.send_if_modified(|states| {
            let is_new = !states.contains_key(&key);
            if is_new {
                states.insert(key.clone(), MappingState::Pending(None));
            }
            is_new
        });
        if !is_new {
            return;
        }
        let mut tasks = self.tasks.lock();
        let writer = Writer {
            application: self.options.application.clone(),
            cas_retries: self.options.cas_retries,
            retry_interval: self.options.retry_interval,
            report: Arc::clone(report),
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
                .find_map(|((name, report), state)| match state {
                    MappingState::Pending(reason) if name == interface => {
                        Some((report.clone(), reason.clone()))
                    }
                    _ => None,
                })
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
pub struct MappingStatus {
    /// The interface.
    pub interface: String,
    /// The id of the report.
    pub report: String,
    /// How far it is.
    pub state: MappingState,
}

/// How far a mapping is.
#[derive(Debug, Clone)]
pub enum MappingState {
    /// It is being tried; why it failed last, if it did.
    Pending(Option<Arc<RegistryError>>),
    /// The application is in it.
    Registered,
}

/// By interface and report.
type States = BTreeMap<(String, String), MappingState>;

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
    key: (String, String),
    states: watch::Sender<States>,
    random: fastrand::Rng,
}

impl Writer {
    /// Tries until a later look finds the application there: another writer that compares nothing, as dubbo-go's first
    /// write to Nacos, may have taken it out again.
    async fn run(mut self) {
        let mut waits = EqualJitter::new(FIRST_WAIT, self.retry_interval);
        loop {
            match self.merge().await {
                Ok(was_there) => {
                    waits.reset();
                    self.set(MappingState::Registered);
                    if was_there {
                        return;
                    }
                    sleep(SECOND_LOOK).await;
                }
                Err(error) => {
                    let (interface, report) = &self.key;
                    tracing::warn!(interface, report, %error, "the mapping is not registered; trying again");
                    // What is registered stays so for others as long as nothing else is known.
                    if !self.is_registered() {
                        self.set(MappingState::Pending(Some(Arc::new(error))));
                    }
                    sleep(waits.next_wait(&mut self.random)).await;
                }
            }
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
            format!("{}://{}", url.protocol(), url.address()),
            format!(
                "others wrote in between, {} times in a row",
                self.cas_retries + 1
            ),
        ))
    }

    fn set(&self, state: MappingState) {
        self.states.send_modify(|states| {
            states.insert(self.key.clone(), state);
        });
    }

    fn is_registered(&self) -> bool {
        matches!(
            self.states.borrow().get(&self.key),
            Some(MappingState::Registered)
        )
    }
}

/// How long registering waits for a mapping that is required.
const REQUIRED_WITHIN: Duration = Duration::from_secs(5);

/// When a mapping that was written is looked at again.
const SECOND_LOOK: Duration = Duration::from_secs(5);

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
