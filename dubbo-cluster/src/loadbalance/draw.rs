//! Drawing candidates by chance without looking at all of them.
//!
//! Whoever is drawn is asked whether it is wanted, and another one is drawn if it is not. That leaves the shares of those
//! that are wanted as they are, and asks few while most are wanted. After [`TRIES`] all are asked, so that the one among
//! ten thousand that is left is found, too.

use dubbo_core::cluster::{Candidates, Node, Weights};
use fastrand::Rng;
use smallvec::SmallVec;

/// The position of one of the `wanted`, with a probability in proportion to its weight. One of weight 0 is drawn only
/// when all that are wanted have that, and then all are alike. `None`: none is wanted.
pub(super) fn by_weight(
    candidates: &Candidates,
    now_millis: u64,
    rng: &mut Rng,
    wanted: &dyn Fn(&Node) -> bool,
) -> Option<usize> {
    if candidates.is_empty() {
        return None;
    }
    let lots = Lots::of(candidates, now_millis);
    for _ in 0..TRIES {
        let drawn = lots.draw(candidates, now_millis, rng);
        let drawn = drawn.and_then(|at| Some((at, candidates.get(at)?)));
        if let Some((at, node)) = drawn
            && wanted(node)
        {
            return Some(at);
        }
    }
    let (at, _) = among_all(candidates, now_millis, rng, wanted)?;
    Some(at)
}

/// Two of the `wanted`, drawn one after the other [by weight](by_weight). The second is `None` when there is no other,
/// or none that has a weight beside a first one that has.
pub(super) fn two_by_weight(
    candidates: &Candidates,
    now_millis: u64,
    rng: &mut Rng,
    wanted: &dyn Fn(&Node) -> bool,
) -> Option<(usize, Option<usize>)> {
    let first = by_weight(candidates, now_millis, rng, wanted)?;
    let node = candidates.get(first)?;
    if candidates.len() == 1 {
        return Some((first, None));
    }
    let (id, weight) = (node.id, node.effective_weight(now_millis));
    let other = |node: &Node| node.id != id && wanted(node);
    let second = by_weight(candidates, now_millis, rng, &other);
    let second = second.filter(|&at| {
        let second = candidates.get(at);
        weight == 0 || second.is_some_and(|node| node.effective_weight(now_millis) > 0)
    });
    Some((first, second))
}

/// Up to `most` of the `wanted`, all different, each as likely as any other. Those of weight 0 are among them only when
/// none was met that has one. Empty: none is wanted.
pub(super) fn some(
    candidates: &Candidates,
    now_millis: u64,
    most: usize,
    rng: &mut Rng,
    wanted: &dyn Fn(&Node) -> bool,
) -> SmallVec<[usize; 16]> {
    let count = candidates.len();
    if count <= FEW {
        return some_of_few(candidates, now_millis, most, rng, wanted);
    }
    let has_weight = |node: &Node| node.effective_weight(now_millis) > 0;
    let mut drawn = SmallVec::new();
    for _ in 0..most * TRIES {
        if drawn.len() == most {
            return drawn;
        }
        let at = rng.usize(..count);
        let node = candidates.get(at).filter(|node| wanted(node));
        if node.is_some_and(has_weight) && !drawn.contains(&at) {
            drawn.push(at);
        }
    }
    if drawn.is_empty() {
        let one = among_all(candidates, now_millis, rng, wanted);
        drawn.extend(one.map(|(at, _)| at));
    }
    drawn
}

fn some_of_few(
    candidates: &Candidates,
    now_millis: u64,
    most: usize,
    rng: &mut Rng,
    wanted: &dyn Fn(&Node) -> bool,
) -> SmallVec<[usize; 16]> {
    let (mut with_weight, mut without) = (SmallVec::new(), SmallVec::new());
    for (at, node) in candidates.iter().enumerate() {
        if wanted(node) {
            let has_weight = node.effective_weight(now_millis) > 0;
            if has_weight {
                &mut with_weight
            } else {
                &mut without
            }
            .push(at);
        }
    }
    let mut drawn: SmallVec<[usize; 16]> = if with_weight.is_empty() {
        without
    } else {
        with_weight
    };
    for at in 0..most.min(drawn.len()) {
        let with = rng.usize(at..drawn.len());
        drawn.swap(at, with);
    }
    drawn.truncate(most);
    drawn
}

/// How a candidate is drawn by weight.
enum Lots {
    /// All weights are known, and have a sum above 0.
    Known(Weights),
    /// One is drawn, and taken with the probability that its weight has beside this one, the largest.
    UpTo(u32),
    /// All are alike: none has a weight.
    Alike,
}

impl Lots {
    fn of(candidates: &Candidates, now_millis: u64) -> Self {
        if !candidates.is_all() && candidates.len() > FEW {
            return match candidates.largest_weight(now_millis) {
                0 => Self::Alike,
                largest => Self::UpTo(largest),
            };
        }
        let weights = candidates.weights(now_millis);
        if weights.total() == 0 {
            Self::Alike
        } else {
            Self::Known(weights)
        }
    }

    fn draw(&self, candidates: &Candidates, now_millis: u64, rng: &mut Rng) -> Option<usize> {
        let alike = |rng: &mut Rng| rng.usize(..candidates.len());
        match self {
            Self::Known(weights) => Some(weights.holder(rng.u64(..weights.total()))),
            Self::UpTo(largest) => {
                let at = alike(rng);
                let weight = candidates.get(at)?.effective_weight(now_millis);
                (rng.u32(..*largest) < weight).then_some(at)
            }
            Self::Alike => Some(alike(rng)),
        }
    }
}

/// One of the `wanted` by weight, and its weight, with a look at each candidate.
fn among_all(
    candidates: &Candidates,
    now_millis: u64,
    rng: &mut Rng,
    wanted: &dyn Fn(&Node) -> bool,
) -> Option<(usize, u32)> {
    let mut urn = Urn::default();
    for (at, node) in candidates.iter().enumerate() {
        if wanted(node) {
            urn.add(at, node.effective_weight(now_millis), rng);
        }
    }
    urn.drawn
}

/// Draws one of those that are added, by weight, and keeps only that one.
#[derive(Default)]
pub(super) struct Urn {
    total: u64,
    without_weight: u64,
    pub(super) drawn: Option<(usize, u32)>,
}

impl Urn {
    /// The one at `at` takes the place of the one that is drawn with the probability that makes all shares right.
    pub(super) fn add(&mut self, at: usize, weight: u32, rng: &mut Rng) {
        self.total += u64::from(weight);
        let takes = if weight > 0 {
            rng.u64(..self.total) < u64::from(weight)
        } else if self.total == 0 {
            self.without_weight += 1;
            rng.u64(..self.without_weight) == 0
        } else {
            false
        };
        if takes {
            self.drawn = Some((at, weight));
        }
    }
}

/// Then all are asked.
const TRIES: usize = 8;

/// So many weights are looked at for each draw, where nothing was summed up before.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidates, weighted};

    const PICKS: u32 = 60_000;

    fn counts(
        candidates: &Candidates,
        mut draw: impl FnMut(&mut Rng) -> Option<usize>,
    ) -> Vec<u32> {
        let mut rng = Rng::with_seed(42);
        let mut counts = vec![0; candidates.len()];
        for _ in 0..PICKS {
            counts[draw(&mut rng).expect("somebody is wanted")] += 1;
        }
        counts
    }

    fn is_even(node: &Node) -> bool {
        node.url.port().is_some_and(|port| port % 2 == 0)
    }

    /// 4σ of a binomial share.
    fn assert_share(got: u32, part: f64) {
        let mean = f64::from(PICKS) * part;
        let room = 4.0 * (mean * (1.0 - part)).sqrt();
        assert!((f64::from(got) - mean).abs() <= room, "{got}, not {mean}");
    }

    #[test]
    fn shares_of_the_wanted_are_as_their_weights_in_lists_of_every_kind() {
        let long: Vec<u32> = (0..40).map(|at| at % 5).collect();
        let whole = candidates(&weighted(&long));
        let part = whole.narrowed(|node| node.url.port() != Some(40));
        let few = whole.narrowed(|node| node.url.port() <= Some(10));
        for candidates in [whole, part, few] {
            let counts = counts(&candidates, |rng| by_weight(&candidates, 0, rng, &is_even));
            let weight = |node: &Node| f64::from(node.weight.base) * f64::from(is_even(node));
            let total: f64 = candidates.iter().map(weight).sum();
            for (got, node) in counts.into_iter().zip(candidates.iter()) {
                assert_share(got, weight(node) / total);
            }
        }
    }

    #[test]
    fn the_only_one_wanted_is_found_and_without_weights_all_are_alike() {
        let all = candidates(&weighted(&[1; 1_000]));
        let last = |node: &Node| node.url.port() == Some(1_000);
        let mut rng = Rng::with_seed(42);
        assert_eq!(by_weight(&all, 0, &mut rng, &last), Some(999));
        assert_eq!(two_by_weight(&all, 0, &mut rng, &last), Some((999, None)));
        assert_eq!(some(&all, 0, 4, &mut rng, &last)[..], [999]);
        assert_eq!(by_weight(&all, 0, &mut rng, &|_| false), None);
        assert!(some(&all, 0, 4, &mut rng, &|_| false).is_empty());

        let none = candidates(&weighted(&[0, 0, 9, 0]));
        let without = |node: &Node| node.weight.base == 0;
        let counts = counts(&none, |rng| by_weight(&none, 0, rng, &without));
        for (got, part) in counts.into_iter().zip([1.0, 1.0, 0.0, 1.0]) {
            assert_share(got, part / 3.0);
        }
    }

    #[test]
    fn two_are_different_and_the_second_has_a_weight_if_the_first_has() {
        let mut rng = Rng::with_seed(42);
        for (weights, can_be_two) in [(&[1, 2, 3][..], true), (&[0, 0], true), (&[5, 0], false)] {
            let all = candidates(&weighted(weights));
            for _ in 0..1_000 {
                let two = two_by_weight(&all, 0, &mut rng, &|_| true);
                let (first, second) = two.expect("not empty");
                assert_eq!(second.is_some(), can_be_two, "{weights:?}");
                assert_ne!(Some(first), second);
            }
        }
    }

    #[test]
    fn some_are_all_different_and_all_alike() {
        let all = candidates(&weighted(&[3, 0, 1, 9]));
        let mut counts = [0; 4];
        let mut rng = Rng::with_seed(42);
        for _ in 0..PICKS {
            let drawn = some(&all, 0, 2, &mut rng, &|_| true);
            assert!(drawn.len() == 2 && drawn[0] != drawn[1], "{drawn:?}");
            counts[drawn[0]] += 1;
        }
        for (got, part) in counts.into_iter().zip([1.0, 0.0, 1.0, 1.0]) {
            assert_share(got, part / 3.0);
        }
    }
}
