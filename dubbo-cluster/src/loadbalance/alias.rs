//! `aliasmethod`: by chance in proportion to the weights, from a table that answers at once.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, Node, Weights},
    invocation::Invocation,
};
use fastrand::Rng;

use super::{Clock, chance::Chance, draw, prepared::Prepared};

/// Picks a provider with a probability in proportion to its weight, warm-up applied, from a table of Vose's alias method.
///
/// `docs/spec/cluster.md` §3.10. The table is made once for a list and its weights, and serves every pick until one of
/// them changes; weights are looked at once a second.
pub struct AliasMethod {
    tables: Prepared<AliasTable>,
    chance: Chance,
    clock: Clock,
}

impl AliasMethod {
    /// Chance seeded by the system, warm-up by the system's clock.
    pub fn new() -> Self {
        Self::with(Chance::new(), Clock::system())
    }

    /// The same picks for the same seed, as long as one caller at a time picks.
    pub fn from_seed(seed: u64, clock: Clock) -> Self {
        Self::with(Chance::from_seed(seed), clock)
    }

    fn with(chance: Chance, clock: Clock) -> Self {
        Self {
            tables: Prepared::default(),
            chance,
            clock,
        }
    }
}

impl Default for AliasMethod {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadBalance for AliasMethod {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        self.select_where(candidates, invocation, &|_| true)
    }

    fn select_where(
        &self,
        candidates: &Candidates,
        _invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        if candidates.is_empty() {
            return None;
        }
        let (now, mut rng) = (self.clock.now_millis(), self.chance.rng());
        let table = self.tables.of(
            candidates,
            |table| table.holds(candidates, now),
            |_| AliasTable::new(candidates, now),
        );
        for _ in 0..TRIES {
            let at = table.draw(&mut rng);
            if candidates.get(at).is_some_and(wanted) {
                return Some(at);
            }
        }
        draw::by_weight(candidates, now, &mut rng, wanted)
    }
}

/// A column for each candidate, all equally high: its own part below, and above that another's.
#[derive(Debug)]
struct AliasTable {
    weights: Weights,
    /// When the weights were last seen to be the same.
    seen_millis: AtomicU64,
    /// How high each column is; the sum of the weights, or 1 when there are none.
    height: u64,
    columns: Box<[Column]>,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    /// So much of the height is its own.
    own: u64,
    /// Whose the rest is.
    alias: u32,
}

impl AliasTable {
    /// For candidates, at least one.
    fn new(candidates: &Candidates, now_millis: u64) -> Self {
        let weights = candidates.weights(now_millis);
        let (height, columns) = columns(&weights, candidates.len());
        Self {
            weights,
            seen_millis: AtomicU64::new(now_millis),
            height,
            columns,
        }
    }

    /// Whether the weights are still the same.
    fn holds(&self, candidates: &Candidates, now_millis: u64) -> bool {
        let seen = self.seen_millis.load(Ordering::Relaxed);
        if seen.abs_diff(now_millis) < FRESH_MILLIS {
            return true;
        }
        let same = candidates.weights(now_millis).are_same(&self.weights);
        if same {
            self.seen_millis.store(now_millis, Ordering::Relaxed);
        }
        same
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        let at = rng.usize(..self.columns.len());
        let Column { own, alias } = self.columns[at];
        if rng.u64(..self.height) < own {
            at
        } else {
            alias as usize
        }
    }
}

/// The height and the columns for `count` candidates.
fn columns(weights: &Weights, count: usize) -> (u64, Box<[Column]>) {
    let total = weights.total();
    if total == 0 {
        let whole = Column { own: 1, alias: 0 };
        return (1, vec![whole; count].into());
    }
    // Each weight times the number of columns: together they fill all columns exactly.
    let mut left: Vec<u64> = (0..count)
        .map(|at| u64::from(weights.get(at)) * count as u64)
        .collect();
    let mut columns: Box<[Column]> = (0..)
        .take(count)
        .map(|alias| Column { own: total, alias })
        .collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|&at| left[at] < total);
    while let (Some(poor), Some(&rich)) = (low.pop(), high.last()) {
        columns[poor].own = left[poor];
        columns[poor].alias = columns[rich].alias;
        left[rich] -= total - left[poor];
        if left[rich] < total {
            high.pop();
            low.push(rich);
        }
    }
    (total, columns)
}

impl fmt::Debug for AliasMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AliasMethod").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "aliasmethod", |_cx| Ok(Arc::new(
    AliasMethod::new()
)));

/// Then all are asked.
const TRIES: usize = 8;

/// Warm-up and scores move slowly.
const FRESH_MILLIS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use dubbo_core::cluster::Score;

    use super::*;
    use crate::testing::{candidates, invocation, weighted};

    #[test]
    fn cluster_t05_alias_columns_are_as_vose_has_them() {
        let four = candidates(&weighted(&[1, 2, 3, 4]));
        let table = AliasTable::new(&four, 0);
        assert_eq!(table.height, 10);
        let own = table.columns.iter().map(|column| column.own);
        assert_eq!(own.collect::<Vec<_>>(), [4, 8, 10, 8]);
        let alias = |at: usize| table.columns[at].alias;
        assert_eq!([alias(0), alias(1), alias(3)], [3, 3, 2]);
    }

    #[test]
    fn cluster_t05_alias_shares_follow_the_weights_and_the_table_is_made_once() {
        let four = candidates(&weighted(&[1, 2, 3, 4]));
        let millis = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&millis);
        let alias = AliasMethod::from_seed(42, Clock::new(move || clock.load(Ordering::Relaxed)));
        let pick = || alias.select(&four, &invocation()).expect("four");
        let table = || {
            pick();
            let millis = millis.load(Ordering::Relaxed);
            alias
                .tables
                .of(&four, |_| true, |_| AliasTable::new(&four, millis))
        };
        let first = table();
        let mut counts = [0_u32; 4];
        for _ in 0..100_000 {
            // A hundred seconds: looked at a hundred times, and always the same.
            millis.fetch_add(1, Ordering::Relaxed);
            counts[pick()] += 1;
        }
        let chi_squared: f64 = counts
            .iter()
            .zip([10_000.0, 20_000.0, 30_000.0, 40_000.0])
            .map(|(&got, want)| (f64::from(got) - want).powi(2) / want)
            .sum();
        assert!(chi_squared < 16.27, "{counts:?}: {chi_squared}");
        assert!(Arc::ptr_eq(&table(), &first), "one table");

        let last = four.get(3).expect("four");
        last.state.set_score(Score::new(0.5));
        millis.fetch_add(2_000, Ordering::Relaxed);
        assert!(!Arc::ptr_eq(&table(), &first), "a weight changed");
    }

    #[test]
    fn tables_of_any_weights_fill_all_columns() {
        let mut rng = Rng::with_seed(42);
        for _ in 0..200 {
            let weights: Vec<u32> = (0..rng.usize(1..40)).map(|_| rng.u32(0..9)).collect();
            let all = candidates(&weighted(&weights));
            let table = AliasTable::new(&all, 0);
            let mut got = vec![0; weights.len()];
            for (at, column) in table.columns.iter().enumerate() {
                got[at] += column.own;
                got[column.alias as usize] += table.height - column.own;
            }
            let count = weights.len() as u64;
            let want = weights.iter().map(|&weight| u64::from(weight) * count);
            if weights.iter().any(|&weight| weight > 0) {
                assert_eq!(got, want.collect::<Vec<_>>(), "{weights:?}");
            }
        }
    }
}
