//! The parameters that more than one crate reads.

use std::time::Duration;

use super::Key;

/// How long one attempt of a call may take.
pub const TIMEOUT: Key<Option<Duration>> = Key {
    name: "timeout",
    default: || None,
};

/// How often a failed call is tried again. Negative is none.
pub const RETRIES: Key<i32> = Key {
    name: "retries",
    default: || 2,
};

/// The share of calls that a provider wants, beside others.
pub const WEIGHT: Key<u32> = Key {
    name: "weight",
    default: || 100,
};
