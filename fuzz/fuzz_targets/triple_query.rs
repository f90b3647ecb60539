//! Calls with GET: no input panics, no message is longer than its query, and what was put into one comes out as it was.

#![no_main]

use std::fmt::Write as _;

use dubbo_protocol::fuzzing::query;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = str::from_utf8(bytes) {
        if let Some(message) = query(text) {
            assert!(message.len() < text.len());
        }
    }
    let mut escaped = String::from("encoding=proto&message=");
    for byte in bytes {
        write!(escaped, "%{byte:02x}").expect("a text grows");
    }
    assert_eq!(query(&escaped).as_deref(), Some(bytes));
});
