//! Wrappers: no input panics, and what is read is written again as it was.

#![no_main]

use dubbo_protocol::fuzzing::wrapper;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((read, again)) = wrapper(bytes) {
        let (read, again) = (format!("{read:?}"), format!("{again:?}"));
        assert_eq!(read, again);
    }
});
