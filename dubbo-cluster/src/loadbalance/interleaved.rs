//! `interleavedweightedroundrobin`: in turn, in rounds in which everybody has a turn before anybody has the next.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
};

use dubbo_core::{
    cluster::{Candidates, CandidatesKey, LoadBalance, Node, NodeId, Weights},
    invocation::Invocation,
};
use parking_lot::Mutex;

use super::{Clock, methods::Methods};

/// Gives each provider as many turns as its weight says, warm-up applied, in rounds: everybody who has turns left has one
/// before anybody has another.
///
/// `docs/spec/cluster.md` §3.10. Every method has turns of its own. A provider of weight 0 has a turn only when nobody who
/// is wanted has a weight. Turns that are left stay when the list or a weight changes.
pub struct InterleavedRoundRobin {
    methods: Methods<Mutex<Turns>>,
    clock: Clock,
}

impl InterleavedRoundRobin {
    /// A rotation in which nobody has had a turn.
    pub fn new(clock: Clock) -> Self {
        Self {
            methods: Methods::default(),
            clock,
        }
    }
}

impl LoadBalance for InterleavedRoundRobin {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        self.select_where(candidates, invocation, &|_| true)
    }

    fn select_where(
        &self,
        candidates: &Candidates,
        invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        let all = Candidates::all(Arc::clone(candidates.list()));
        let weights = all.weights(self.clock.now_millis());
        let turns = self.methods.of(&invocation.method);
        let mut turns = turns.lock();
        turns.follow(&all, weights);
        turns.pick(|place| {
            let position = candidates.position_of(place)?;
            wanted(candidates.get(position)?).then_some(position)
        })
    }
}

/// The turns of one method.
#[derive(Debug, Default)]
struct Turns {
    /// Of the list that the turns are of.
    seen: Option<(CandidatesKey, Weights)>,
    ids: Vec<NodeId>,
    /// What a turn costs: the largest number that all weights are multiples of.
    step: u32,
    /// Who has turns in this round, the next one first.
    now: VecDeque<Turn>,
    /// Who has had them all.
    next: VecDeque<Turn>,
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    place: u32,
    left: u32,
}

impl Turns {
    /// Goes on with this list and these weights.
    fn follow(&mut self, all: &Candidates, weights: Weights) {
        if let Some((key, before)) = &self.seen
            && key.is_of(all)
        {
            if before.are_same(&weights) {
                return;
            }
        } else {
            self.enlist(all);
        }
        let each = || (0..all.len()).map(|place| weights.get(place));
        self.step = each().fold(0, greatest_common_divisor).max(1);
        for turn in &mut self.now {
            // Nobody keeps more turns than its weight gives it now, nor a part of one.
            let weight = weights.get(turn.place as usize);
            turn.left = match turn.left.min(weight) {
                0 => weight,
                left => left.next_multiple_of(self.step),
            };
        }
        for turn in &mut self.next {
            turn.left = weights.get(turn.place as usize);
        }
        self.seen = Some((all.key(), weights));
    }

    /// Who stays keeps its place in the round; who comes has its first turn in this one.
    fn enlist(&mut self, all: &Candidates) {
        let mut places: HashMap<NodeId, u32> = (0..)
            .zip(all.iter())
            .map(|(place, node)| (node.id, place))
            .collect();
        for turns in [&mut self.now, &mut self.next] {
            turns.retain_mut(|turn| {
                let place = places.remove(&self.ids[turn.place as usize]);
                place.is_some_and(|place| {
                    turn.place = place;
                    true
                })
            });
        }
        let mut came: Vec<u32> = places.into_values().collect();
        came.sort_unstable();
        let came = came.into_iter();
        self.now.extend(came.map(|place| Turn {
            place,
            left: u32::MAX,
        }));
        self.ids = all.iter().map(|node| node.id).collect();
    }

    /// What `take` makes of the one whose turn it is, among those for which it makes something.
    fn pick(&mut self, take: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        let take = |turn: &Turn| take(turn.place as usize);
        let find = |turns: &VecDeque<Turn>, has_weight: bool| {
            let mut turns = turns.iter().enumerate();
            turns.find_map(|(at, turn)| {
                let fits = (turn.left > 0) == has_weight;
                fits.then(|| take(turn)).flatten().map(|taken| (at, taken))
            })
        };
        let mut found = find(&self.now, true);
        if found.is_none() {
            // The round is over for those that are wanted.
            self.now.append(&mut self.next);
            found = find(&self.now, true);
        }
        let (at, taken) = found.or_else(|| find(&self.now, false))?;
        let mut turn = self.now.remove(at)?;
        turn.left = turn.left.saturating_sub(self.step);
        if turn.left > 0 {
            self.now.push_back(turn);
        } else {
            let (_, weights) = self.seen.as_ref()?;
            turn.left = weights.get(turn.place as usize);
            self.next.push_back(turn);
        }
        Some(taken)
    }
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Debug for InterleavedRoundRobin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterleavedRoundRobin")
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "interleavedweightedroundrobin", |_cx| Ok(
    Arc::new(InterleavedRoundRobin::new(Clock::system()))
));

#[cfg(test)]
mod tests {
    use dubbo_core::cluster::NodeList;

    use super::*;
    use crate::testing::{candidates, invocation, invocation_of, node, weighted};

    fn fixed() -> InterleavedRoundRobin {
        InterleavedRoundRobin::new(Clock::new(|| 0))
    }

    /// The ports of those whose turn it is, as letters from `a`.
    fn turns(
        balance: &InterleavedRoundRobin,
        candidates: &Candidates,
        count: usize,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> String {
        let pick = |_| balance.select_where(candidates, &invocation(), wanted);
        let nodes = (0..count).map(pick).map_while(|at| candidates.get(at?));
        let port = |node: &Node| node.url.port().and_then(|port| u8::try_from(port).ok());
        let letters = nodes.map(|node| char::from(b'a' - 1 + port(node).expect("few")));
        letters.collect()
    }

    fn of(nodes: &[(u16, u32)]) -> Candidates {
        let nodes = nodes.iter().map(|&(port, weight)| node(port, weight));
        Candidates::all(Arc::new(nodes.collect::<NodeList>()))
    }

    #[test]
    fn cluster_t05_interleaved_rounds_give_everybody_a_turn_before_anybody_has_the_next() {
        for (weights, want) in [
            (&[5, 1, 1][..], "abcaaaa"),
            (&[3, 2, 1], "abcabacbabaa"),
            (&[50, 10, 10], "abcaaaa"),
            (&[1, 1, 1], "abcabc"),
            (&[0, 0, 0], "abcabc"),
            (&[0, 2, 2], "bcbcbc"),
            (&[7], "aaa"),
            (&[], ""),
        ] {
            let got = turns(
                &fixed(),
                &candidates(&weighted(weights)),
                want.len().max(1),
                &|_| true,
            );
            assert_eq!(got, want, "weights {weights:?}");
        }
    }

    #[test]
    fn in_each_round_everybody_gets_exactly_the_turns_of_its_weight() {
        let mut random = fastrand::Rng::with_seed(42);
        for _ in 0..100 {
            let weights: Vec<u32> = (0..random.usize(1..20))
                .map(|_| random.u32(1..30))
                .collect();
            let (balance, candidates) = (fixed(), candidates(&weighted(&weights)));
            let step = weights.iter().copied().fold(0, greatest_common_divisor);
            for _ in 0..3 {
                let mut turns = vec![0; weights.len()];
                for _ in 0..weights.iter().sum::<u32>() / step {
                    turns[balance
                        .select(&candidates, &invocation())
                        .expect("not empty")] += step;
                }
                assert_eq!(turns, weights);
            }
        }
    }

    #[test]
    fn those_that_are_not_wanted_keep_their_turns() {
        let three = of(&[(1, 3), (2, 2), (3, 1)]);
        let balance = fixed();
        let not_a = |node: &Node| node.url.port() != Some(1);
        assert_eq!(turns(&balance, &three, 4, &not_a), "bcbc");
        assert_eq!(turns(&balance, &three, 3, &|_| true), "aba", "a is first");
        assert_eq!(turns(&balance, &three, 1, &|_| false), "");
        let routed = three.narrowed(not_a);
        assert_eq!(turns(&fixed(), &routed, 6, &|_| true), "bcbcbb");
    }

    #[test]
    fn turns_outlive_a_change_of_the_list_and_of_a_weight() {
        let balance = fixed();
        assert_eq!(
            turns(&balance, &of(&[(1, 2), (2, 2), (3, 2)]), 1, &|_| true),
            "a"
        );
        let changed = of(&[(4, 1), (3, 2), (2, 1)]);
        assert_eq!(turns(&balance, &changed, 5, &|_| true), "bcdcb");
        assert_eq!(
            turns(&balance, &of(&[(3, 0), (4, 4)]), 4, &|_| true),
            "dddd"
        );
        assert_eq!(
            turns(&balance, &of(&[(3, 2), (4, 2)]), 4, &|_| true).len(),
            4
        );
    }

    #[test]
    fn methods_take_turns_of_their_own() {
        let (balance, two) = (fixed(), candidates(&weighted(&[1, 1])));
        let (first, second) = (invocation_of("First"), invocation_of("Second"));
        for want in [0, 1, 0, 1] {
            assert_eq!(balance.select(&two, &first), Some(want));
            assert_eq!(balance.select(&two, &second), Some(want));
        }
    }
}
