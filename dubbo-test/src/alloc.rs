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

/// What one call takes, on average and rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Allocations; a reallocation is one too.
    pub allocations: usize,
    /// Bytes asked for.
    pub bytes: usize,
}

/// Runs `call` `warm_up` times, so that pools and tables have their size, then counts `calls` of them.
///
/// Without [`COUNTING`] as the global allocator the answer is nothing.
pub async fn per_call(warm_up: usize, calls: usize, mut call: impl AsyncFnMut()) -> Cost {
    for _ in 0..warm_up {
        call().await;
    }
    let region = Region::new(COUNTING);
    for _ in 0..calls {
        call().await;
    }
    let stats = region.change();
    Cost {
        allocations: (stats.allocations + stats.reallocations).div_ceil(calls),
        bytes: stats.bytes_allocated.div_ceil(calls),
    }
}
