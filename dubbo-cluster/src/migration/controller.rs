//! The rules of one consumer application: where they come from, and who goes by them.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::config_center::ConfigCenter;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Comparators, MigrationStatus, Rule, RuleError, Terms, directory::Shared as Reference};
use crate::rules::{self, Place, Sources};

/// What a [`Controller`] is made of.
#[derive(Clone)]
#[non_exhaustive]
pub struct ControllerOptions {
    /// The consumer application.
    pub application: String,
    /// What the configuration says, for what no rule and no reference says.
    pub configured: Terms,
    /// What is compared beside addresses; nothing by default.
    pub comparators: Comparators,
    /// The config centers that may hold a rule. None by default.
    pub centers: Vec<Center>,
    /// A file that holds a rule, if any.
    pub file: Option<LocalFile>,
    /// How long a path that is not needed any more is kept for the calls that are still going on there; 30 s by default.
    pub drain: Duration,
    /// What chance starts from.
    pub seed: u64,
}

impl ControllerOptions {
    /// The defaults for `application`.
    pub fn new(application: impl Into<String>, seed: u64) -> Self {
        Self {
            application: application.into(),
            configured: Terms::default(),
            comparators: Comparators::default(),
            centers: Vec::new(),
            file: None,
            drain: DRAIN,
            seed,
        }
    }
}

impl fmt::Debug for ControllerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerOptions")
            .field("application", &self.application)
            .field("configured", &self.configured)
            .field("comparators", &self.comparators)
            .field("centers", &self.centers)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// A config center that may hold the rule.
#[derive(Clone)]
pub struct Center {
    /// The center.
    pub center: Arc<dyn ConfigCenter>,
    /// How long a first reference waits for its first answer.
    pub patience: Duration,
}

impl fmt::Debug for Center {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Center")
            .field(&name_of(&*self.center))
            .finish()
    }
}

/// A file that may hold the rule. It is read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// Where.
    pub path: PathBuf,
    /// How long a rule from a config center is waited for before the file counts.
    pub wait: Duration,
}

/// Takes in migration rules and tells the references of one consumer application.
///
/// Of the rules from config centers and from [`set_rule`](Self::set_rule) the newest counts, before that of the local file.
/// An empty rule says nothing, and a text that is no rule leaves the one before it from the same place in force.
pub struct Controller {
    options: ControllerOptions,
    rules: Arc<Rules>,
    references: Mutex<Vec<Weak<Reference>>>,
    answered: watch::Sender<usize>,
    /// The tasks that follow the sources, once they have been started.
    tasks: Mutex<Option<JoinSet<()>>>,
}

struct Rules {
    sources: Mutex<Sources<Rule, RuleError>>,
    current: watch::Sender<Current>,
}

/// The rule in force and who said it.
pub(super) type Current = rules::Current<Rule>;

impl Controller {
    /// A controller that has not asked anybody yet: that comes with the first reference.
    pub fn new(options: ControllerOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            rules: Arc::new(Rules {
                sources: Mutex::new(Sources::new(|place| u8::from(place != Place::File))),
                current: watch::Sender::default(),
            }),
            references: Mutex::default(),
            answered: watch::Sender::new(0),
            tasks: Mutex::new(None),
        })
    }

    /// Takes in a rule from the program: YAML as in a config center. An empty text takes the last one back.
    ///
    /// # Errors
    ///
    /// It is no rule; the last one stays in force.
    pub fn set_rule(&self, yaml: &str) -> Result<(), RuleError> {
        self.rules.take(Place::Call, BY_CALL, Some(yaml))
    }

    /// How far everything is.
    pub fn status(&self) -> MigrationStatus {
        let mut references = self.references.lock();
        references.retain(|reference| reference.strong_count() > 0);
        let references = references.iter().filter_map(Weak::upgrade);
        let refused = self.rules.sources.lock().refused().map(ToString::to_string);
        MigrationStatus {
            application: self.options.application.clone(),
            rule: self
                .rules
                .current
                .borrow()
                .source
                .as_deref()
                .map(str::to_owned),
            refused,
            references: references.map(|reference| reference.status()).collect(),
        }
    }

    /// Follows no source any more. The rule that is in force stays so.
    pub async fn close(&self) {
        let tasks = self.tasks.lock().replace(JoinSet::new());
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
        // Nobody is going to answer any more, maybe nobody was asked.
        let all = self.options.centers.len();
        self.answered
            .send_modify(|answered| *answered = all.max(*answered));
        let closed = self
            .options
            .centers
            .iter()
            .map(|center| center.center.close());
        futures_util::future::join_all(closed).await;
    }

    /// Begins to follow the sources, unless it has, and waits for what the config centers say at first.
    pub(super) async fn start(&self) {
        let mut answered = self.answered.subscribe();
        if let tasks @ None = &mut *self.tasks.lock() {
            *tasks = Some(self.follow());
        }
        let all = self.options.centers.len();
        // Its sender is in `self`.
        let _ = answered.wait_for(|answered| *answered >= all).await;
    }

    pub(super) fn application(&self) -> &str {
        &self.options.application
    }

    pub(super) fn configured(&self) -> &Terms {
        &self.options.configured
    }

    pub(super) fn comparators(&self) -> Comparators {
        self.options.comparators
    }

    pub(super) fn drain(&self) -> Duration {
        self.options.drain
    }

    pub(super) fn seed(&self) -> u64 {
        self.options.seed
    }

    pub(super) fn rules(&self) -> watch::Receiver<Current> {
        self.rules.current.subscribe()
    }

    pub(super) fn enroll(&self, reference: &Arc<Reference>) {
        self.references.lock().push(Arc::downgrade(reference));
    }

    fn follow(&self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let key = format!("{}.migration", self.options.application);
        for (index, center) in self.options.centers.iter().cloned().enumerate() {
            let place = Place::Center(index);
            let answered = Answered(self.answered.clone());
            let (rules, key) = (Arc::clone(&self.rules), key.clone());
            tasks.spawn(follow(center, place, key, rules, answered));
        }
        if let Some(file) = self.options.file.clone() {
            let rules = Arc::clone(&self.rules);
            tasks.spawn(async move {
                sleep(file.wait).await;
                rules.read(file.path).await;
            });
        }
        tasks
    }
}

impl Rules {
    /// Takes in what `name` says now.
    fn take(&self, place: Place, name: &str, text: Option<&str>) -> Result<(), RuleError> {
        // The lock is held until all are told: who comes later is newer.
        let mut sources = self.sources.lock();
        sources.take(place, name, text, |text| Rule::parse(name, text))?;
        let current = sources.current();
        self.current.send_if_modified(|before| {
            let changes = *before != current;
            if changes {
                let source = current.source.as_deref().unwrap_or("nobody");
                tracing::info!(source, rule = ?current.rule, "the migration rule changed");
                *before = current;
            }
            changes
        });
        Ok(())
    }

    /// Takes in what nobody waits for an answer about.
    fn hear(&self, place: Place, name: &str, text: Option<&str>) {
        if let Err(error) = self.take(place, name, text) {
            tracing::warn!(source = name, %error, "the migration rule before it stays in force");
        }
    }

    async fn read(&self, path: PathBuf) {
        let name = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path));
        match read.await {
            Ok(Ok(text)) => self.hear(Place::File, &name, Some(&text)),
            Ok(Err(error)) => {
                tracing::warn!(file = name, %error, "the local migration rule cannot be read");
            }
            Err(_) => {}
        }
    }
}

/// Follows one config center for as long as it can be followed.
async fn follow(center: Center, place: Place, key: String, rules: Arc<Rules>, answered: Answered) {
    let name = name_of(&*center.center);
    let mut watched = Box::pin(center.center.watch(&key, GROUP));
    let first = timeout(center.patience, &mut watched).await;
    let late = first.is_err();
    if late {
        tracing::warn!(
            center = name,
            key,
            "the migration rule is not known yet; it is waited for"
        );
    }
    let mut answered = (!late).then_some(answered);
    let watched = match first {
        Ok(watched) => watched,
        Err(_) => watched.await,
    };
    let mut subscription = match watched {
        Ok(subscription) => subscription,
        Err(error) => {
            tracing::warn!(center = name, key, %error, "the center is not asked for migration rules");
            return;
        }
    };
    let mut update = subscription.current();
    loop {
        match update.state {
            Ok(text) => rules.hear(place, &name, text.as_deref()),
            Err(error) => {
                tracing::warn!(center = name, key, %error, "the migration rule stays what it is");
            }
        }
        drop(answered.take());
        let Some(next) = subscription.changed().await else {
            return;
        };
        update = next;
    }
}

/// Says that a center has answered, or will not for now, when it is dropped.
struct Answered(watch::Sender<usize>);

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.send_modify(|answered| *answered += 1);
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("options", &self.options)
            .field("current", &*self.rules.current.borrow())
            .finish_non_exhaustive()
    }
}

fn name_of(center: &dyn ConfigCenter) -> String {
    center.url().origin()
}

/// The group that rules are kept in.
pub const GROUP: &str = "DUBBO_SERVICEDISCOVERY_MIGRATION";

const DRAIN: Duration = Duration::from_secs(30);

/// What messages call [`Controller::set_rule`].
const BY_CALL: &str = "a call";
