//! The candidate that costs least, and the weights among those that cost the same.

use dubbo_core::cluster::{Candidates, Node};
use fastrand::Rng;

use super::draw::{self, Urn};

/// The position of the one of the `wanted` that costs least; among equals by weight. One of weight 0 is picked only when
/// nobody has a weight. `None`: none is wanted.
///
/// Of up to [`EXACT`] candidates all are compared, of more [`SAMPLE`] that chance chooses, so that a pick among ten
/// thousand costs no more than one among fifty.
pub(super) fn pick<C: Ord>(
    candidates: &Candidates,
    now_millis: u64,
    rng: &mut Rng,
    wanted: &dyn Fn(&Node) -> bool,
    cost: impl Fn(&Node) -> C,
) -> Option<usize> {
    let mut best = Best::new(now_millis, cost);
    if candidates.len() <= EXACT {
        for (at, node) in candidates.iter().enumerate() {
            if wanted(node) {
                best.offer(at, node, rng);
            }
        }
    } else {
        for at in draw::some(candidates, now_millis, SAMPLE, rng, wanted) {
            best.offer(at, candidates.get(at)?, rng);
        }
    }
    let (at, _) = best.equals.drawn?;
    Some(at)
}

struct Best<C, F> {
    now_millis: u64,
    cost: F,
    least: Option<(bool, C)>,
    equals: Urn,
}

impl<C: Ord, F: Fn(&Node) -> C> Best<C, F> {
    fn new(now_millis: u64, cost: F) -> Self {
        Self {
            now_millis,
            cost,
            least: None,
            equals: Urn::default(),
        }
    }

    fn offer(&mut self, at: usize, node: &Node, rng: &mut Rng) {
        let weight = node.effective_weight(self.now_millis);
        let cost = (weight == 0, (self.cost)(node));
        if self.least.as_ref().is_some_and(|least| cost > *least) {
            return;
        }
        if self.least.as_ref().is_none_or(|least| cost < *least) {
            self.least = Some(cost);
            self.equals = Urn::default();
        }
        self.equals.add(at, weight, rng);
    }
}

/// Lists up to this length are looked at whole.
pub(super) const EXACT: usize = 48;

/// So many of a longer list are compared.
const SAMPLE: usize = 16;
