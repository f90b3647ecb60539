//! The rules of one instance.

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dubbo_core::config_center::ConfigCenter;
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::{
    Followed, RuleError,
    folder::{self, Look},
    follow::{Subscribed, Text, Topic},
    sources::Place,
};

/// The rules of one instance: from code, config centers and a folder, by key.
///
/// A rule from code counts before all, that of a center before that of a file, that of a file before one the program began
/// with, and of two centers the one that was said later. A text without content says nothing. Plugins share one with
/// `cx.shared::<RuleBook>()`; a clone is the same book.
///
/// What it watches goes on as long as the book lives, or until it is [closed](Self::close).
#[derive(Clone, Default)]
pub struct RuleBook(Arc<Shared>);

#[derive(Default)]
pub(super) struct Shared {
    pages: Mutex<Pages>,
    /// Numbers what is said.
    said: AtomicU64,
    /// What centers have not said yet, by their positions.
    owed: watch::Sender<Vec<Owed>>,
}

#[derive(Default)]
struct Pages {
    by_key: HashMap<Arc<str>, Page>,
    centers: Vec<Center>,
    folder: Option<Folder>,
}

struct Page {
    topic: Arc<Topic>,
    /// How many follow it.
    followers: usize,
    /// What code says, so that the page stays without followers.
    is_said_by_code: bool,
    /// The same for what the program began with.
    is_configured: bool,
    /// Follows the key in each center.
    watches: JoinSet<()>,
}

#[derive(Clone)]
struct Center {
    store: Arc<dyn ConfigCenter>,
    group: Arc<str>,
    runtime: Handle,
}

/// What one center owes.
#[derive(Clone, Copy, Default)]
struct Owed {
    /// How many first answers are still to come.
    answers: usize,
    /// It has not answered in time: nobody waits for it until it does.
    is_late: bool,
}

struct Folder {
    asks: mpsc::UnboundedSender<oneshot::Sender<()>>,
    _task: JoinSet<()>,
}

impl RuleBook {
    /// Says a rule from code; `None` takes it back.
    pub fn put(&self, key: &str, text: Option<&str>) {
        self.say(key, Place::Call, BY_CODE, text);
    }

    /// Says a rule that the program begins with, which counts as long as nobody else says one under its key. Messages call
    /// the place `name`. `None` takes it back.
    pub fn configure(&self, key: &str, name: &str, text: Option<&str>) {
        self.say(key, Place::Configuration, name, text);
    }

    fn say(&self, key: &str, place: Place, name: &str, text: Option<&str>) {
        let mut pages = self.0.pages.lock();
        if !pages.by_key.contains_key(key) {
            if text.is_none() {
                return;
            }
            let page = self.0.page(&pages, key.into());
            pages.by_key.insert(key.into(), page);
        }
        let page = pages.by_key.get_mut(key);
        let page = page.expect("invariant: it was put there above");
        let is_said = match place {
            Place::Configuration => &mut page.is_configured,
            _ => &mut page.is_said_by_code,
        };
        *is_said = text.is_some();
        let topic = Arc::clone(&page.topic);
        let gone = pages.sweep(key);
        // Numbered under the lock: of two words the later one is the newer one.
        let number = self.0.number();
        drop(pages);
        drop(gone);
        topic.hear(&Text {
            place,
            name: name.into(),
            words: text.map(Into::into),
            number,
        });
    }

    /// Another place to ask: watched for each key that is followed, now and later, in the group [`GROUP`].
    ///
    /// # Panics
    ///
    /// Outside of a runtime: watching takes tasks.
    pub fn add_center(&self, center: Arc<dyn ConfigCenter>) {
        self.add_center_in(center, GROUP);
    }

    /// As [`add_center`](Self::add_center), with rules in another `group`, as dubbo-go looks for them when its config center
    /// has one.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub fn add_center_in(&self, center: Arc<dyn ConfigCenter>, group: &str) {
        let mut pages = self.0.pages.lock();
        let pages = &mut *pages;
        pages.centers.push(Center {
            store: center,
            group: group.into(),
            runtime: Handle::current(),
        });
        self.0.owed.send_modify(|owed| owed.push(Owed::default()));
        let index = pages.centers.len() - 1;
        for page in pages.by_key.values_mut() {
            self.0.watch(page, index, &pages.centers[index]);
        }
    }

    /// A folder of rule files, each called like its key and then `.yaml`, that is looked at every second. Only those of
    /// keys that are followed are read, up to [1 MiB](dubbo_core::yaml::MAX_BYTES). Another folder takes its place.
    ///
    /// # Panics
    ///
    /// Outside of a runtime: looking takes a task.
    pub fn set_folder(&self, path: impl Into<PathBuf>) {
        let (asks, asked) = mpsc::unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(folder::follow(path.into(), Arc::downgrade(&self.0), asked));
        self.0.pages.lock().folder = Some(Folder { asks, _task: task });
    }

    /// Follows the rule under `key`, such as `shop.Users::.condition-router` ([`key`](super::key) makes them).
    ///
    /// `parse` is run once for each text, outside of the way of calls. A text that it refuses keeps the last good one, is
    /// logged with key, source and place, counted (`dubbo_rule_parse_error_total{key}`), and told by
    /// [`error`](Followed::error). Those who follow one key as the same `R` share what the first one's `parse` makes of it.
    /// `parse` must not call this book.
    ///
    /// What centers and the folder say is not there at once: [`settled`](Self::settled) waits for it.
    pub fn follow<R: Send + Sync + 'static>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<R, RuleError> + Send + Sync + 'static,
    ) -> Followed<R> {
        let (topic, key) = self.0.join(key);
        let subscribed = Subscribed {
            book: Arc::downgrade(&self.0),
            key,
        };
        Followed::new(topic.listener(parse), subscribed)
    }

    /// Waits until all centers and the folder have said what they have under the keys that are followed by now, but no
    /// longer than `patience`. A center that is late is not waited for again before it has answered.
    pub async fn settled(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let look = {
            let pages = self.0.pages.lock();
            pages.folder.as_ref().and_then(|folder| {
                let (done, look) = oneshot::channel();
                folder.asks.send(done).ok().map(|()| look)
            })
        };
        if let Some(look) = look {
            // A folder that does not answer has been replaced, or takes its time, as one on a network may.
            let _ = timeout_at(until, look).await;
        }
        let mut owed = self.0.owed.subscribe();
        let paid = owed.wait_for(|owed| owed.iter().all(|owed| owed.answers == 0 || owed.is_late));
        if timeout_at(until, paid).await.is_err() {
            self.0.note_late(patience);
        }
    }

    /// Follows centers and files no more, and closes the centers. What they have said stays in force.
    pub async fn close(&self) {
        let (centers, watches, folder) = {
            let mut pages = self.0.pages.lock();
            let watches: Vec<_> = pages
                .by_key
                .values_mut()
                .map(|page| std::mem::take(&mut page.watches))
                .collect();
            let centers = std::mem::take(&mut pages.centers);
            (centers, watches, pages.folder.take())
        };
        drop(folder);
        for mut watches in watches {
            watches.shutdown().await;
        }
        let closed = centers.iter().map(|center| center.store.close());
        futures_util::future::join_all(closed).await;
    }
}

impl Shared {
    /// One more follows `key`.
    fn join(self: &Arc<Self>, key: &str) -> (Arc<Topic>, Arc<str>) {
        let mut pages = self.pages.lock();
        if !pages.by_key.contains_key(key) {
            let page = self.page(&pages, key.into());
            pages.by_key.insert(key.into(), page);
        }
        let (key, page) = pages
            .by_key
            .get_key_value(key)
            .map(|(key, _)| Arc::clone(key))
            .and_then(|key| pages.by_key.get_mut(&key).map(|page| (key, page)))
            .expect("invariant: it was put there above");
        page.followers += 1;
        (Arc::clone(&page.topic), key)
    }

    /// One less follows `key`.
    pub(super) fn leave(&self, key: &str) {
        let mut pages = self.pages.lock();
        if let Some(page) = pages.by_key.get_mut(key) {
            page.followers -= 1;
        }
        let gone = pages.sweep(key);
        // What a rule holds may be given back to this book when it is dropped.
        drop(pages);
        drop(gone);
    }

    /// Takes in what the folder has now: by key, `None` where it has nothing.
    pub(super) fn hear_files(&self, looks: Vec<(Arc<str>, Look)>) {
        for (key, look) in looks {
            let topic = {
                let pages = self.pages.lock();
                pages.by_key.get(&key).map(|page| Arc::clone(&page.topic))
            };
            if let Some(topic) = topic {
                topic.hear(&Text {
                    place: Place::File,
                    name: look.path.display().to_string().into(),
                    words: look.text,
                    number: self.number(),
                });
            }
        }
    }

    /// The keys that somebody follows.
    pub(super) fn keys(&self) -> Vec<Arc<str>> {
        self.pages.lock().by_key.keys().cloned().collect()
    }

    fn page(self: &Arc<Self>, pages: &Pages, key: Arc<str>) -> Page {
        let mut page = Page {
            topic: Arc::new(Topic::new(key)),
            followers: 0,
            is_said_by_code: false,
            is_configured: false,
            watches: JoinSet::new(),
        };
        for (index, center) in pages.centers.iter().enumerate() {
            self.watch(&mut page, index, center);
        }
        page
    }

    fn watch(self: &Arc<Self>, page: &mut Page, index: usize, center: &Center) {
        let owes = Owes::new(self, index);
        let watching = watch(center.clone(), index, Arc::clone(&page.topic), owes);
        page.watches.spawn_on(watching, &center.runtime);
    }

    fn note_late(&self, patience: Duration) {
        let names: Vec<String> = {
            let pages = self.pages.lock();
            let centers = pages.centers.iter();
            centers.map(|center| name_of(&*center.store)).collect()
        };
        self.owed.send_modify(|owed| {
            for (index, owed) in owed.iter_mut().enumerate() {
                if owed.answers > 0 && !owed.is_late {
                    owed.is_late = true;
                    tracing::warn!(
                        center = names.get(index),
                        patience_ms = patience.as_millis(),
                        "the config center has not said yet which rules it has; calls go on without them until it does"
                    );
                }
            }
        });
    }

    fn number(&self) -> u64 {
        self.said.fetch_add(1, Ordering::Relaxed)
    }
}

impl Pages {
    /// Takes away the page of `key` if nobody needs it.
    fn sweep(&mut self, key: &str) -> Option<Page> {
        let page = self.by_key.get(key)?;
        let is_needed = page.followers > 0 || page.is_said_by_code || page.is_configured;
        (!is_needed).then(|| self.by_key.remove(key)).flatten()
    }
}

impl fmt::Debug for RuleBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages = self.0.pages.lock();
        let centers = pages.centers.iter();
        f.debug_struct("RuleBook")
            .field("keys", &pages.by_key.keys().collect::<Vec<_>>())
            .field(
                "centers",
                &centers
                    .map(|center| name_of(&*center.store))
                    .collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}

/// Follows one key in one center for as long as it can be followed.
async fn watch(center: Center, index: usize, topic: Arc<Topic>, owes: Owes) {
    let (name, key) = (name_of(&*center.store), topic.key());
    let mut owes = Some(owes);
    let mut subscription = match center.store.watch(key, &center.group).await {
        Ok(subscription) => subscription,
        Err(error) => {
            tracing::warn!(center = name, key, %error, "the center is not asked for this rule");
            return;
        }
    };
    let name: Arc<str> = name.into();
    let mut update = subscription.current();
    // Trouble is told of once and not each time the center is tried again.
    let mut is_in_trouble = false;
    loop {
        topic.note_center(index, update.state.is_ok());
        match update.state {
            Ok(text) => {
                is_in_trouble = false;
                topic.hear(&Text {
                    place: Place::Center(index),
                    name: Arc::clone(&name),
                    words: text,
                    number: update.epoch,
                });
                if let Some(owes) = owes.take() {
                    owes.answered();
                }
            }
            Err(error) => {
                if !is_in_trouble {
                    tracing::warn!(center = &*name, key, %error, "the rule stays what it is");
                }
                is_in_trouble = true;
                // It knows that it cannot say; waiting on does not help.
                drop(owes.take());
            }
        }
        let Some(next) = subscription.changed().await else {
            return;
        };
        update = next;
    }
}

/// The first answer of a center under one key, which it owes until this is dropped.
struct Owes {
    book: Weak<Shared>,
    index: usize,
}

impl Owes {
    fn new(book: &Arc<Shared>, index: usize) -> Self {
        book.owed.send_modify(|owed| owed[index].answers += 1);
        Self {
            book: Arc::downgrade(book),
            index,
        }
    }

    fn answered(self) {
        self.change(|owed| owed.is_late = false);
    }

    fn change(&self, change: impl FnOnce(&mut Owed)) {
        if let Some(book) = self.book.upgrade() {
            book.owed.send_modify(|owed| change(&mut owed[self.index]));
        }
    }
}

impl Drop for Owes {
    fn drop(&mut self) {
        self.change(|owed| owed.answers -= 1);
    }
}

fn name_of(center: &dyn ConfigCenter) -> String {
    center.url().origin()
}

/// The group that rules are kept in, unless a center says otherwise.
pub const GROUP: &str = "dubbo";

/// What messages call [`RuleBook::put`].
const BY_CODE: &str = "code";
