//! A configuration that changes while the instance runs (`docs/spec/config.md` §1.5).
//!
//! ```text
//! files, center -> look -> read again -> changes -> each key by itself: applied, left to the program, or refused
//!                                |
//!                       not valid: nothing of it is applied
//! ```

mod allowed;
mod effect;
mod live;
mod task;

use std::sync::{Arc, atomic::AtomicBool};

use arc_swap::ArcSwap;
use futures_util::stream;
use metrics::counter;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};

use self::live::{Effective, Taken, take};
pub(super) use self::{allowed::Allowed, effect::Served};
use super::{
    Inner, Instance,
    builder::{Provided, complete},
};
use crate::config::{Change, Config, ConfigErrors, Sources, Tree, changes};

pub use self::live::live_keys;

impl Instance {
    /// What files and config center change from now on while this instance runs: one item for each time that something
    /// was changed and came into force, or is among what
    /// [`allow_hot_reload_prefix`](super::InstanceBuilder::allow_hot_reload_prefix) and its like leave to the program. It ends
    /// with the instance.
    ///
    /// Whoever does not listen for long misses the oldest ones.
    pub fn config_changes(
        &self,
    ) -> impl futures_core::Stream<Item = ConfigChanged> + Send + Unpin + use<> {
        let told = self
            .0
            .reload
            .told
            .lock()
            .as_ref()
            .map(broadcast::Sender::subscribe);
        Box::pin(stream::unfold(told, |told| async move {
            let mut told = told?;
            loop {
                match told.recv().await {
                    Ok(changed) => return Some((changed, Some(told))),
                    Err(RecvError::Lagged(missed)) => {
                        tracing::warn!(
                            missed,
                            "changes of the configuration came faster than they were listened to"
                        );
                    }
                    Err(RecvError::Closed) => return None,
                }
            }
        }))
    }
}

/// Keys whose values have changed while an instance runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfigChanged {
    /// The keys, in order; what may be shown of their values, and where the new ones are written.
    pub changes: Arc<[Change]>,
}

/// What is known of the configuration while the instance runs.
pub(super) struct Reload {
    allowed: Allowed,
    /// As code gave them, before anything completed them.
    provided: Vec<Provided>,
    current: ArcSwap<Effective>,
    /// What was set when the instance was built: of a key that is fixed this is in force.
    built: Tree,
    is_followed: AtomicBool,
    /// One at a time reads it again.
    seen: tokio::sync::Mutex<Seen>,
    /// What is served, and goes on as its configuration says.
    served: Mutex<Vec<Served>>,
    /// Until the instance ends.
    told: Mutex<Option<broadcast::Sender<ConfigChanged>>>,
}

/// The last version that could be read.
struct Seen {
    tree: Tree,
    sources: Sources,
    /// What the config center has.
    center: Option<Arc<str>>,
}

/// What an instance was built of.
pub(super) struct Built {
    pub(super) allowed: Allowed,
    /// As code gave them.
    pub(super) provided: Vec<Provided>,
    pub(super) tree: Tree,
    pub(super) sources: Sources,
}

impl Reload {
    /// The services as code gave them.
    pub(super) fn provided(&self) -> &[Provided] {
        &self.provided
    }

    /// Begins with `config`, and with services that have these options.
    pub(super) fn new(built: Built, config: &Config, services: &[Provided]) -> Self {
        let center = built
            .sources
            .center()
            .and_then(|center| center.text().map(Arc::from));
        Self {
            allowed: built.allowed,
            provided: built.provided,
            current: ArcSwap::from_pointee(Effective::of(config.clone(), services)),
            built: built.tree.clone(),
            is_followed: AtomicBool::new(false),
            seen: tokio::sync::Mutex::new(Seen {
                tree: built.tree,
                sources: built.sources,
                center,
            }),
            served: Mutex::default(),
            told: Mutex::new(Some(broadcast::Sender::new(REMEMBERED))),
        }
    }

    /// What is in force.
    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.current.load().config)
    }

    /// Notes what is served from now on.
    pub(super) fn serves(&self, served: Served) {
        self.served.lock().push(served);
    }

    /// Tells nobody any more.
    fn end(&self) {
        self.told.lock().take();
    }

    fn tell(&self, changes: Vec<Change>) {
        if let Some(told) = &*self.told.lock() {
            // Perhaps nobody listens.
            let _ = told.send(ConfigChanged {
                changes: changes.into(),
            });
        }
    }
}

impl Inner {
    /// What the configuration says now, with what code says in it.
    pub(super) fn current(&self) -> Arc<Config> {
        self.reload.config()
    }

    /// Reads the configuration again and brings into force what has changed and can change.
    pub(super) async fn reload(self: &Arc<Self>, news: News) {
        let mut seen = self.reload.seen.lock().await;
        if let News::Center(text) = news {
            if seen.center == text {
                return;
            }
            seen.center = text;
        }
        let (instance, sources, center) =
            (Arc::clone(self), seen.sources.clone(), seen.center.clone());
        let read =
            tokio::task::spawn_blocking(move || instance.read_again(&sources, center.as_deref()));
        let Ok(read) = read.await else {
            return;
        };
        let read = match read {
            Ok(read) => read,
            Err(errors) => {
                count("invalid", 1);
                tracing::warn!(
                    "the configuration has changed and cannot be used; what was in force before stays:\n{errors}"
                );
                return;
            }
        };
        let changes = changes(&seen.tree, &read.tree);
        seen.tree = read.tree.clone();
        seen.sources = read.sources.clone();
        if !changes.is_empty() {
            self.sort_out(changes, &read);
        }
    }

    /// Brings into force what can be, each key by itself.
    fn sort_out(&self, changes: Vec<Change>, read: &Read) {
        let before = self.reload.current.load_full();
        let mut now = Effective::clone(&before);
        let mut told = Vec::new();
        for change in changes {
            match take(&change.path, &before, &mut now, &read.effective) {
                Taken::Changed => {
                    tracing::info!("the configuration has changed: {change}");
                    told.push(change);
                }
                _ if self.reload.allowed.allows(&change.path) => {
                    tracing::info!(
                        "the configuration has changed, and the program sees to it: {change}"
                    );
                    told.push(change);
                }
                Taken::Same => {
                    refuse(&change, "code has set it, which counts more");
                }
                Taken::Fixed
                    if read.tree.get(&change.path) == self.reload.built.get(&change.path) =>
                {
                    tracing::info!("the configuration says again what is in force: {change}");
                }
                Taken::Fixed => refuse(&change, "it takes a restart; the old value stays"),
            }
        }
        if now.config.logger != before.config.logger
            && let Err(reason) = crate::logging::change(&now.config.logger)
        {
            Arc::make_mut(&mut now.config).logger = before.config.logger.clone();
            told.retain(|change| {
                let is_of_log = change.path.starts_with("dubbo.logger.");
                if is_of_log {
                    refuse(change, &reason);
                }
                !is_of_log
            });
        }
        count("applied", told.len());
        let in_force = self.tree.load();
        let applied = told.iter().map(|change| change.path.as_str());
        self.tree
            .store(Arc::new(in_force.taking(&read.tree, applied)));
        self.take_effect(&before, &now);
        self.reload.current.store(Arc::new(now));
        // A reference that was made meanwhile went by what was in force before.
        self.amend_references();
        if !told.is_empty() {
            self.reload.tell(told);
        }
    }

    fn read_again(&self, sources: &Sources, center: Option<&str>) -> Result<Read, ConfigErrors> {
        let draft = sources.reread(center)?;
        let (tree, sources) = (draft.tree().clone(), draft.sources().clone());
        let (code, reload) = (&self.code, &self.reload);
        let complete = complete(
            draft,
            code,
            reload.provided.clone(),
            &self.mounted,
            &self.extensions,
        )?;
        Ok(Read {
            effective: Effective::of(complete.loaded.config, &complete.provided),
            tree,
            sources,
        })
    }
}

/// What there is to read again.
pub(super) enum News {
    /// What the config center has now.
    Center(Option<Arc<str>>),
    /// Files look different.
    Files,
}

/// One version of the configuration that can be used.
struct Read {
    effective: Effective,
    tree: Tree,
    sources: Sources,
}

fn refuse(change: &Change, why: &str) {
    count("refused", 1);
    tracing::warn!("the configuration has changed where it has no effect: {change}: {why}");
}

fn count(result: &'static str, number: usize) {
    counter!("dubbo_config_reloads_total", "result" => result).increment(number as u64);
}

/// How many changes those who do not listen find when they do.
const REMEMBERED: usize = 64;
