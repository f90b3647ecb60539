//! Texts of errors: whatever they are, what goes out is visible ASCII, three times as long at most, and is read as it was.

#![no_main]

use dubbo_protocol::fuzzing::grpc_message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (headers, read) = grpc_message(text);
    let kept = &text[..text.floor_char_boundary(1_024)];
    assert_eq!(read.as_deref(), Some(kept));
    if let Some(value) = headers.get("grpc-message") {
        assert!(value.len() <= 3 * kept.len());
        assert!(
            value
                .as_bytes()
                .iter()
                .all(|byte| (b' '..=b'~').contains(byte))
        );
    } else {
        assert!(kept.is_empty());
    }
});
