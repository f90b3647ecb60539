//! Measures what it costs to follow ten thousand instances, and writes the figures, one a line: a name and a number.

use std::io::{self, Write as _};

use bench::discovery;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

fn main() -> io::Result<()> {
    let figures = discovery::measure(&|| {
        let stats = INSTRUMENTED_SYSTEM.stats();
        stats
            .bytes_allocated
            .saturating_sub(stats.bytes_deallocated)
    });
    let mut output = io::stdout().lock();
    for (name, figure) in figures {
        writeln!(output, "{name} {figure}")?;
    }
    Ok(())
}
