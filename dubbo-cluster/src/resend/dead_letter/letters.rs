//! All dead letters of one instance.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use async_trait::async_trait;
use dubbo_core::{
    extension::{BoxError, Extensions},
    invocation::Invocation,
    invoker::Invoker,
    service::{ServiceDescriptor, ServiceKey},
    status::Status,
};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::{
    filter::{Filter, Listing, Page},
    letter::{DeadLetter, LetterId},
    lost::{Lost, LostCalls, Replaying, Summary},
    memory::MemoryStore,
    options::{DEFAULT_STORE, DeadLetterOptions},
    replay::Precondition,
    store::{DeadLetterStore, StoreError},
};

/// The dead letters of one instance: calls that nobody tries again by themselves (`docs/spec/cluster.md` §7.12). A clone is
/// another handle to the same.
///
/// Where there are several stores, all are asked; letters are in the order in which they were written.
#[derive(Clone, Default)]
pub struct DeadLetters(Arc<Inner>);

struct Inner {
    stores: Mutex<Stores>,
    references: Mutex<Vec<Reference>>,
    precondition: Mutex<Option<Arc<dyn Precondition>>>,
    listener: Mutex<Option<Listener>>,
    /// What has to end before the instance does.
    queues: Mutex<Vec<Weak<dyn Drains>>>,
    /// Calls that are being given up.
    settling: Mutex<JoinSet<()>>,
    room: Arc<Semaphore>,
    replaying: Mutex<HashSet<LetterId>>,
    process: u64,
}

type Listener = Arc<dyn Fn(&DeadLetter) + Send + Sync>;

/// Those that were asked for, by lower-case name.
#[derive(Default)]
struct Stores {
    by_name: BTreeMap<String, Arc<dyn DeadLetterStore>>,
    default: Option<String>,
}

/// Who can make calls of a service.
struct Reference {
    service: ServiceKey,
    descriptor: Arc<ServiceDescriptor>,
    invoker: Weak<dyn Invoker>,
}

/// What holds calls that callers were told will be made.
#[async_trait]
pub(crate) trait Drains: Send + Sync {
    /// Makes them by `deadline`, and gives up the rest.
    async fn drain(&self, deadline: Instant);
}

impl DeadLetters {
    /// Opens the store that `options` name, for letters whose policy names no other.
    ///
    /// # Errors
    ///
    /// No such store is linked, or it cannot be opened.
    pub fn open(
        &self,
        extensions: &Extensions,
        options: &DeadLetterOptions,
    ) -> Result<(), BoxError> {
        let name = options.store().to_ascii_lowercase();
        let store = extensions.create::<dyn DeadLetterStore>(&name, &options.url())?;
        self.add(&name, store);
        Ok(())
    }

    /// Makes `store` the one for letters whose policy names no other.
    pub fn add(&self, name: &str, store: Arc<dyn DeadLetterStore>) {
        let mut stores = self.0.stores.lock();
        let name = name.to_ascii_lowercase();
        stores.by_name.insert(name.clone(), store);
        stores.default = Some(name);
    }

    /// The store called `name`, made with its defaults if it is not there.
    pub(super) fn store(
        &self,
        extensions: &Extensions,
        name: &str,
    ) -> Result<Arc<dyn DeadLetterStore>, BoxError> {
        let name = name.to_ascii_lowercase();
        if let Some(store) = self.0.stores.lock().by_name.get(&name) {
            return Ok(Arc::clone(store));
        }
        let url = DeadLetterOptions::default().url();
        let made = extensions.create::<dyn DeadLetterStore>(&name, &url)?;
        let mut stores = self.0.stores.lock();
        Ok(Arc::clone(stores.by_name.entry(name).or_insert(made)))
    }

    /// Keeps `letter` in the store called `store`, or where letters are kept.
    ///
    /// # Errors
    ///
    /// There is no such store, or it does not keep the letter.
    pub async fn keep(&self, store: Option<&str>, letter: DeadLetter) -> Result<(), StoreError> {
        let reason = letter.reason.name();
        let store = self.named(store)?;
        store.put(Arc::new(letter)).await?;
        metrics::counter!("dubbo_dead_letters_total", "reason" => reason).increment(1);
        Ok(())
    }

    /// Does with a call that is given up what its policy says, without having anybody wait for it.
    ///
    /// The replay of a dead letter is left alone: whoever replays it hears how it ended. When very many calls are being given up
    /// at once, further ones are only told and counted.
    pub fn settle(&self, policy: &LostCalls, lost: Lost) {
        if lost.call.extensions.get::<Replaying>().is_some() {
            return;
        }
        let reason = lost.reason.name();
        metrics::counter!("dubbo_calls_given_up_total", "reason" => reason).increment(1);
        tracing::warn!(
            service = %lost.call.service, method = lost.call.method.name(), reason, attempts = lost.attempts.len(),
            error = %lost.status, "a call is given up"
        );
        if !policy.takes(lost.reason) {
            return;
        }
        let Ok(permit) = Arc::clone(&self.0.room).try_acquire_owned() else {
            return missed(
                &lost.summary(),
                &"too many calls are being given up at once",
            );
        };
        let (letters, outcome) = (self.clone(), Arc::clone(&policy.outcome));
        let mut settling = self.0.settling.lock();
        while settling.try_join_next().is_some() {}
        settling.spawn(async move {
            let summary = lost.summary();
            if let Err(error) = outcome.settle(lost, &letters).await {
                missed(&summary, &error);
            }
            drop(permit);
        });
    }

    /// The letters that `filter` means, a page of them.
    ///
    /// # Errors
    ///
    /// A store cannot be read.
    pub async fn list(&self, filter: &Filter, page: Page) -> Result<Listing, StoreError> {
        let mut letters = self
            .meant(filter, page.after, page.limit.saturating_add(1))
            .await?;
        let has_more = letters.len() > page.limit;
        letters.truncate(page.limit);
        let letters: Vec<_> = letters.into_iter().map(|(_, letter)| letter).collect();
        let next = letters.last().filter(|_| has_more).map(|letter| letter.id);
        Ok(Listing { letters, next })
    }

    /// The letter of this id.
    ///
    /// # Errors
    ///
    /// A store cannot be read.
    pub async fn get(&self, id: LetterId) -> Result<Option<Arc<DeadLetter>>, StoreError> {
        let found = self.meant(&Filter::id(id), None, 1).await?;
        Ok(found.into_iter().next().map(|(_, letter)| letter))
    }

    /// Removes the letters that `filter` means; how many there were.
    ///
    /// # Errors
    ///
    /// A store cannot be read or written. Some may have been removed.
    pub async fn purge(&self, filter: &Filter) -> Result<u64, StoreError> {
        let mut purged = 0;
        self.each(filter, async |store, letter| {
            purged += u64::from(store.remove(letter.id).await?);
            Ok(())
        })
        .await?;
        Ok(purged)
    }

    /// Has replays leave the letters that `filter` means alone, until they are [released](Self::release); how many there are.
    ///
    /// # Errors
    ///
    /// As [`purge`](Self::purge).
    pub async fn hold(&self, filter: &Filter) -> Result<u64, StoreError> {
        self.set_held(filter, true).await
    }

    /// Lets the letters that `filter` means be replayed again, as if no replay had failed; how many there are.
    ///
    /// # Errors
    ///
    /// As [`purge`](Self::purge).
    pub async fn release(&self, filter: &Filter) -> Result<u64, StoreError> {
        self.set_held(filter, false).await
    }

    /// How many records the stores cannot read.
    pub fn unreadable(&self) -> u64 {
        self.all_stores()
            .iter()
            .map(|store| store.unreadable())
            .sum()
    }

    /// Has `precondition` decide before each replay whether it is made.
    pub fn set_precondition(&self, precondition: impl Precondition) {
        *self.0.precondition.lock() = Some(Arc::new(precondition));
    }

    /// Has `listener` hear of each call that is given up with the outcome `notify`. It must not block.
    pub fn listen(&self, listener: impl Fn(&DeadLetter) + Send + Sync + 'static) {
        *self.0.listener.lock() = Some(Arc::new(listener));
    }

    /// Has calls of `service` replayed by `invoker`, for as long as somebody else holds that.
    pub fn refer(
        &self,
        service: &ServiceKey,
        descriptor: &Arc<ServiceDescriptor>,
        invoker: &Arc<dyn Invoker>,
    ) {
        let mut references = self.0.references.lock();
        references.retain(|reference| reference.invoker.strong_count() > 0);
        references.push(Reference {
            service: service.clone(),
            descriptor: Arc::clone(descriptor),
            invoker: Arc::downgrade(invoker),
        });
    }

    /// Ends what makes calls again: each that waits has one last attempt, and what is left by `deadline` is given up.
    ///
    /// # Cancel safety
    ///
    /// What has begun goes on when the future is dropped; call it again for the rest.
    pub async fn drain(&self, deadline: Instant) {
        let queues: Vec<_> = {
            let queues = self.0.queues.lock();
            queues.iter().filter_map(Weak::upgrade).collect()
        };
        join_all(queues.iter().map(|queue| queue.drain(deadline))).await;
    }

    /// Waits until all that is given up is kept, and closes the stores. It takes a moment past `deadline` if it has to:
    /// nothing else knows of these calls any more.
    ///
    /// # Cancel safety
    ///
    /// As [`drain`](Self::drain).
    pub async fn close(&self, deadline: Instant) {
        let patience = deadline.max(Instant::now() + LAST_WORDS);
        if timeout_at(patience, self.settled()).await.is_err() {
            let unkept = ROOM - self.0.room.available_permits();
            tracing::error!(unkept, "calls that were given up are not kept in time");
        }
        join_all(self.all_stores().iter().map(|store| store.close())).await;
    }

    /// Waits until all calls that were given up by now are dealt with.
    pub async fn settled(&self) {
        let mut settling = std::mem::take(&mut *self.0.settling.lock());
        while settling.join_next().await.is_some() {}
    }

    /// Has `queue` end before the instance does.
    pub(crate) fn drains(&self, queue: &Arc<impl Drains + 'static>) {
        let mut queues = self.0.queues.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        let queue: Weak<dyn Drains> = Arc::downgrade(queue) as _;
        queues.push(queue);
    }

    pub(crate) fn tell(&self, letter: &DeadLetter) {
        let listener = self.0.listener.lock().clone();
        if let Some(listener) = listener {
            listener(letter);
        }
    }

    /// Who decides whether a replay is made, if anybody.
    pub(crate) fn precondition(&self) -> Option<Arc<dyn Precondition>> {
        self.0.precondition.lock().clone()
    }

    /// Whether `id` is not being replayed already; if so it is from now on, until the value is dropped.
    pub(super) fn begin_replay(&self, id: LetterId) -> Option<Replays<'_>> {
        let begins = self.0.replaying.lock().insert(id);
        begins.then_some(Replays(self, id))
    }

    /// Makes the call of `letter`.
    pub(crate) async fn call(
        &self,
        letter: &DeadLetter,
        method: Option<(&ServiceKey, &str)>,
    ) -> Result<Result<(), Status>, String> {
        let (service, name) = method.unwrap_or((&letter.service, &letter.method));
        let (invoker, method) = {
            let references = self.0.references.lock();
            let known = references
                .iter()
                .filter(|reference| reference.service == *service)
                .filter_map(|reference| {
                    Some((reference.invoker.upgrade()?, &reference.descriptor))
                });
            let mut known = known.peekable();
            if known.peek().is_none() {
                return Err(format!(
                    "this program has no reference of {service}: refer to it first"
                ));
            }
            let found = known.find_map(|(invoker, descriptor)| {
                let found = if method.is_some() {
                    descriptor.find(name)
                } else {
                    letter.method_in(descriptor)
                };
                Some((invoker, found?))
            });
            found.ok_or_else(|| format!("{service} has no method {name}"))?
        };
        let mut call: Invocation = letter.call(method);
        call.service = Arc::new(service.clone());
        call.extensions.insert(Replaying);
        Ok(invoker.invoke(call).await.map(drop))
    }

    /// The process that this runs in, for the rule about letters that fail everywhere.
    pub(super) fn process(&self) -> u64 {
        self.0.process
    }

    /// Letters as another process would have them, over the same store.
    #[cfg(test)]
    pub(super) fn of_process(process: u64) -> Self {
        Self(Arc::new(Inner {
            process,
            ..Inner::default()
        }))
    }

    /// The letters that `filter` means, with their stores, at most `limit` after `after`.
    pub(super) async fn meant(
        &self,
        filter: &Filter,
        after: Option<LetterId>,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let mut all = Vec::new();
        for store in self.all_stores() {
            let mut cursor = after;
            let mut found = 0;
            if let Some(ids) = filter.named() {
                for id in ids.iter().filter(|id| Some(**id) > after) {
                    let letter = store.get(*id).await?;
                    let letter = letter.filter(|letter| filter.accepts(letter));
                    all.extend(letter.map(|letter| (Arc::clone(&store), letter)));
                }
                continue;
            }
            while found < limit {
                let page = store.page(cursor, SCANNED).await?;
                let is_last = page.len() < SCANNED;
                cursor = page.last().map(|letter| letter.id).or(cursor);
                let meant = page.into_iter().filter(|letter| filter.accepts(letter));
                let before = all.len();
                all.extend(meant.map(|letter| (Arc::clone(&store), letter)));
                found += all.len() - before;
                if is_last {
                    break;
                }
            }
        }
        all.sort_by_key(|(_, letter)| letter.id);
        all.truncate(limit);
        Ok(all)
    }

    /// Does something with each letter that `filter` means.
    async fn each(
        &self,
        filter: &Filter,
        mut act: impl AsyncFnMut(&dyn DeadLetterStore, &DeadLetter) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let letters = self.meant(filter, after, SCANNED).await?;
            let Some((_, last)) = letters.last() else {
                return Ok(());
            };
            after = Some(last.id);
            for (store, letter) in &letters {
                act(&**store, letter).await?;
            }
        }
    }

    async fn set_held(&self, filter: &Filter, held: bool) -> Result<u64, StoreError> {
        let mut count = 0;
        self.each(filter, async |store, letter| {
            let mut letter = letter.clone();
            letter.held = held;
            letter.failed_in.clear();
            store.put(Arc::new(letter)).await?;
            count += 1;
            Ok(())
        })
        .await?;
        Ok(count)
    }

    fn all_stores(&self) -> Vec<Arc<dyn DeadLetterStore>> {
        self.0.stores.lock().by_name.values().cloned().collect()
    }

    /// The store called `name`, or the one for all others.
    fn named(&self, name: Option<&str>) -> Result<Arc<dyn DeadLetterStore>, StoreError> {
        let mut stores = self.0.stores.lock();
        if stores.default.is_none() && name.is_none() {
            let memory = stores.by_name.entry(DEFAULT_STORE.to_owned());
            memory.or_insert_with(|| Arc::new(MemoryStore::new(DEFAULT_CAPACITY)));
            stores.default = Some(DEFAULT_STORE.to_owned());
        }
        let name = name.or(stores.default.as_deref());
        let name = name.unwrap_or(DEFAULT_STORE).to_ascii_lowercase();
        let store = stores.by_name.get(&name).cloned();
        store.ok_or_else(|| StoreError::Unknown {
            store: name,
            reason: format!("there are {:?}", stores.by_name.keys().collect::<Vec<_>>()),
        })
    }
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            stores: Mutex::default(),
            references: Mutex::default(),
            precondition: Mutex::default(),
            listener: Mutex::default(),
            queues: Mutex::default(),
            settling: Mutex::default(),
            room: Arc::new(Semaphore::new(ROOM)),
            replaying: Mutex::default(),
            process: *THIS_PROCESS.get_or_init(|| fastrand::u64(1..)),
        }
    }
}

impl fmt::Debug for DeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stores = self.0.stores.lock();
        f.debug_struct("DeadLetters")
            .field("stores", &stores.by_name.keys())
            .finish_non_exhaustive()
    }
}

/// A letter, and where it is.
pub(super) type Found = (Arc<dyn DeadLetterStore>, Arc<DeadLetter>);

/// A replay that is under way.
pub(super) struct Replays<'a>(&'a DeadLetters, LetterId);

impl Drop for Replays<'_> {
    fn drop(&mut self) {
        self.0.0.replaying.lock().remove(&self.1);
    }
}

/// A call is given up and nothing keeps it.
fn missed((service, method, reason): &Summary, error: &dyn fmt::Display) {
    let (method, reason) = (method.name(), reason.name());
    metrics::counter!("dubbo_dead_letters_missed_total", "reason" => reason).increment(1);
    tracing::error!(%service, method, reason, %error, "a call that is given up is not kept");
}

static THIS_PROCESS: OnceLock<u64> = OnceLock::new();

/// So many calls may be given up at once.
const ROOM: usize = 1024;

/// `docs/spec/cluster.md` §7.12: as many as `failbacktasks`.
const DEFAULT_CAPACITY: usize = 100;

/// So many letters are read from a store at once.
const SCANNED: usize = 256;

/// What keeping may take after the end of the time.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(500);
