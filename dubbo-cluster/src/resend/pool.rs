//! Retries of traffic of one colour, kept apart from those of others (`docs/spec/cluster.md` §7.6).

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use dubbo_core::{attachments::Attachments, yaml::Section};

use super::policy::Glob;

/// What a pool has room for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// The colours of its traffic, as globs; its own name when empty.
    pub tags: Vec<Glob>,
    /// How many calls may be on their way to another attempt, or in one, at a time.
    pub concurrency: u32,
    /// How long after its begin a call may be tried again.
    pub ttl: Duration,
    /// What happens to a call that finds it full.
    pub on_full: OnFull,
}

/// What happens to a failed call that its pool has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFull {
    /// It is not tried again: its error is that of its last attempt, with a warning in the log.
    Drop,
    /// It ends with `RESOURCE_EXHAUSTED` and how long to wait before it is made anew.
    Refuse,
}

impl PoolOptions {
    /// The pool of all traffic that no other one takes: 1000 at a time, for 60 s, then dropped.
    pub fn common() -> Self {
        Self {
            tags: Vec::new(),
            concurrency: 1_000,
            ttl: Duration::from_mins(1),
            on_full: OnFull::Drop,
        }
    }

    /// What a pool of one colour has unless it says otherwise: 200 at a time, for 30 s, then refused.
    pub fn coloured() -> Self {
        Self {
            tags: Vec::new(),
            concurrency: 200,
            ttl: Duration::from_secs(30),
            on_full: OnFull::Refuse,
        }
    }

    /// Reads the entry `name` of `pools`.
    pub(super) fn read(name: &str, s: &mut Section<'_, '_>) -> Self {
        let default = if name == DEFAULT_POOL {
            Self::common()
        } else {
            Self::coloured()
        };
        let tags = s.list("tags").unwrap_or_default();
        Self {
            tags: tags.iter().map(|tag| Glob::new(tag)).collect(),
            concurrency: s
                .integer("concurrency", 1..=1_000_000)
                .unwrap_or(default.concurrency),
            ttl: s.duration("ttl").unwrap_or(default.ttl),
            on_full: s.choice("on-full", &ON_FULL).unwrap_or(default.on_full),
        }
    }

    fn takes(&self, name: &str, tag: &str) -> bool {
        if self.tags.is_empty() {
            return name == tag;
        }
        self.tags.iter().any(|glob| glob.matches(tag))
    }
}

/// One pool of an instance.
#[derive(Debug)]
pub struct Pool {
    name: Arc<str>,
    options: PoolOptions,
    used: AtomicU32,
}

impl Pool {
    pub(super) fn new(name: &str, options: PoolOptions) -> Self {
        Self {
            name: name.into(),
            options,
            used: AtomicU32::new(0),
        }
    }

    /// What it is called: `default`, `gray`, …
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What it has room for.
    pub fn options(&self) -> &PoolOptions {
        &self.options
    }

    /// How many calls it holds.
    pub fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// Room for one more call, until it is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Room> {
        let most = self.options.concurrency;
        let more = |used: u32| (used < most).then_some(used + 1);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()?;
        Some(Room(Arc::clone(self)))
    }
}

/// Room in a pool.
#[derive(Debug)]
#[must_use = "the room is given back when this is dropped"]
pub(crate) struct Room(Arc<Pool>);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The pools of an instance: the default one and those of colours.
#[derive(Clone)]
pub struct Pools {
    common: Arc<Pool>,
    coloured: Arc<[Arc<Pool>]>,
}

impl Pools {
    /// Of these pools, by name; those of `before` that stay the same keep what they hold.
    pub(super) fn new<'a>(
        options: impl IntoIterator<Item = (&'a str, &'a PoolOptions)>,
        before: Option<&Self>,
    ) -> Self {
        let kept = |name: &str, options: &PoolOptions| {
            let known = before.and_then(|pools| {
                let mut all = pools.iter();
                all.find(|pool| &*pool.name == name && pool.options == *options)
            });
            known.map_or_else(|| Arc::new(Pool::new(name, options.clone())), Arc::clone)
        };
        let mut all: Vec<_> = options
            .into_iter()
            .map(|(name, options)| kept(name, options))
            .collect();
        let mut take = |name: &str| {
            let at = all.iter().position(|pool| &*pool.name == name)?;
            Some(all.remove(at))
        };
        let common = take(DEFAULT_POOL);
        let gray = take(GRAY_POOL);
        let common = common.unwrap_or_else(|| kept(DEFAULT_POOL, &PoolOptions::common()));
        all.push(gray.unwrap_or_else(|| kept(GRAY_POOL, &PoolOptions::coloured())));
        Self {
            common,
            coloured: all.into(),
        }
    }

    /// The pool of traffic with this colour, if it has one, and its number.
    pub(crate) fn of(&self, tag: Option<&str>) -> (usize, &Arc<Pool>) {
        let coloured = tag.and_then(|tag| {
            let mut pools = (1..).zip(&*self.coloured);
            pools.find(|(_, pool)| pool.options.takes(&pool.name, tag))
        });
        coloured.unwrap_or((0, &self.common))
    }

    /// The one of this number.
    pub(crate) fn at(&self, number: usize) -> &Arc<Pool> {
        let coloured = number.checked_sub(1).and_then(|at| self.coloured.get(at));
        coloured.unwrap_or(&self.common)
    }

    /// All of them, the default one first: the place of each is its number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Pool>> {
        [&self.common].into_iter().chain(&*self.coloured)
    }
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The colour of a call: its attachment `dubbo.tag`, or what a gateway says in `x-env-tag`.
pub(crate) fn tag(attachments: &Attachments) -> Option<&str> {
    let tag = attachments.get(TAG);
    tag.or_else(|| attachments.get("x-env-tag"))
        .filter(|tag| !tag.is_empty())
}

/// The attachment with the colour of a call.
pub(crate) const TAG: &str = "dubbo.tag";

/// The pool of traffic that has no other.
pub const DEFAULT_POOL: &str = "default";

/// The pool of gray traffic, which is always there, and its colour.
pub(crate) const GRAY_POOL: &str = "gray";

const ON_FULL: [(&str, OnFull); 2] = [("drop", OnFull::Drop), ("refuse", OnFull::Refuse)];

#[cfg(test)]
mod tests {
    use super::*;

    fn options(tags: &[&str], concurrency: u32) -> PoolOptions {
        PoolOptions {
            tags: tags.iter().map(|tag| Glob::new(tag)).collect(),
            concurrency,
            ..PoolOptions::coloured()
        }
    }

    #[test]
    fn traffic_goes_to_the_pool_of_its_colour_and_else_to_the_default() {
        let canary = options(&["canary-*", "beta"], 1);
        let pools = Pools::new([("canary", &canary)], None);
        for (tag, want) in [
            (None, "default"),
            (Some("gray"), "gray"),
            (Some("blue"), "default"),
            (Some("canary-7"), "canary"),
            (Some("beta"), "canary"),
            (Some("canary"), "default"),
        ] {
            let (number, pool) = pools.of(tag);
            assert_eq!(&**pool.name(), want, "{tag:?}");
            assert_eq!(
                pools.iter().nth(number).map(|pool| &**pool.name()),
                Some(want)
            );
        }
    }

    #[test]
    fn a_pool_has_room_for_so_many_and_gets_it_back() {
        let pools = Pools::new([("gray", &options(&[], 2))], None);
        let (_, gray) = pools.of(Some("gray"));
        let rooms = [gray.enter(), gray.enter()];
        assert!(rooms.iter().all(Option::is_some) && gray.enter().is_none());
        assert!(
            pools.of(None).1.enter().is_some(),
            "never borrowed from another"
        );
        drop(rooms);
        assert_eq!(gray.used(), 0);
        assert!(gray.enter().is_some());
    }

    #[test]
    fn a_pool_that_stays_as_it_is_keeps_what_it_holds() {
        let (one, other) = (options(&[], 1), options(&[], 2));
        let before = Pools::new([("gray", &one)], None);
        let _room = before.of(Some("gray")).1.enter();
        let same = Pools::new([("gray", &one)], Some(&before));
        assert_eq!(same.of(Some("gray")).1.used(), 1);
        let changed = Pools::new([("gray", &other)], Some(&before));
        assert_eq!(changed.of(Some("gray")).1.used(), 0);
    }

    #[test]
    fn a_call_says_its_colour_in_either_attachment() {
        for (names, want) in [
            (
                &[("dubbo.tag", "gray"), ("x-env-tag", "blue")][..],
                Some("gray"),
            ),
            (&[("X-Env-Tag", "blue")], Some("blue")),
            (&[("dubbo.tag", "")], None),
            (&[], None),
        ] {
            let attachments = names.iter().copied().collect();
            assert_eq!(tag(&attachments), want);
        }
    }
}
