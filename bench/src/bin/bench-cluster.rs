//! Measures what it costs to choose a provider, and writes the figures, one a line: a name and a number.

use std::io::{self, Write as _};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

fn main() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for (name, figure) in bench::cluster::measure(&INSTRUMENTED_SYSTEM) {
        writeln!(output, "{name} {figure}")?;
    }
    Ok(())
}
