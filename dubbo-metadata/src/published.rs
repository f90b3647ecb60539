//! What an instance has told about itself, and still answers for.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_hessian2::to_vec;
use parking_lot::RwLock;
use tokio::{sync::watch, time::Instant};

use crate::model::MetadataInfo;

/// Metadata with its encodings, which are made once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The metadata.
    pub info: Arc<MetadataInfo>,
    /// Its JSON, as it stands in a metadata report.
    pub json: Bytes,
    /// Its Java object, as `getMetadataInfo` answers it.
    pub hessian: Bytes,
}

impl Published {
    /// Encodes `info`.
    pub fn new(info: MetadataInfo) -> Self {
        Self {
            json: info.to_json(),
            hessian: object(&info),
            info: Arc::new(info),
        }
    }

    /// Its revision.
    pub fn revision(&self) -> &str {
        &self.info.revision
    }
}

fn object(info: &MetadataInfo) -> Bytes {
    to_vec(info)
        .expect("invariant: metadata nests three levels deep")
        .into()
}

/// The revisions that an instance answers for: the current ones, and those before them for as long as consumers may ask
/// (`docs/spec/metadata.md` §6.1).
#[derive(Debug)]
pub struct History {
    limits: HistoryLimits,
    /// Superseded ones in the order in which they were, then the current ones.
    entries: RwLock<Vec<Recorded>>,
    changes: watch::Sender<u64>,
}

/// How long superseded revisions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// How many are kept however old they are. Default 16.
    pub size: usize,
    /// How long each is kept however many there are. Default 10 min.
    pub retention: Duration,
}

/// One revision of a [`History`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// The metadata.
    pub published: Arc<Published>,
    /// When another took its place; `None` for a current one.
    pub superseded: Option<Instant>,
}

impl History {
    /// One with nothing in it.
    pub fn new(limits: HistoryLimits) -> Self {
        Self {
            limits,
            entries: RwLock::default(),
            changes: watch::Sender::default(),
        }
    }

    /// The metadata at `revision`, current or not.
    pub fn get(&self, revision: &str) -> Option<Arc<Published>> {
        self.entries
            .read()
            .iter()
            .find(|entry| entry.published.revision() == revision)
            .map(|entry| Arc::clone(&entry.published))
    }

    /// The metadata at `revision`, for somebody who asks this process for it. Counts how often that is superseded metadata.
    pub fn answer(&self, revision: &str) -> Option<Arc<Published>> {
        let entries = self.entries.read();
        let mut entries = entries.iter();
        let entry = entries.find(|entry| entry.published.revision() == revision)?;
        if entry.superseded.is_some() {
            let app = entry.published.info.app.clone();
            metrics::counter!("dubbo_metadata_history_hits_total", "app" => app).increment(1);
        }
        Some(Arc::clone(&entry.published))
    }

    /// The current metadata: one for each instance that the process registers, which is one unless a protocol listens on
    /// several ports; none when nothing is served.
    pub fn current(&self) -> Vec<Arc<Published>> {
        self.entries
            .read()
            .iter()
            .filter(|entry| entry.superseded.is_none())
            .map(|entry| Arc::clone(&entry.published))
            .collect()
    }

    /// All that there is, the current metadata last.
    pub fn all(&self) -> Vec<Recorded> {
        self.entries.read().clone()
    }

    /// Counts the times at which other metadata became current, to be woken by.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Makes `current` the current metadata, and forgets what nobody can ask for any more at `now`.
    pub fn replace(&self, current: &[Arc<Published>], now: Instant) {
        let mut entries = self.entries.write();
        let before = entries.iter().filter(|entry| entry.superseded.is_none());
        let is_same = before
            .map(|entry| entry.published.revision())
            .eq(current.iter().map(|published| published.revision()));
        entries.retain(|entry| {
            !current
                .iter()
                .any(|published| published.revision() == entry.published.revision())
        });
        for entry in entries.iter_mut() {
            entry.superseded.get_or_insert(now);
        }
        // The oldest first, as they were appended.
        let mut surplus = entries.len().saturating_sub(self.limits.size);
        entries.retain(|entry| {
            let is_over = entry
                .superseded
                .is_some_and(|at| now.saturating_duration_since(at) >= self.limits.retention);
            let forget = surplus > 0 && is_over;
            surplus -= usize::from(forget);
            !forget
        });
        entries.extend(current.iter().map(|published| Recorded {
            published: Arc::clone(published),
            superseded: None,
        }));
        drop(entries);
        if !is_same {
            self.changes.send_modify(|count| *count += 1);
        }
    }
}

impl Default for History {
    fn default() -> Self {
        Self::new(HistoryLimits::default())
    }
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            size: 16,
            retention: Duration::from_mins(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use dubbo_test::metrics::Numbers;

    use super::*;

    fn at(revision: usize) -> Arc<Published> {
        Arc::new(Published::new(MetadataInfo {
            revision: revision.to_string(),
            ..MetadataInfo::default()
        }))
    }

    fn known(history: &History, upto: usize) -> Vec<usize> {
        (0..upto)
            .filter(|revision| history.get(&revision.to_string()).is_some())
            .collect()
    }

    #[test]
    fn a_fresh_revision_is_never_forgotten_however_many_there_are() {
        let history = History::default();
        let now = Instant::now();
        for revision in 0..100 {
            history.replace(&[at(revision)], now);
        }
        assert_eq!(known(&history, 100).len(), 100);
        assert_eq!(history.current(), [at(99)]);
    }

    #[test]
    fn an_old_revision_is_forgotten_once_there_are_enough_newer_ones() {
        let history = History::default();
        let start = Instant::now();
        for revision in 0..30 {
            history.replace(&[at(revision)], start);
        }
        let HistoryLimits { retention, .. } = HistoryLimits::default();
        // One second too early, then late enough.
        history.replace(&[at(30)], start + retention - Duration::from_secs(1));
        assert_eq!(known(&history, 31).len(), 31);
        history.replace(&[at(31)], start + retention);
        assert_eq!(known(&history, 32), (15..32).collect::<Vec<_>>());
    }

    #[test]
    fn as_many_as_the_size_says_are_kept_for_ever() {
        for (size, retention) in [(0, 60), (3, 60), (16, 600)] {
            let retention = Duration::from_secs(retention);
            let history = History::new(HistoryLimits { size, retention });
            let start = Instant::now();
            for revision in 0..20 {
                history.replace(&[at(revision)], start);
            }
            // What is current now is superseded then.
            history.replace(&[at(20)], start + retention);
            let oldest = 20 - size.max(1);
            assert_eq!(
                known(&history, 21),
                (oldest..21).collect::<Vec<_>>(),
                "{size}"
            );
        }
    }

    #[test]
    fn a_revision_that_comes_back_is_current_again() {
        let history = History::default();
        let start = Instant::now();
        history.replace(&[at(1)], start);
        history.replace(&[at(2)], start);
        history.replace(&[at(1)], start);
        assert_eq!(history.current(), [at(1)]);
        history.replace(&[], start);
        assert_eq!(history.current(), []);
        assert!(history.get("1").is_some() && history.get("2").is_some());
    }

    #[test]
    fn several_instances_have_a_current_revision_each() {
        let history = History::default();
        let now = Instant::now();
        history.replace(&[at(1), at(2)], now);
        assert_eq!(history.current(), [at(1), at(2)]);
    }

    #[test]
    fn whoever_waits_is_woken_by_other_metadata_and_not_by_the_same() {
        let history = History::default();
        let mut changes = history.changes();
        let now = Instant::now();
        for (current, is_news) in [
            (&[][..], false),
            (&[at(1)], true),
            (&[at(1)], false),
            (&[at(1), at(2)], true),
            (&[at(2)], true),
            (&[], true),
        ] {
            history.replace(current, now);
            let woken = changes.has_changed().expect("the history is there");
            assert_eq!(woken, is_news, "{current:?}");
            changes.mark_unchanged();
        }
        assert_eq!(*changes.borrow(), 4);
    }

    #[test]
    fn all_tells_what_is_current_and_since_when_the_others_are_not() {
        let history = History::default();
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        history.replace(&[at(1)], start);
        history.replace(&[at(2)], later);
        history.replace(&[at(3)], later);
        let all = history.all();
        let all: Vec<_> = all
            .iter()
            .map(|one| (one.published.revision(), one.superseded))
            .collect();
        assert_eq!(all, [("1", Some(later)), ("2", Some(later)), ("3", None)]);
    }

    #[test]
    fn answers_with_superseded_metadata_are_counted() {
        let numbers = Numbers::default();
        let history = History::default();
        let now = Instant::now();
        history.replace(&[at(1)], now);
        history.replace(&[at(2)], now);
        metrics::with_local_recorder(&numbers, || {
            for (revision, is_known) in [("1", true), ("1", true), ("2", true), ("3", false)] {
                assert_eq!(history.answer(revision).is_some(), is_known, "{revision}");
            }
        });
        let hits = numbers.all();
        assert_eq!(
            hits,
            [("dubbo_metadata_history_hits_total{app=}".to_owned(), 2.0)].into()
        );
    }
}
