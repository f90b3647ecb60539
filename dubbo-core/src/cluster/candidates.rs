//! Those of a list that a call may go to.

use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use super::{Node, NodeList, list::WeightTable};

/// A shrinking view of a directory's list: routers drop positions, and no provider is copied. A view of the whole list
/// costs the same however long it is.
#[derive(Debug, Clone)]
pub struct Candidates {
    list: Arc<NodeList>,
    kept: Kept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    All,
    /// Their places in the list, rising.
    Some(SmallVec<[u32; 16]>),
}

impl Candidates {
    /// All of `list`.
    pub fn all(list: Arc<NodeList>) -> Self {
        Self {
            list,
            kept: Kept::All,
        }
    }

    /// The list that they are of.
    pub fn list(&self) -> &Arc<NodeList> {
        &self.list
    }

    /// Whether nobody was dropped.
    pub fn is_all(&self) -> bool {
        matches!(self.kept, Kept::All)
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        match &self.kept {
            Kept::All => self.list.len(),
            Kept::Some(kept) => kept.len(),
        }
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one at `position`.
    pub fn get(&self, position: usize) -> Option<&Node> {
        self.list.get(self.place(position)?)
    }

    /// Those that are left.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Node> {
        (0..self.len()).map(|position| match &self.kept {
            Kept::All => &self.list[position],
            Kept::Some(kept) => &self.list[kept[position] as usize],
        })
    }

    /// The places in [the list](Self::list) of those that are left, rising.
    pub fn places(&self) -> impl ExactSizeIterator<Item = usize> {
        (0..self.len()).map(|position| match &self.kept {
            Kept::All => position,
            Kept::Some(kept) => kept[position] as usize,
        })
    }

    /// Keeps those for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Node) -> bool) {
        let list = &self.list;
        match &mut self.kept {
            Kept::All => {
                let places = (0..).zip(list.iter());
                let kept = places
                    .filter(|(_, node)| keep(node))
                    .map(|(place, _)| place);
                let kept: SmallVec<_> = kept.collect();
                if kept.len() < list.len() {
                    self.kept = Kept::Some(kept);
                }
            }
            Kept::Some(kept) => kept.retain(|place| keep(&list[*place as usize])),
        }
    }

    /// Keeps those that are also in `places`, rising places in [the list](Self::list): what an index of the list knows.
    pub fn intersect(&mut self, places: &[u32]) {
        let kept = match &self.kept {
            Kept::All => {
                let known = places.iter().copied();
                known
                    .filter(|&place| (place as usize) < self.list.len())
                    .collect()
            }
            Kept::Some(kept) => {
                let both = kept.iter().copied();
                both.filter(|place| places.binary_search(place).is_ok())
                    .collect()
            }
        };
        self.kept = Kept::Some(kept);
    }

    /// Those for which `keep` says so, as a view of its own.
    pub fn narrowed(&self, keep: impl FnMut(&Node) -> bool) -> Self {
        let mut narrowed = self.clone();
        narrowed.retain(keep);
        narrowed
    }

    /// Where the one at `position` stands in [the list](Self::list).
    pub fn place(&self, position: usize) -> Option<usize> {
        match &self.kept {
            Kept::All => (position < self.list.len()).then_some(position),
            Kept::Some(kept) => kept.get(position).map(|&place| place as usize),
        }
    }

    /// The position of the one that stands at `place` of [the list](Self::list), if it is left.
    pub fn position_of(&self, place: usize) -> Option<usize> {
        match &self.kept {
            Kept::All => (place < self.list.len()).then_some(place),
            Kept::Some(kept) => kept.binary_search(&u32::try_from(place).ok()?).ok(),
        }
    }

    /// Which ones these are, for what is made of them once and used for many calls.
    pub fn key(&self) -> CandidatesKey {
        CandidatesKey {
            list: Arc::downgrade(&self.list),
            kept: self.kept.clone(),
        }
    }

    /// Where the one at `position` of `narrowed`, which came of this by dropping some, stands here.
    pub fn position_in(&self, narrowed: &Self, position: usize) -> Option<usize> {
        self.position_of(narrowed.place(position)?)
    }

    /// The effective weights ([`Node::effective_weight`]) of those that are left, all at one time. Those of a whole list
    /// are up to a second old.
    pub fn weights(&self, now_millis: u64) -> Weights {
        match &self.kept {
            Kept::All => Weights(Of::List(self.list.weights(now_millis))),
            Kept::Some(kept) => {
                let nodes = kept.iter().map(|&place| &self.list[place as usize]);
                let own = nodes.map(|node| node.effective_weight(now_millis));
                Weights(Of::Few(own.collect()))
            }
        }
    }

    /// No weight of these is larger, unless it grew within the last second. It costs the same however many they are.
    pub fn largest_weight(&self, now_millis: u64) -> u32 {
        self.list.weights(now_millis).largest
    }
}

/// Which ones of which list some candidates are: equal only to those of the same list with the same ones dropped.
///
/// It keeps neither the list nor anyone in it.
#[derive(Debug, Clone)]
pub struct CandidatesKey {
    // While this is held nobody else gets the address, so the address tells lists apart.
    list: Weak<NodeList>,
    kept: Kept,
}

impl CandidatesKey {
    /// Whether it is that of `candidates`. For a whole list the answer costs the same however long it is.
    pub fn is_of(&self, candidates: &Candidates) -> bool {
        self.list_is(candidates.list()) && self.kept == candidates.kept
    }

    /// Whether it is that of all or some of `list`.
    pub fn list_is(&self, list: &Arc<NodeList>) -> bool {
        std::ptr::eq(self.list.as_ptr(), Arc::as_ptr(list))
    }

    /// Whether nobody has the list any more.
    pub fn is_gone(&self) -> bool {
        self.list.strong_count() == 0
    }
}

/// The weights of some candidates, by their positions.
#[derive(Debug)]
pub struct Weights(Of);

#[derive(Debug)]
enum Of {
    List(Arc<WeightTable>),
    Few(SmallVec<[u32; 16]>),
}

impl Weights {
    /// All together.
    pub fn total(&self) -> u64 {
        match &self.0 {
            Of::List(table) => table.total(),
            Of::Few(weights) => weights.iter().copied().map(u64::from).sum(),
        }
    }

    /// Whether they are all the same.
    pub fn are_equal(&self) -> bool {
        match &self.0 {
            Of::List(table) => table.equal,
            Of::Few(weights) => weights.windows(2).all(|pair| pair[0] == pair[1]),
        }
    }

    /// Whether they say the same as `other`, which are weights of the same candidates at another time.
    pub fn are_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Of::List(table), Of::List(other)) => table.is_same(other),
            (Of::Few(weights), Of::Few(other)) => weights == other,
            _ => false,
        }
    }

    /// The weight of the candidate at `position`, which is one of them.
    pub fn get(&self, position: usize) -> u32 {
        match &self.0 {
            Of::List(table) => table.get(position),
            Of::Few(weights) => weights[position],
        }
    }

    /// The position of the candidate that has the unit of weight `offset`, from 0 to less than [`total`](Self::total), when
    /// they are laid side by side.
    pub fn holder(&self, offset: u64) -> usize {
        match &self.0 {
            Of::List(table) => table.holder(offset),
            Of::Few(weights) => {
                let mut left = offset;
                let holder = weights.iter().position(|&weight| {
                    let mine = left < u64::from(weight);
                    left = left.saturating_sub(u64::from(weight));
                    mine
                });
                holder.unwrap_or(weights.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::{
        cluster::{NodeWeight, Score},
        invocation::{Invocation, RpcResult},
        invoker::Invoker,
        status::Status,
        url::Url,
    };

    struct At(Url);

    #[async_trait]
    impl Invoker for At {
        fn url(&self) -> &Url {
            &self.0
        }

        async fn invoke(&self, _: Invocation) -> RpcResult {
            Err(Status::unavailable("nobody calls it"))
        }
    }

    fn of(weights: &[u32]) -> Candidates {
        let nodes = (1..).zip(weights).map(|(port, &weight)| {
            let url = Url::new("tri", "10.0.0.1").with_port(port);
            Node::new(Arc::new(At(url)), NodeWeight::constant(weight))
        });
        Candidates::all(Arc::new(nodes.collect()))
    }

    fn ports(candidates: &Candidates) -> Vec<u16> {
        candidates
            .iter()
            .filter_map(|node| node.url.port())
            .collect()
    }

    #[test]
    fn dropping_narrows_and_positions_lead_back() {
        let all = of(&[1; 7]);
        assert!(all.is_all());
        let odd = all.narrowed(|node| node.url.port().is_some_and(|port| port % 2 == 1));
        assert_eq!(ports(&odd), [1, 3, 5, 7]);
        let late = odd.narrowed(|node| node.url.port() > Some(4));
        assert_eq!(ports(&late), [5, 7]);
        assert_eq!(odd.position_in(&late, 0), Some(2));
        assert_eq!(all.position_in(&late, 1), Some(6));
        assert_eq!(all.position_in(&late, 2), None);
        assert!(all.narrowed(|_| true).is_all(), "nobody was dropped");
        assert!(all.narrowed(|_| false).is_empty());
        for (mut from, places, want) in [
            (all.clone(), &[0, 2, 99][..], &[1, 3][..]),
            (odd.clone(), &[0, 1, 2], &[1, 3]),
            (odd, &[], &[]),
        ] {
            from.intersect(places);
            assert_eq!(ports(&from), want);
        }
    }

    #[test]
    fn weights_are_the_same_for_a_list_and_for_what_is_left_of_it() {
        let all = of(&[9, 1, 0, 3]);
        all.get(3)
            .expect("is there")
            .state
            .set_score(Score::new(0.67));
        for (candidates, want) in [
            (all.clone(), &[9, 1, 0, 2][..]),
            (all.narrowed(|node| node.url.port() != Some(1)), &[1, 0, 2]),
        ] {
            let weights = candidates.weights(0);
            let each: Vec<u32> = (0..candidates.len()).map(|at| weights.get(at)).collect();
            assert_eq!(each, want);
            assert_eq!(weights.total(), u64::from(want.iter().sum::<u32>()));
            let holders = (0..weights.total()).map(|offset| weights.holder(offset));
            let mut counted = vec![0; want.len()];
            holders.for_each(|at| counted[at] += 1);
            assert_eq!(counted, want, "each has as many units as its weight");
            assert!(!weights.are_equal());
        }
        assert!(of(&[]).weights(0).are_equal() && of(&[5, 5]).weights(0).are_equal());
        assert_eq!(of(&[]).weights(0).total(), 0);
    }

    #[test]
    fn a_key_tells_lists_and_what_is_left_of_them_apart() {
        let all = of(&[1; 4]);
        let odd =
            |of: &Candidates| of.narrowed(|node| node.url.port().is_some_and(|at| at % 2 == 1));
        let (whole, half) = (all.key(), odd(&all).key());
        for (candidates, want) in [
            (all.clone(), [true, false]),
            (odd(&all), [false, true]),
            (
                odd(&all).narrowed(|node| node.url.port() == Some(1)),
                [false; 2],
            ),
            (of(&[1; 4]), [false; 2]),
        ] {
            assert_eq!([whole.is_of(&candidates), half.is_of(&candidates)], want);
        }
        assert!(half.list_is(all.list()));
        drop(all);
        assert!(whole.is_gone() && half.is_gone());
        assert!(!whole.is_of(&of(&[1; 4])), "another list at another place");
    }

    #[test]
    fn weights_that_did_not_change_are_the_same_ones() {
        let all = of(&[4, 9]);
        let one = all.narrowed(|node| node.url.port() == Some(2));
        let before = (all.weights(0), one.weights(0));
        let same = |now| {
            [
                all.weights(now).are_same(&before.0),
                one.weights(now).are_same(&before.1),
            ]
        };
        assert_eq!(same(5_000), [true; 2]);
        assert_eq!(one.largest_weight(5_000), 9);
        let second = all.get(1).expect("is there");
        second.state.set_score(Score::new(0.3));
        assert_eq!(same(10_000), [false; 2]);
        assert_eq!(all.largest_weight(10_000), 4);
    }

    #[test]
    fn the_weights_of_a_list_are_reckoned_again_after_a_second() {
        let all = of(&[100]);
        assert_eq!(all.weights(5_000).get(0), 100);
        all.get(0)
            .expect("is there")
            .state
            .set_score(Score::new(0.5));
        for (now, want) in [(5_999, 100), (6_000, 50), (6_001, 50)] {
            assert_eq!(all.weights(now).get(0), want, "at {now}");
        }
    }
}
