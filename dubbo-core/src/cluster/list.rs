//! A directory's list at one moment, and what is reckoned once for all calls that read it.

use std::{fmt, ops::Deref, sync::Arc};

use arc_swap::ArcSwapOption;

use super::Node;

/// The providers of one reference at one moment. It never changes: another list takes its place.
#[derive(Default)]
pub struct NodeList {
    nodes: Box<[Node]>,
    weights: ArcSwapOption<WeightTable>,
}

impl NodeList {
    /// The weights of all, at most a second old.
    pub(super) fn weights(&self, now_millis: u64) -> Arc<WeightTable> {
        if let Some(table) = &*self.weights.load()
            && table.at_millis.abs_diff(now_millis) < FRESH_MILLIS
        {
            return Arc::clone(table);
        }
        // Several callers may do this at a time; they come to the same.
        let before = self.weights.load();
        let table = WeightTable::new(&self.nodes, now_millis, before.as_deref());
        let table = Arc::new(table);
        self.weights.store(Some(Arc::clone(&table)));
        table
    }
}

impl Deref for NodeList {
    type Target = [Node];

    fn deref(&self) -> &[Node] {
        &self.nodes
    }
}

impl From<Vec<Node>> for NodeList {
    fn from(nodes: Vec<Node>) -> Self {
        Self {
            nodes: nodes.into(),
            ..Self::default()
        }
    }
}

impl FromIterator<Node> for NodeList {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        nodes.into_iter().collect::<Vec<_>>().into()
    }
}

impl fmt::Debug for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.nodes).finish()
    }
}

/// The effective weights of a whole list, summed up, so that a pick by weight is a binary search.
#[derive(Debug)]
pub(super) struct WeightTable {
    at_millis: u64,
    /// The sum up to and with each node. Tables that say the same share it.
    sums: Arc<[u64]>,
    pub(super) equal: bool,
    pub(super) largest: u32,
}

impl WeightTable {
    fn new(nodes: &[Node], now_millis: u64, before: Option<&Self>) -> Self {
        let mut total = 0;
        let mut equal = true;
        let mut largest = 0;
        let mut first = None;
        let sums = nodes.iter().map(|node| {
            let weight = node.effective_weight(now_millis);
            equal &= *first.get_or_insert(weight) == weight;
            largest = largest.max(weight);
            total += u64::from(weight);
            total
        });
        let sums: Arc<[u64]> = sums.collect();
        let same = before.map(|before| &before.sums);
        let same = same.filter(|before| **before == sums);
        Self {
            at_millis: now_millis,
            sums: same.map_or(sums, Arc::clone),
            equal,
            largest,
        }
    }

    /// Whether both say the same of one list.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sums, &other.sums)
    }

    pub(super) fn total(&self) -> u64 {
        self.sums.last().copied().unwrap_or(0)
    }

    pub(super) fn get(&self, index: usize) -> u32 {
        let before = index.checked_sub(1).map_or(0, |before| self.sums[before]);
        // The difference is one weight.
        u32::try_from(self.sums[index] - before).unwrap_or(u32::MAX)
    }

    /// Who has the `offset`th unit of weight.
    pub(super) fn holder(&self, offset: u64) -> usize {
        self.sums.partition_point(|&sum| sum <= offset)
    }
}

/// Warm-up and scores move slowly.
const FRESH_MILLIS: u64 = 1_000;
