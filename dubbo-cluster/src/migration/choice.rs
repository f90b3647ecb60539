//! Which path a call goes by.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use dubbo_core::{cluster::Directory, invocation::Invocation};
use fastrand::Rng;

use super::{Path, path::Both, terms::Agreed};
use crate::directory::availability::any_available;

/// What calls read: the paths that are followed, and which of them comes first.
pub(super) struct Choice {
    pub(super) roads: Both<Option<Arc<dyn Directory>>>,
    pub(super) preferred: Path,
    pub(super) terms: Agreed,
}

impl Choice {
    /// The path of one call. `None` as long as none is followed.
    ///
    /// The preferred one takes its share of the calls; one without an available provider leaves its calls to the other.
    pub(super) fn pick(
        &self,
        invocation: &Invocation,
        chance: &Chance,
    ) -> Option<(Path, &Arc<dyn Directory>)> {
        let mut first = self.preferred;
        if !self.terms.step.is_forced()
            && first == self.terms.favoured()
            && !chance.grants(self.terms.proportion, invocation)
        {
            first = first.other();
        }
        match (self.roads.get(first), self.roads.get(first.other())) {
            (Some(road), Some(other)) if is_better(other, road) => Some((first.other(), other)),
            (Some(road), _) => Some((first, road)),
            (None, Some(other)) => Some((first.other(), other)),
            (None, None) => None,
        }
    }

    /// The path that calls go by now, were it not for the share.
    pub(super) fn leading(&self) -> Option<(Path, &Arc<dyn Directory>)> {
        let (first, second) = (self.preferred, self.preferred.other());
        match (self.roads.get(first), self.roads.get(second)) {
            (Some(road), Some(other)) if is_better(other, road) => Some((second, other)),
            (Some(road), _) => Some((first, road)),
            (None, other) => other.as_ref().map(|other| (second, other)),
        }
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (Path, &Arc<dyn Directory>)> {
        Path::BOTH
            .into_iter()
            .filter_map(|path| Some((path, self.roads.get(path).as_ref()?)))
    }

    /// Whether any provider can be called, by whatever path.
    pub(super) fn is_available(&self) -> bool {
        self.open().any(|(_, road)| any_available(&road.nodes()))
    }
}

/// Whether `other` has an available provider, or at least one, and `road` has none.
fn is_better(other: &Arc<dyn Directory>, road: &Arc<dyn Directory>) -> bool {
    let nodes = road.nodes();
    if any_available(&nodes) {
        return false;
    }
    let others = other.nodes();
    any_available(&others) || (nodes.is_empty() && !others.is_empty())
}

/// Deals out calls in proportion: by chance, or always alike for the same value of an attachment.
pub(super) struct Chance {
    /// Each roll takes the next seed, so that callers never wait for one another.
    seed: AtomicU64,
    sticky_key: Option<String>,
}

impl Chance {
    pub(super) fn new(seed: u64, sticky_key: Option<String>) -> Self {
        Self {
            seed: AtomicU64::new(seed),
            sticky_key,
        }
    }

    /// Whether a call is among `percent` of all calls. One that is stays so when the percentage grows.
    fn grants(&self, percent: u8, invocation: &Invocation) -> bool {
        if percent >= 100 {
            return true;
        }
        let sticky = self.sticky_key.as_ref();
        let sticky = sticky.and_then(|key| invocation.attachments.get(key));
        let roll = if let Some(value) = sticky {
            spread(value) % 100
        } else {
            let seed = self.seed.fetch_add(SEED_STEP, Ordering::Relaxed);
            Rng::with_seed(seed).u64(..100)
        };
        roll < u64::from(percent)
    }
}

/// FNV-1a, with its bits mixed: the same in every process and release, so that a caller stays where it is.
fn spread(value: &str) -> u64 {
    let hash = value.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

/// The golden ratio's bits: neighbours of a sequence of seeds share no pattern.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::invocation;

    fn granted(chance: &Chance, percent: u8, invocations: &[Invocation]) -> usize {
        let granted = invocations.iter();
        granted.filter(|call| chance.grants(percent, call)).count()
    }

    #[test]
    fn calls_are_dealt_out_in_proportion() {
        let calls: Vec<_> = (0..10_000).map(|_| invocation()).collect();
        let chance = Chance::new(7, Some("user".to_owned()));
        for percent in [0, 1, 30, 60, 99, 100] {
            let got = granted(&chance, percent, &calls);
            let want = usize::from(percent) * 100;
            assert!(got.abs_diff(want) <= 200, "{got} of 10000 for {percent} %");
            assert_eq!(percent == 0, got == 0);
            assert_eq!(percent == 100, got == calls.len());
        }
    }

    #[test]
    fn a_caller_stays_where_it_is_and_a_growing_share_takes_nobody_away() {
        let calls: Vec<_> = (0..10_000)
            .map(|user| {
                let mut call = invocation();
                call.attachments.insert("user", format!("user-{user}"));
                call
            })
            .collect();
        let [one, other] = [1, 2].map(|seed| Chance::new(seed, Some("user".to_owned())));
        let mut before = vec![false; calls.len()];
        for percent in [0, 10, 60, 61, 100] {
            let now: Vec<_> = calls.iter().map(|call| one.grants(percent, call)).collect();
            let again: Vec<_> = calls
                .iter()
                .map(|call| other.grants(percent, call))
                .collect();
            assert_eq!(now, again, "whatever the seed");
            assert!(before.iter().zip(&now).all(|(before, now)| *now || !before));
            let share = now.iter().filter(|now| **now).count();
            let want = usize::from(percent) * 100;
            assert!(share.abs_diff(want) <= 200, "{share} for {percent} %");
            before = now;
        }
    }
}
