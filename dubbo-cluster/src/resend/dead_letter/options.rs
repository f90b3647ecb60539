//! What configurations say about dead letters.

use dubbo_core::{
    url::Url,
    yaml::{ProblemKind, Section},
};

use super::letter::Reason;

/// `dubbo.retry.dead-letter`: where dead letters are kept (`docs/spec/cluster.md` §7.12).
///
/// ```yaml
/// dead-letter: { store: disk, path: data/letters.redb, capacity: 10000, sync: always }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterOptions {
    /// `store`, by default `memory`: the name of a store that is linked.
    pub store: Option<String>,
    /// `path`: the file of `disk`, which needs one.
    pub path: Option<String>,
    /// `capacity`: how many letters it takes; by default 100 in memory and 100,000 on disk.
    pub capacity: Option<u32>,
    /// `sync`, by default `always`.
    pub sync: Option<SyncMode>,
}

/// When a letter counts as kept on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// `always`: once the disk has it.
    #[default]
    Always,
    /// `batch`: at once; the disk has it at most 10 ms later. What was kept within them is lost if the machine or the program
    /// dies.
    Batch,
}

impl DeadLetterOptions {
    /// Reads the section, and notes what is wrong with it.
    pub fn read(s: &mut Section<'_, '_>) -> Self {
        let options = Self {
            store: s.string("store"),
            path: s.string("path"),
            capacity: s.integer("capacity", 1..=MOST),
            sync: s.choice("sync", &SYNCS),
        };
        if options.is_store("disk") && options.path.is_none() {
            let message = "the store `disk` needs the `path` of its file";
            s.error("path", ProblemKind::Missing, message);
        }
        if options.is_store("memory") && (options.path.is_some() || options.sync.is_some()) {
            let message = "the store `memory` has neither `path` nor `sync`; add `store: disk` if letters are to outlive \
                           the program";
            s.error("store", ProblemKind::Conflict, message);
        }
        options
    }

    /// The name of the store.
    pub fn store(&self) -> &str {
        self.store.as_deref().unwrap_or(DEFAULT_STORE)
    }

    fn is_store(&self, name: &str) -> bool {
        self.store().eq_ignore_ascii_case(name)
    }

    /// What a store is made for.
    pub(super) fn url(&self) -> Url {
        let sync = self.sync.map(|sync| match sync {
            SyncMode::Always => "always".to_owned(),
            SyncMode::Batch => "batch".to_owned(),
        });
        let params = [
            ("path", self.path.clone()),
            ("capacity", self.capacity.map(|count| count.to_string())),
            ("sync", sync),
        ];
        let set = params
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        Url::new("dead-letter", "localhost").with_params(set)
    }
}

/// Which calls become dead letters: the keys `on` of a policy's section `dead-letter`, or of the URL parameter
/// `dead-letter.on`, with commas between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reasons(u8);

impl Reasons {
    /// These.
    pub fn of(reasons: impl IntoIterator<Item = Reason>) -> Self {
        let bits = reasons.into_iter().map(|reason| 1 << reason as u8);
        Self(bits.fold(0, |all, bit: u8| all | bit))
    }

    /// Those of these names.
    ///
    /// # Errors
    ///
    /// A name that is none, and those that are.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownReason> {
        let reasons = names.into_iter().map(|name| {
            let name = name.trim();
            let mut all = Reason::ALL.into_iter();
            all.find(|reason| reason.name().eq_ignore_ascii_case(name))
                .ok_or_else(|| UnknownReason(name.to_owned()))
        });
        reasons.collect::<Result<Vec<_>, _>>().map(Self::of)
    }

    /// Whether `reason` is among them.
    pub fn contains(self, reason: Reason) -> bool {
        self.0 & (1 << reason as u8) != 0
    }
}

impl Default for Reasons {
    /// All but [`Reason::NonRetryable`], which the application's own errors would be.
    fn default() -> Self {
        let not_by_default = |reason: &Reason| *reason != Reason::NonRetryable;
        Self::of(Reason::ALL.into_iter().filter(not_by_default))
    }
}

/// A name of a reason that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no reason for a dead letter; there are budget, exhausted, expired, non-retryable, queue-full and shutdown"
)]
pub struct UnknownReason(String);

pub(super) const DEFAULT_STORE: &str = "memory";

const SYNCS: [(&str, SyncMode); 2] = [("always", SyncMode::Always), ("batch", SyncMode::Batch)];

/// A hundred million letters.
const MOST: u32 = 100_000_000;
