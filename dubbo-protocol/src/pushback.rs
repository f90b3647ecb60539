//! How long whoever tries again should wait first, as both protocols write it (`docs/spec/cluster.md` §7.4).

use std::time::Duration;

/// `wait` in whole milliseconds, rounded up: what comes too early is refused again.
pub(crate) fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(NANOS_PER_MILLI)).unwrap_or(u64::MAX)
}

/// What a peer wrote, if it is a time.
pub(crate) fn read(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_millis)
}

const NANOS_PER_MILLI: u128 = 1_000_000;
