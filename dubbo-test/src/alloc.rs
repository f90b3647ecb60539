//! How much a piece of code allocates, anywhere in the process.
//!
//! A test program counts when it installs the counter:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: &dubbo_test::alloc::Counting = dubbo_test::alloc::COUNTING;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let cost = dubbo_test::alloc::per_call(10, 100, async || drop(Box::new(1_u64))).await;
//! assert_eq!((cost.allocations, cost.bytes), (1, 8));
//! # }
//! ```
//!
//! All threads count, so such a program holds one test.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

/// The system's allocator, counted.
pub type Counting = StatsAlloc<System>;

/// The counter.
pub const COUNTING: &Counting = &INSTRUMENTED_SYSTEM;

/// What one call takes, on average over some and rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Allocations; a reallocation is one too.
    pub allocations: usize,
    /// Bytes asked for.
    pub bytes: usize,
}

/// Runs `call` `warm_up` times, so that pools and tables have their size, then counts `calls` of them in [`ROUNDS`] equal
/// rounds.
///
/// The cheapest round counts, by allocations and then bytes: what else goes on in the process, such as the test harness
/// writing its progress, only ever adds, and seldom. Without [`COUNTING`] as the global allocator the answer is nothing.
///
/// # Panics
///
/// With fewer `calls` than rounds.
pub async fn per_call(warm_up: usize, calls: usize, mut call: impl AsyncFnMut()) -> Cost {
    assert!(
        calls >= ROUNDS,
        "{calls} calls are fewer than {ROUNDS} rounds"
    );
    for _ in 0..warm_up {
        call().await;
    }
    let calls = calls / ROUNDS;
    let mut cheapest = (usize::MAX, usize::MAX);
    for _ in 0..ROUNDS {
        let region = Region::new(COUNTING);
        for _ in 0..calls {
            call().await;
        }
        let stats = region.change();
        let allocations = stats.allocations + stats.reallocations;
        cheapest = cheapest.min((allocations, stats.bytes_allocated));
    }
    Cost {
        allocations: cheapest.0.div_ceil(calls),
        bytes: cheapest.1.div_ceil(calls),
    }
}

/// In how many parts calls are counted.
pub const ROUNDS: usize = 5;
