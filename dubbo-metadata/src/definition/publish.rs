//! Keeping definitions in metadata reports.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_core::{
    metadata::MetadataReport,
    registry::{RegistryError, RegistryErrorKind},
    url::{Key, Url},
};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{DefinitionId, Side, metrics};
use crate::{error::MetadataError, jitter::EqualJitter};

/// What a [`Publisher`] is made from.
#[derive(Clone)]
#[non_exhaustive]
pub struct PublisherOptions {
    /// The metadata reports by their ids.
    pub reports: Vec<(String, Arc<dyn MetadataReport>)>,
    /// Where chance begins: that of waiting times.
    pub seed: u64,
}

impl PublisherOptions {
    /// The defaults for `reports`.
    pub fn new(reports: Vec<(String, Arc<dyn MetadataReport>)>, seed: u64) -> Self {
        Self { reports, seed }
    }
}

impl fmt::Debug for PublisherOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reports: Vec<_> = self.reports.iter().map(|(id, _)| id).collect();
        f.debug_struct("PublisherOptions")
            .field("reports", &reports)
            .finish_non_exhaustive()
    }
}

/// Stores definitions in every report that takes them.
///
/// As with Dubbo Java, parameters of a report say what it takes: `report-definition` (`true`) whether any at all,
/// `report-consumer-definition` (`false` for Nacos, `true` for others) those of consumers.
///
/// All is done in the background and nothing waits for it. A definition is a wish: a report that fails is tried for ever,
/// unless it refuses, and a report that has lost one gets it again, because it is looked for every five to ten minutes.
/// One that is there is left alone, whatever it says: other instances of the application write it too, and theirs has other
/// parameters. What was written stays when the application ends.
pub struct Publisher {
    targets: Vec<Target>,
    kept: Mutex<Kept>,
    /// Programs have hundreds of services, and start at once.
    slots: Arc<Semaphore>,
}

impl Publisher {
    /// A publisher that has nothing to publish yet.
    ///
    /// # Errors
    ///
    /// A report's parameter is neither `true` nor `false`.
    pub fn new(options: PublisherOptions) -> Result<Self, MetadataError> {
        let targets = options.reports.into_iter().map(Target::new);
        Ok(Self {
            targets: targets.collect::<Result<_, _>>()?,
            kept: Mutex::new(Kept {
                contents: HashMap::new(),
                running: JoinSet::new(),
                random: fastrand::Rng::with_seed(options.seed),
            }),
            slots: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// Whether any report takes definitions of `side`.
    pub fn takes(&self, side: Side) -> bool {
        self.targets.iter().any(|target| target.takes(side))
    }

    /// Stores `definition` under `id`, in the background, and sees to it that it stays there. Later ones under the same id
    /// take its place.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn publish(&self, id: &DefinitionId, definition: &Bytes) {
        let mut kept = self.kept.lock();
        let Kept {
            contents,
            running,
            random,
        } = &mut *kept;
        for (index, target) in self.targets.iter().enumerate() {
            if !target.takes(id.side()) {
                continue;
            }
            let key = (index, id.to_string());
            if let Some(content) = contents.get(&key) {
                content.send_if_modified(|content| {
                    let is_new = content != definition;
                    content.clone_from(definition);
                    is_new
                });
                continue;
            }
            let (sender, content) = watch::channel(definition.clone());
            running.spawn(
                Keeper {
                    id: key.1.clone(),
                    provided: id.provided(),
                    name: target.name.clone(),
                    report: Arc::clone(&target.report),
                    slots: Arc::clone(&self.slots),
                    random: random.fork(),
                    content,
                }
                .run(),
            );
            contents.insert(key, sender);
        }
    }

    /// Stores and looks for nothing any more, and waits until no request is under way. What is stored stays.
    pub async fn close(&self) {
        let mut running = {
            let mut kept = self.kept.lock();
            kept.contents.clear();
            std::mem::take(&mut kept.running)
        };
        running.shutdown().await;
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reports: Vec<_> = self.targets.iter().map(|target| &target.name).collect();
        let definitions = self.kept.lock().contents.len();
        f.debug_struct("Publisher")
            .field("reports", &reports)
            .field("definitions", &definitions)
            .finish_non_exhaustive()
    }
}

/// A report, and what it takes.
struct Target {
    name: String,
    report: Arc<dyn MetadataReport>,
    providers: bool,
    consumers: bool,
}

impl Target {
    fn new((name, report): (String, Arc<dyn MetadataReport>)) -> Result<Self, MetadataError> {
        let url: &Url = report.url();
        let unreadable = |source| MetadataError::ReportParams {
            report: name.clone(),
            source,
        };
        let providers = url.get(&REPORT_DEFINITION).map_err(unreadable)?;
        let consumers = url.get(&REPORT_CONSUMER_DEFINITION).map_err(unreadable)?;
        let consumers = consumers.unwrap_or_else(|| url.protocol() != NACOS);
        Ok(Self {
            providers,
            consumers: providers && consumers,
            name,
            report,
        })
    }

    fn takes(&self, side: Side) -> bool {
        match side {
            Side::Consumer => self.consumers,
            Side::Provider => self.providers,
        }
    }
}

struct Kept {
    /// By the position of a report and the id of a definition.
    contents: HashMap<(usize, String), watch::Sender<Bytes>>,
    running: JoinSet<()>,
    random: fastrand::Rng,
}

/// Keeps one definition in one report.
struct Keeper {
    id: String,
    /// Whose definition it is, and of which interface, where a provider tells of itself.
    provided: Option<(String, String)>,
    name: String,
    report: Arc<dyn MetadataReport>,
    slots: Arc<Semaphore>,
    random: fastrand::Rng,
    content: watch::Receiver<Bytes>,
}

impl Keeper {
    /// Until there is nobody any more who could have something new.
    async fn run(mut self) {
        let mut waits = EqualJitter::new(FIRST_WAIT, LONGEST_WAIT);
        let mut is_failing = false;
        let mut is_new = true;
        loop {
            let kept = self.keep(is_new).await;
            let wait = match kept {
                Ok(()) => {
                    waits.reset();
                    is_new = false;
                    if std::mem::take(&mut is_failing) {
                        let Self { id, name, .. } = &self;
                        tracing::info!(id, report = name, "the service definition is stored");
                    }
                    EqualJitter::new(LOOK_AGAIN, LOOK_AGAIN).next_wait(&mut self.random)
                }
                Err(error) => {
                    let Self { id, name, .. } = &self;
                    if error.kind == RegistryErrorKind::Refused {
                        tracing::warn!(id, report = name, %error, "the report does not take this service definition");
                        // It would refuse it again.
                        if self.content.changed().await.is_err() {
                            return;
                        }
                        is_new = true;
                        continue;
                    }
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(id, report = name, %error, "the service definition is not stored; trying again");
                    }
                    waits.next_wait(&mut self.random)
                }
            };
            tokio::select! {
                () = sleep(wait) => {}
                changed = self.content.changed() => match changed {
                    Ok(()) => is_new = true,
                    Err(_) => return,
                },
            }
        }
    }

    /// Stores the definition if it is new or not there.
    async fn keep(&mut self, is_new: bool) -> Result<(), RegistryError> {
        let _slot = self.slots.acquire().await;
        if !is_new && self.report.definition(&self.id).await?.is_some() {
            return Ok(());
        }
        let content = self.content.borrow_and_update().clone();
        let began = Instant::now();
        let stored = self.report.store_definition(&self.id, content).await;
        if let Some((application, interface)) = &self.provided {
            metrics::stored(application, interface, began.elapsed(), stored.is_ok());
        }
        stored
    }
}

/// Dubbo Java's names.
const REPORT_DEFINITION: Key<bool> = Key {
    name: "report-definition",
    default: || true,
};

const REPORT_CONSUMER_DEFINITION: Key<Option<bool>> = Key {
    name: "report-consumer-definition",
    default: || None,
};

/// Where Dubbo Java stores no definitions of consumers unless it is told to.
const NACOS: &str = "nacos";

/// How many requests a program has under way for definitions.
const AT_ONCE: usize = 4;

const FIRST_WAIT: Duration = Duration::from_millis(100);

const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long a definition that is there is believed to stay there, at most; half of that at least. It is a thousand times
/// the size of a mapping, and no call depends on it.
const LOOK_AGAIN: Duration = Duration::from_mins(10);
