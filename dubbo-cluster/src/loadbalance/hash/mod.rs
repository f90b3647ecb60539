//! `consistenthashing`: the provider that owns a call's arguments.

mod key;
mod options;
mod ring;

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, Node},
    extension::BoxError,
    invocation::Invocation,
    url::Url,
};

use self::{
    options::{MethodOptions, Options},
    ring::Ring,
};
use super::{Clock, chance::Chance, draw, prepared::Prepared};

/// Picks the provider that owns a call's hash on a ring, so that calls with the same arguments meet in one provider, from
/// every consumer, and a provider that comes or goes moves no other's calls.
///
/// `docs/spec/cluster.md` §3.6: the ring and the hash are those of dubbo-go and Dubbo Java. `hash.nodes`, `hash.arguments`,
/// `hash.key` and `hash.bounded-load` are read for the method and then for the service. A call without any of the
/// arguments to hash goes by chance, by weight.
pub struct ConsistentHash {
    options: Options,
    /// One for each number of virtual nodes, as the options count them.
    rings: Box<[Prepared<Ring>]>,
    chance: Chance,
    clock: Clock,
}

impl ConsistentHash {
    /// As the consumer's `url` says.
    ///
    /// # Errors
    ///
    /// A `hash.…` option that cannot be used.
    pub fn new(url: &Url) -> Result<Self, BoxError> {
        Self::with(url, Chance::new(), Clock::system())
    }

    /// The same, with the same picks for the same seed where chance decides, as long as one caller at a time picks.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_seed(url: &Url, seed: u64, clock: Clock) -> Result<Self, BoxError> {
        Self::with(url, Chance::from_seed(seed), clock)
    }

    fn with(url: &Url, chance: Chance, clock: Clock) -> Result<Self, BoxError> {
        let options = Options::new(url)?;
        let rings = options.nodes().iter().map(|_| Prepared::default());
        Ok(Self {
            rings: rings.collect(),
            options,
            chance,
            clock,
        })
    }

    fn ring(&self, options: &MethodOptions, candidates: &Candidates) -> Arc<Ring> {
        let all = Candidates::all(Arc::clone(candidates.list()));
        let nodes = self.options.nodes()[options.ring];
        self.rings[options.ring].of(
            &all,
            |_| true,
            |newest| Ring::new(candidates.list(), nodes, newest),
        )
    }

    fn owner(
        &self,
        options: &MethodOptions,
        candidates: &Candidates,
        hash: u32,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        let position = |place| {
            let position = candidates.position_of(place)?;
            wanted(candidates.get(position)?).then_some(position)
        };
        let ring = self.ring(options, candidates);
        let found = ring.walk(hash, position);
        if found.is_some() || ring.is_walked_whole() {
            return found;
        }
        // Few of many are wanted: their own points are found sooner than they are met.
        let few = candidates.narrowed(wanted);
        let nodes = self.options.nodes()[options.ring];
        candidates.position_in(&few, ring::nearest(few.iter(), nodes, hash)?)
    }
}

impl LoadBalance for ConsistentHash {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        self.select_where(candidates, invocation, &|_| true)
    }

    fn select_where(
        &self,
        candidates: &Candidates,
        invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        if candidates.is_empty() {
            return None;
        }
        let options = self.options.of(&invocation.method);
        let Some(hash) = options.key.hash(invocation) else {
            let now = self.clock.now_millis();
            return draw::by_weight(candidates, now, &mut self.chance.rng(), wanted);
        };
        if let Some(room) = options.bounded_load {
            let most = most_active(candidates, invocation, room);
            let has_room =
                |node: &Node| wanted(node) && node.state.active_of(&invocation.method) < most;
            let owner = self.owner(options, candidates, hash, &has_room);
            if owner.is_some() {
                return owner;
            }
        }
        self.owner(options, candidates, hash, wanted)
    }
}

/// So many calls of the method may be under way at a provider before another takes its calls: `room` above the average,
/// with this call. The average of a long list is that of a part of it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "numbers of calls and providers are small, and no part of one counts"
)]
fn most_active(candidates: &Candidates, invocation: &Invocation, room: f64) -> u32 {
    let step = candidates.len().div_ceil(COUNTED);
    let counted = candidates.iter().step_by(step);
    let among = counted.len() as f64;
    let active: f64 = counted
        .map(|node| f64::from(node.state.active_of(&invocation.method)))
        .sum();
    let average = active / among + 1.0 / candidates.len() as f64;
    ((1.0 + room) * average).ceil() as u32
}

impl fmt::Debug for ConsistentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsistentHash").finish_non_exhaustive()
    }
}

dubbo_core::extension!(
    dyn LoadBalance,
    "consistenthashing" | "consistenthash",
    |cx| Ok(Arc::new(ConsistentHash::new(cx.url)?))
);

/// So many providers' calls are counted for an average.
const COUNTED: usize = 256;

#[cfg(test)]
mod tests;
