//! The ring: each provider has points on it, and owns what lies before them.

use std::{cmp::Reverse, collections::HashMap, fmt::Write as _};

use dubbo_core::cluster::{Node, NodeList};
use md5::Context;
use smallvec::SmallVec;

use super::key::positions;

/// The points of the providers of one list.
#[derive(Debug)]
pub(super) struct Ring {
    points: Box<[Point]>,
    /// Of the providers, by their places in the list.
    addresses: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    position: u32,
    /// In the list.
    place: u32,
}

impl Ring {
    /// The ring of `list` with so many virtual nodes for each provider. It starts from `before`, a ring with as many, so
    /// that only providers that came cost hashes.
    pub(super) fn new(list: &NodeList, nodes: u32, before: Option<&Self>) -> Self {
        let addresses: Vec<String> = list.iter().map(|node| node.url.address()).collect();
        let mut is_new = vec![true; addresses.len()];
        let mut points =
            before.map_or_else(Vec::new, |before| before.moved(&addresses, &mut is_new));
        for (place, address) in (0..).zip(&addresses) {
            if is_new[place as usize] {
                each_position(address, nodes, |position| {
                    points.push(Point { position, place });
                });
            }
        }
        // At a position that two have, the later of them goes first, as in the references. What came of `before` is
        // in order already, which makes the sort a merge.
        points.sort_by_key(|point| (point.position, Reverse(point.place)));
        Self {
            points: points.into(),
            addresses,
        }
    }

    /// The points of those that are among `addresses`, with their new places, which are no longer new.
    fn moved(&self, addresses: &[String], is_new: &mut [bool]) -> Vec<Point> {
        // One address may stand in a list twice: each place is given once.
        let mut places: HashMap<&str, SmallVec<[u32; 1]>> = HashMap::new();
        for (place, address) in (0..).zip(addresses) {
            places.entry(address).or_default().push(place);
        }
        let moved = self.addresses.iter().map(|address| {
            let place = places.get_mut(&**address)?.pop()?;
            is_new[place as usize] = false;
            Some(place)
        });
        let moved: Vec<Option<u32>> = moved.collect();
        let points = self.points.iter().filter_map(|point| {
            let place = moved[point.place as usize]?;
            Some(Point { place, ..*point })
        });
        points.collect()
    }

    /// What `take` makes of the owner of `hash`, or of the next one on the ring for which it makes something. `None`: it
    /// makes nothing of those at the next [`STEPS`] points.
    pub(super) fn walk<T>(&self, hash: u32, mut take: impl FnMut(usize) -> Option<T>) -> Option<T> {
        let start = self.points.partition_point(|point| point.position < hash);
        let (before, after) = self.points.split_at(start);
        let mut steps = after.iter().chain(before).take(STEPS);
        steps.find_map(|point| take(point.place as usize))
    }

    /// Whether a walk meets everybody.
    pub(super) fn is_walked_whole(&self) -> bool {
        self.points.len() <= STEPS
    }

    #[cfg(test)]
    pub(super) fn points(&self) -> impl ExactSizeIterator<Item = (u32, usize)> {
        let points = self.points.iter();
        points.map(|point| (point.position, point.place as usize))
    }
}

/// The index of the owner of `hash` on the ring of `providers`, without making the ring.
pub(super) fn nearest<'a>(
    providers: impl Iterator<Item = &'a Node>,
    nodes: u32,
    hash: u32,
) -> Option<usize> {
    let mut nearest: Option<(u32, usize)> = None;
    for (index, node) in providers.enumerate() {
        each_position(&node.url.address(), nodes, |position| {
            let distance = position.wrapping_sub(hash);
            if nearest.is_none_or(|(least, _)| distance <= least) {
                nearest = Some((distance, index));
            }
        });
    }
    nearest.map(|(_, index)| index)
}

/// The points of the provider at `address`.
fn each_position(address: &str, nodes: u32, mut each: impl FnMut(u32)) {
    let mut text = address.to_owned();
    for group in 0..nodes / 4 {
        text.truncate(address.len());
        let written = write!(text, "{group}");
        written.expect("invariant: a string takes any text");
        let mut hasher = Context::new();
        hasher.consume(&text);
        positions(&hasher.finalize())
            .into_iter()
            .for_each(&mut each);
    }
}

/// So many points are looked at before the wanted ones are looked for by themselves.
const STEPS: usize = 1_024;
