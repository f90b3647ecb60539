//! What an instance has told about itself, and still answers for.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_hessian2::to_vec;
use parking_lot::RwLock;
use tokio::time::Instant;

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

/// The revisions that an instance answers for: the current ones, and those before them for as long as consumers may ask.
///
/// A superseded revision is kept for at least [`RETENTION`], and at least [`KEPT`] of them are kept however old they are
/// (`docs/spec/metadata.md` §6.1).
#[derive(Debug, Default)]
pub struct History(RwLock<Vec<Entry>>);

impl History {
    /// The metadata at `revision`, current or not.
    pub fn get(&self, revision: &str) -> Option<Arc<Published>> {
        self.0
            .read()
            .iter()
            .find(|entry| entry.published.revision() == revision)
            .map(|entry| Arc::clone(&entry.published))
    }

    /// The current metadata: one for each instance that the process registers, which is one unless a protocol listens on
    /// several ports; none when nothing is served.
    pub fn current(&self) -> Vec<Arc<Published>> {
        self.0
            .read()
            .iter()
            .filter(|entry| entry.superseded.is_none())
            .map(|entry| Arc::clone(&entry.published))
            .collect()
    }

    /// Makes `current` the current metadata, and forgets what nobody can ask for any more at `now`.
    pub fn replace(&self, current: &[Arc<Published>], now: Instant) {
        let mut entries = self.0.write();
        entries.retain(|entry| {
            !current
                .iter()
                .any(|published| published.revision() == entry.published.revision())
        });
        for entry in entries.iter_mut() {
            entry.superseded.get_or_insert(now);
        }
        // The oldest first, as they were appended.
        let mut surplus = entries.len().saturating_sub(KEPT);
        entries.retain(|entry| {
            let is_over = entry
                .superseded
                .is_some_and(|at| now.saturating_duration_since(at) >= RETENTION);
            let forget = surplus > 0 && is_over;
            surplus -= usize::from(forget);
            !forget
        });
        entries.extend(current.iter().map(|published| Entry {
            published: Arc::clone(published),
            superseded: None,
        }));
    }
}

#[derive(Debug)]
struct Entry {
    published: Arc<Published>,
    superseded: Option<Instant>,
}

/// How many superseded revisions are kept however old they are.
pub const KEPT: usize = 16;

/// How long a superseded revision is kept at least.
pub const RETENTION: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests {
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
        // One second too early, then late enough.
        history.replace(&[at(30)], start + RETENTION - Duration::from_secs(1));
        assert_eq!(known(&history, 31).len(), 31);
        history.replace(&[at(31)], start + RETENTION);
        assert_eq!(known(&history, 32), (15..32).collect::<Vec<_>>());
    }

    #[test]
    fn sixteen_are_kept_for_ever() {
        let history = History::default();
        let start = Instant::now();
        for revision in 0..=KEPT {
            history.replace(&[at(revision)], start);
        }
        history.replace(&[at(KEPT)], start + RETENTION * 100);
        assert_eq!(known(&history, KEPT + 1).len(), KEPT + 1);
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
}
