//! Bodies of the classic protocol: no input panics, and a request that is read and written again is the same one.

#![no_main]

use dubbo_protocol::fuzzing::dubbo_body;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((first, second)) = dubbo_body(bytes) {
        assert_eq!(first, second);
    }
});
