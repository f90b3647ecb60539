//! What stands in one memory registry, and who is told of changes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};

use dubbo_core::{
    list::List,
    metadata::{CasOutcome, Ticket},
    url::Url,
};
use parking_lot::Mutex;

use crate::backend::{Entry, Hint, Place, Text, TextKey};

/// The content of a registry. Its clients share it.
#[derive(Default)]
pub(crate) struct Store(Mutex<Content>);

#[derive(Default)]
struct Content {
    /// Numbers clients, watches and changes.
    last: u64,
    places: BTreeMap<Place, Standings>,
    texts: BTreeMap<TextKey, Text>,
    watches: HashMap<u64, (Watched, Hint)>,
}

/// What stands in a place.
#[derive(Default)]
struct Standings {
    /// By id, and by when they came.
    all: Vec<Standing>,
    /// What everybody reads.
    read: List<Entry<Url>>,
}

struct Standing {
    client: u64,
    /// When it came to be as it is.
    since: u64,
    entry: Entry<Url>,
}

/// What a watch is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Watched {
    Names(Place),
    Place(Place),
    Text(TextKey),
}

impl Store {
    /// A number that nobody else has.
    pub(super) fn number(&self) -> u64 {
        self.0.lock().next()
    }

    /// Makes `entries` all that `client` shows in `place`.
    pub(super) fn show(&self, client: u64, place: &Place, entries: &[Entry<Url>]) {
        let mut content = self.0.lock();
        let since = content.next();
        let standing = content.places.entry(place.clone()).or_default();
        let were_there = standing.all.len();
        let changed = standing.show(client, since, entries);
        let is_empty = standing.all.is_empty();
        if is_empty {
            content.places.remove(place);
        }
        let mut hints = Vec::new();
        if changed {
            hints.extend(content.hints(&Watched::Place(place.clone())));
        }
        if is_empty != (were_there == 0) {
            for (at, _) in place.0.match_indices('/') {
                hints.extend(content.hints(&Watched::Names(Place(place.0[..at].into()))));
            }
        }
        drop(content);
        give(&hints);
    }

    /// Takes back all that `client` shows.
    pub(super) fn leave(&self, client: u64) {
        let places: Vec<_> = {
            let content = self.0.lock();
            let of_client = |at: &Standings| at.all.iter().any(|s| s.client == client);
            let places = content
                .places
                .iter()
                .filter(|(_, standing)| of_client(standing));
            places.map(|(place, _)| place.clone()).collect()
        };
        for place in places {
            self.show(client, &place, &[]);
        }
    }

    /// What stands in `place`. Of two entries with one id, the one that came last.
    pub(crate) fn read(&self, place: &Place) -> List<Entry<Url>> {
        let content = self.0.lock();
        let standing = content.places.get(place);
        standing.map_or_else(List::default, |standing| standing.read.clone())
    }

    /// The names of what is in `folder`.
    pub(super) fn names(&self, folder: &Place) -> Vec<Arc<str>> {
        let content = self.0.lock();
        let mut names: Vec<Arc<str>> = content
            .places
            .keys()
            .filter_map(|place| place.0.strip_prefix(&*folder.0)?.strip_prefix('/'))
            .filter_map(|rest| Some(rest.split('/').next()?.into()))
            .collect();
        names.dedup();
        names
    }

    /// The text under `key`.
    pub(super) fn text(&self, key: &TextKey) -> Option<Text> {
        self.0.lock().texts.get(key).cloned()
    }

    /// Writes `content` under `key`, if there is what `ticket` was given out for; without one, whatever there is.
    pub(super) fn write(&self, key: &TextKey, text: &str, ticket: Option<&Ticket>) -> CasOutcome {
        let mut content = self.0.lock();
        let found = content.texts.get(key).map(|text| text.ticket.clone());
        if ticket.is_some_and(|ticket| *ticket != found.unwrap_or_default()) {
            return CasOutcome::Conflict;
        }
        let version = content.next();
        let text = Text {
            content: text.into(),
            ticket: Ticket(Some(version.to_string())),
        };
        content.texts.insert(key.clone(), text);
        let hints: Vec<_> = content.hints(&Watched::Text(key.clone())).collect();
        drop(content);
        give(&hints);
        CasOutcome::Written
    }

    /// Takes the text under `key` away.
    pub(super) fn erase(&self, key: &TextKey) {
        let mut content = self.0.lock();
        if content.texts.remove(key).is_some() {
            let hints: Vec<_> = content.hints(&Watched::Text(key.clone())).collect();
            drop(content);
            give(&hints);
        }
    }

    /// The names of the keys of `group`.
    pub(super) fn keys(&self, group: &str) -> Vec<Arc<str>> {
        let content = self.0.lock();
        let keys = content.texts.keys().filter(|key| &*key.group == group);
        keys.map(|key| Arc::clone(&key.name)).collect()
    }

    /// Gives `hint` whenever what is `watched` changes, until [`unwatch`](Self::unwatch).
    pub(super) fn watch(&self, watched: Watched, hint: Hint) -> u64 {
        let mut content = self.0.lock();
        let id = content.next();
        content.watches.insert(id, (watched, hint));
        id
    }

    pub(super) fn unwatch(&self, id: u64) {
        self.0.lock().watches.remove(&id);
    }

    /// How many watches there are.
    #[cfg(test)]
    pub(crate) fn watchers(&self) -> usize {
        self.0.lock().watches.len()
    }
}

impl Standings {
    /// Makes `entries` all that `client` shows; whether that changed anything.
    fn show(&mut self, client: u64, since: u64, entries: &[Entry<Url>]) -> bool {
        let wanted: HashMap<&str, &Entry<Url>> = entries.iter().map(|e| (&*e.id, e)).collect();
        let mut shown = HashSet::new();
        let before = self.all.len();
        self.all.retain(|standing| {
            let entry = &standing.entry;
            let stays = standing.client != client || wanted.get(&*entry.id) == Some(&entry);
            if stays && standing.client == client {
                shown.insert(Arc::clone(&entry.id));
            }
            stays
        });
        let gone = before - self.all.len();
        let is_new = |entry: &&Entry<Url>| !shown.contains(&entry.id);
        let new = wanted.into_values().filter(is_new).map(|entry| Standing {
            client,
            since,
            entry: entry.clone(),
        });
        self.all.extend(new);
        let changed = gone > 0 || self.all.len() > before - gone;
        if changed {
            let order = |standing: &Standing| (Arc::clone(&standing.entry.id), standing.since);
            self.all.sort_by_cached_key(order);
            let last = self.all.chunk_by(|one, next| one.entry.id == next.entry.id);
            let now = last.filter_map(<[_]>::last).map(|standing| &standing.entry);
            // Who reads it finds what has changed without a look at the rest.
            self.read = if now
                .clone()
                .map(|e| &e.id)
                .eq(self.read.iter().map(|e| &e.id))
            {
                let others = now
                    .enumerate()
                    .filter(|(at, entry)| self.read[*at] != **entry);
                self.read
                    .with(others.map(|(at, entry)| (at, entry.clone())))
            } else {
                now.cloned().collect()
            };
        }
        changed
    }
}

impl Content {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Those to give when `what` has changed.
    fn hints(&self, what: &Watched) -> impl Iterator<Item = Hint> {
        let about = self
            .watches
            .values()
            .filter(move |(watched, _)| watched == what);
        about.map(|(_, hint)| hint.clone())
    }
}

/// Gives hints, of which each makes somebody read: not while the content is locked.
fn give(hints: &[Hint]) {
    for hint in hints {
        hint.give();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = self.0.lock();
        let entries: usize = content.places.values().map(|at| at.all.len()).sum();
        write!(f, "{entries} entries, {} texts", content.texts.len())
    }
}
