//! Statuses in headers: no input panics, and a status that was read is read the same once it is written again.

#![no_main]

use dubbo_protocol::fuzzing::status;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8], &[u8])| {
    let (code, message, details) = input;
    let Some((first, second)) = status(code, message, details) else {
        return;
    };
    if first.code().number() != 0 {
        assert_eq!(first.code(), second.code());
    }
    // Long texts are cut.
    assert!(first.message().starts_with(second.message()));
});
