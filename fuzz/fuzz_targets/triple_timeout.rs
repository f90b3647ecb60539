//! How long a caller waits: no input panics, no timeout becomes shorter on its way, and none is longer than it can say.

#![no_main]

use std::time::Duration;

use dubbo_protocol::fuzzing::{grpc_timeout, triple_timeout};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &[u8]| {
    if let Some((first, second)) = grpc_timeout(value) {
        assert!(value.len() <= 9);
        assert!(second >= first, "{first:?} {second:?}");
        assert!(second - first <= first / 100_000);
    }
    if let Some(wait) = triple_timeout(value) {
        assert!(value.len() <= 10);
        let millis: u64 = str::from_utf8(value)
            .expect("digits")
            .parse()
            .expect("a number");
        // It is counted from now, which goes on.
        assert!(wait >= Duration::from_millis(millis));
        assert!(wait <= Duration::from_millis(millis) + Duration::from_secs(10));
    }
});
