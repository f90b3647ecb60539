//! What a registry server can do, as the code that all registries share sees it.
//!
//! A backend makes plain requests; each may fail, and none is repeated here. That what was wished for stays fulfilled, and
//! that what is followed stays up to date, is the work of [`reconcile`](crate::reconcile) for all backends alike.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    list::List,
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// The client of one server, or of several that are one. The plugins of an instance share it through
/// [`Clients`](crate::clients::Clients).
///
/// Making one does not connect, and may happen outside of a runtime. Asking for [`session`](Self::session) or for anything
/// else starts it.
#[async_trait]
pub(crate) trait Client: Send + Sync + 'static {
    /// What messages call the server: `zookeeper://10.0.0.1:2181`.
    fn address(&self) -> &str;

    /// The session, as it changes. From now on the client connects, and connects again whenever it has to; nothing else
    /// is asked of it as long as the session is down.
    fn session(&self) -> watch::Receiver<Session>;

    /// How long things take on this kind of server.
    fn timing(&self) -> Timing {
        Timing::default()
    }

    /// Those who share this client: a field of it, which the code above keeps.
    fn users(&self) -> &Users;

    /// Ends the session; everything that was shown goes, and watches end. The last of [`users`](Self::users) calls it.
    async fn close(&self);
}

/// A server where programs show entries to each other: as long as the program that shows one is alive, it is there.
#[async_trait]
pub(crate) trait Backend: Client {
    /// What an entry says.
    type Value: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// Makes `entries` all that this client shows in `place`: those of before that are not among them go. An entry with
    /// an id that another client shows too, as a program does that was killed and started again, is taken over where the
    /// server has one for each id. Showing the same again repairs what is missing and is no news to anybody else.
    async fn show(
        &self,
        place: &Place,
        entries: &[Entry<Self::Value>],
    ) -> Result<(), RegistryError>;

    /// All that anybody shows in `place`, in the order of the ids. A place that is not there is empty.
    async fn read(&self, place: &Place) -> Result<List<Entry<Self::Value>>, RegistryError>;

    /// The names of all places in `folder`, for those who follow every service. A folder that is not there is empty.
    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError>;

    /// Sends a hint whenever what [`read`](Self::read) gives of `place` may have changed from now on, as long as the guard
    /// lives and the session does. A hint too many does no harm.
    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError>;

    /// As [`watch`](Self::watch), for [`names`](Self::names). Servers that cannot tell give a guard and no hints: then
    /// [`Timing::poll`] is what there is.
    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError>;

    /// Sends a hint whenever somebody else may have taken away or changed what this client shows in `place` under `id`, as
    /// long as the guard lives and the session does. Where nobody else can, or the server cannot tell, there are no hints.
    async fn watch_own(
        &self,
        _place: &Place,
        _id: &str,
        _hint: Hint,
    ) -> Result<Guard, RegistryError> {
        Ok(Guard::new(()))
    }
}

/// A server where texts are kept under keys, whoever is alive.
#[async_trait]
pub(crate) trait TextStore: Client {
    /// The text under `key`.
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError>;

    /// Writes the text under `key`, whatever there was.
    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError>;

    /// Writes the text under `key` if it still is as it was when `ticket` was given out.
    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError>;

    /// Takes the text under `key` away. One that is not there is gone.
    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError>;

    /// The names of the keys of `group`. Where the server cannot tell, it is refused.
    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError>;

    /// Sends a hint whenever what [`get`](Self::get) gives of `key` may have changed from now on, as long as the guard
    /// lives and the session does.
    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError>;
}

/// Where entries of several programs stand together: a folder of ZooKeeper (`/dubbo/a.B/providers`), a prefix of etcd, a
/// service of Nacos (`DEFAULT_GROUP@@providers:a.B::`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) Arc<str>);

/// What stands in a place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry<V> {
    /// Its name there: an encoded URL, `host:port`.
    pub(crate) id: Arc<str>,
    /// What it says.
    pub(crate) value: V,
}

/// The entries in the order of their ids.
pub(crate) fn by_id<V>(mut entries: Vec<Entry<V>>) -> List<Entry<V>> {
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    entries.into()
}

/// Where a text is kept: `group` is a folder of ZooKeeper (`/dubbo/mapping`) or a group of Nacos, `name` a node or data id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TextKey {
    pub(crate) group: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl fmt::Display for TextKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.name, self.group)
    }
}

/// A text as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) content: Arc<str>,
    /// What [`TextStore::compare_and_put`] compares.
    pub(crate) ticket: Ticket,
}

/// Whether a server can be reached, and what of the past it still knows.
#[derive(Debug, Clone)]
pub(crate) enum Session {
    /// It cannot, or not yet; `None` before the first attempt has failed.
    Down(Option<Arc<RegistryError>>),
    /// It can.
    Up {
        /// Grows when the server has forgotten: what was shown and watched before is gone and comes again.
        session: u64,
        /// Grows with each connection: what was followed may have changed unseen and is read again.
        connection: u64,
    },
}

/// Tells that something may have changed.
#[derive(Debug, Clone)]
pub(crate) struct Hint(pub(crate) Arc<Notify>);

impl Hint {
    /// Gives it. Several in a row may arrive as one.
    pub(crate) fn give(&self) {
        self.0.notify_one();
    }
}

/// Ends a watch when it is dropped; dropping never blocks.
pub(crate) struct Guard(
    #[allow(dead_code, reason = "only its drop counts")] Box<dyn Any + Send + Sync>,
);

impl Guard {
    /// A guard that drops `what`.
    pub(crate) fn new(what: impl Any + Send + Sync) -> Self {
        Self(Box::new(what))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// Those who share a client: the last one ends it, and the most careful one says how often it looks and how long it doubts.
#[derive(Debug, Default)]
pub(crate) struct Users(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    users: usize,
    over: bool,
    poll: Option<Duration>,
    grace: Option<Duration>,
}

impl Users {
    /// One more.
    pub(crate) fn join(&self) {
        self.0.lock().users += 1;
    }

    /// One less; whether it was the last one, who has to close the client.
    pub(crate) fn leave(&self) -> bool {
        let mut count = self.0.lock();
        count.users = count.users.saturating_sub(1);
        let last = count.users == 0 && !count.over;
        count.over |= last;
        last
    }

    /// Whether the last one has left: the client is of no more use.
    pub(crate) fn are_gone(&self) -> bool {
        self.0.lock().over
    }

    /// One of them wants [`Timing::poll`] to be `every`. If several want something, it is the shortest.
    pub(crate) fn want_poll(&self, every: Duration) {
        let mut count = self.0.lock();
        count.poll = Some(count.poll.map_or(every, |poll| poll.min(every)));
    }

    /// What they want [`Timing::poll`] to be, if anything.
    pub(crate) fn poll(&self) -> Option<Duration> {
        self.0.lock().poll
    }

    /// One of them wants [`Timing::grace`] to be `lasts`. If several want something, it is the longest.
    pub(crate) fn want_grace(&self, lasts: Duration) {
        let mut count = self.0.lock();
        count.grace = Some(count.grace.map_or(lasts, |grace| grace.max(lasts)));
    }

    /// What they want [`Timing::grace`] to be, if anything.
    pub(crate) fn grace(&self) -> Option<Duration> {
        self.0.lock().grace
    }
}

/// How long things take on one kind of server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// How long after a new connection or session what is missing is kept, because those who showed it may still be
    /// coming back, unless [users](Users::want_grace) want something else.
    pub(crate) grace: Duration,
    /// How long after an empty list it is read again before it is believed (`docs/spec/metadata.md` §6.2).
    pub(crate) confirm_empty: Duration,
    /// How often what is followed is read without a hint, and what is shown is shown again, unless
    /// [users](Users::want_poll) want something else.
    pub(crate) poll: Duration,
    /// How long one request may take. A client's own limit is shorter, or what it says about the failure is never heard.
    pub(crate) limit: Duration,
}

impl Default for Timing {
    /// No grace, 1 s, 60 s, 5 s.
    fn default() -> Self {
        Self {
            grace: Duration::ZERO,
            confirm_empty: Duration::from_secs(1),
            poll: Duration::from_mins(1),
            limit: Duration::from_secs(5),
        }
    }
}

/// The [grace](Timing::grace) of servers that programs reach over a network (`docs/spec/registry.md` §9). Programs need
/// 1 to 10 s to notice that they were forgotten and to come back, and longer where the server is slow or they are many.
#[cfg(any(feature = "etcd", feature = "nacos", feature = "zookeeper"))]
pub(crate) const OUTAGE_GRACE: Duration = Duration::from_secs(30);
