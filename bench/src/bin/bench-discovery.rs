//! Measures what it costs to follow ten thousand instances, and prints the figures, one a line: a name and a number.

use bench::discovery;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

fn main() {
    for (name, figure) in discovery::measure(&|| {
        let stats = INSTRUMENTED_SYSTEM.stats();
        stats
            .bytes_allocated
            .saturating_sub(stats.bytes_deallocated)
    }) {
        println!("{name} {figure}");
    }
}
