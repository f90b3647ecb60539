//! One key, what is said under it, and those who go by it.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::{
    RuleError,
    book::Shared,
    sources::{Place, Sources},
};

/// A rule that is followed. Dropping it ends that.
pub struct Followed<R> {
    listener: Arc<Listener<R>>,
    changes: watch::Receiver<()>,
    subscribed: Subscribed,
}

impl<R: Send + Sync + 'static> Followed<R> {
    pub(super) fn new(listener: Arc<Listener<R>>, subscribed: Subscribed) -> Self {
        Self {
            changes: listener.changes.subscribe(),
            listener,
            subscribed,
        }
    }

    /// The rule that counts; `None` when nobody says one. It takes no lock.
    pub fn current(&self) -> Option<Arc<R>> {
        self.listener.current.load_full()
    }

    /// Why what somebody says now under this key is no rule.
    pub fn error(&self) -> Option<RuleError> {
        self.listener.sources.lock().refused().cloned()
    }

    /// Who says the rule that counts: `code`, a center's address, a file's path.
    pub fn source(&self) -> Option<String> {
        let current = self.listener.sources.lock().current();
        current.source.as_deref().map(str::to_owned)
    }

    /// How long some center has not been able to say what it has under this key; `None` while all can, and without any.
    pub fn stale_for(&self) -> Option<Duration> {
        self.listener.silent.longest()
    }

    /// Waits until another rule counts than when this was last waited for.
    ///
    /// # Cancel safety
    ///
    /// Safe: a change that was not told of is told of next time.
    pub async fn changed(&mut self) {
        // The sender is in the listener, which is held here, so there is no error.
        let _ = self.changes.changed().await;
    }
}

impl<R: fmt::Debug> fmt::Debug for Followed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed")
            .field("key", &self.subscribed.key)
            .field("current", &self.listener.current.load_full())
            .finish_non_exhaustive()
    }
}

/// Gives a key back when it is dropped.
pub(super) struct Subscribed {
    pub(super) book: Weak<Shared>,
    pub(super) key: Arc<str>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        if let Some(book) = self.book.upgrade() {
            book.leave(&self.key);
        }
    }
}

/// What is said under one key.
pub(super) struct Topic {
    key: Arc<str>,
    said: Mutex<Said>,
    silent: Arc<Silent>,
}

/// The centers that cannot say what they have, by their positions, and since when.
#[derive(Default)]
struct Silent(Mutex<Vec<(usize, Instant)>>);

impl Silent {
    fn longest(&self) -> Option<Duration> {
        let silent = self.0.lock();
        silent.iter().map(|(_, since)| since.elapsed()).max()
    }
}

#[derive(Default)]
struct Said {
    /// The last of each place, in the order in which they were said.
    texts: Vec<Text>,
    /// By the type of the rule.
    listeners: HashMap<TypeId, Arc<dyn Listen>>,
}

#[derive(Clone)]
pub(super) struct Text {
    pub(super) place: Place,
    pub(super) name: Arc<str>,
    /// `None` takes the last one back.
    pub(super) words: Option<Arc<str>>,
    /// Grows with each text of the place.
    pub(super) number: u64,
}

impl Topic {
    pub(super) fn new(key: Arc<str>) -> Self {
        Self {
            key,
            said: Mutex::default(),
            silent: Arc::default(),
        }
    }

    /// Notes whether the center at `index` can say what it has.
    pub(super) fn note_center(&self, index: usize, answers: bool) {
        let mut silent = self.silent.0.lock();
        let known = silent.iter().position(|(known, _)| *known == index);
        match (known, answers) {
            (Some(known), true) => drop(silent.swap_remove(known)),
            (None, false) => silent.push((index, Instant::now())),
            (Some(_), false) | (None, true) => {}
        }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Takes in what a place says, unless it has said something newer.
    pub(super) fn hear(&self, text: &Text) {
        // Held until all have heard it, so that texts arrive in order.
        let mut said = self.said.lock();
        let known = said.texts.iter().position(|old| old.place == text.place);
        if let Some(known) = known {
            if said.texts[known].number > text.number {
                return;
            }
            // A place that repeats itself is not newer, while each word from code is meant.
            if said.texts[known].words == text.words && text.place != Place::Call {
                return;
            }
            said.texts.remove(known);
        }
        said.texts.push(text.clone());
        for listener in said.listeners.values() {
            listener.hear(&self.key, text);
        }
    }

    /// The listener for rules of type `R`, which is made when the first one asks.
    pub(super) fn listener<R: Send + Sync + 'static>(
        &self,
        parse: impl Fn(&str) -> Result<R, RuleError> + Send + Sync + 'static,
    ) -> Arc<Listener<R>> {
        let mut said = self.said.lock();
        if let Some(known) = said.listeners.get(&TypeId::of::<R>()) {
            let known = Arc::clone(known).into_any().downcast();
            return known.expect("invariant: a listener is kept under the type of its rule");
        }
        let listener = Arc::new(Listener {
            parse: Box::new(parse),
            sources: Mutex::new(Sources::new(strength)),
            current: ArcSwapOption::empty(),
            changes: watch::Sender::new(()),
            silent: Arc::clone(&self.silent),
        });
        for text in &said.texts {
            listener.hear(&self.key, text);
        }
        let kept: Arc<dyn Listen> = Arc::clone(&listener) as _;
        said.listeners.insert(TypeId::of::<R>(), kept);
        listener
    }
}

/// What those have in common who go by one key as rules of one type.
pub(super) struct Listener<R> {
    parse: Box<Parse<R>>,
    sources: Mutex<Sources<R, RuleError>>,
    current: ArcSwapOption<R>,
    changes: watch::Sender<()>,
    silent: Arc<Silent>,
}

type Parse<R> = dyn Fn(&str) -> Result<R, RuleError> + Send + Sync;

trait Listen: Send + Sync {
    fn hear(&self, key: &str, text: &Text);

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<R: Send + Sync + 'static> Listen for Listener<R> {
    fn hear(&self, key: &str, said: &Text) {
        let parse = |text: &str| {
            let is_empty = text.trim().is_empty();
            (!is_empty).then(|| (self.parse)(text)).transpose()
        };
        let mut sources = self.sources.lock();
        let taken = sources.take(said.place, &said.name, said.words.as_deref(), parse);
        if let Err(error) = taken {
            metrics::counter!("dubbo_rule_parse_error_total", "key" => key.to_owned()).increment(1);
            tracing::warn!(key, source = &*said.name, %error, "the rule cannot be read; the last good one stays");
            return;
        }
        let current = sources.current();
        let before = self.current.load_full();
        let is_same = match (&before, &current.rule) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        let source = current.source.as_deref().unwrap_or("nobody");
        tracing::info!(key, source, "the rule changed");
        self.current.store(current.rule);
        self.changes.send_replace(());
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Code knows best, and a file is what counts while no center says anything.
fn strength(place: Place) -> u8 {
    match place {
        Place::Configuration => 0,
        Place::File => 1,
        Place::Center(_) => 2,
        Place::Call => 3,
    }
}
