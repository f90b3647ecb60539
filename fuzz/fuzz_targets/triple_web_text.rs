//! The base64 of gRPC-Web: no input panics, how it is cut changes nothing, no more comes out than went in, and what was
//! encoded comes out as it was, with padding in the middle as well.

#![no_main]

use dubbo_protocol::fuzzing::{web_encoded, web_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (chunk, part, bytes) = input;
    let whole = web_text(bytes, usize::MAX);
    assert_eq!(web_text(bytes, chunk.into()), whole);
    if let Some(whole) = whole {
        assert!(whole.len() <= bytes.len() / 4 * 3);
    }
    let parts = bytes.chunks(usize::from(part).max(1));
    let text: Vec<u8> = parts.flat_map(|part| web_encoded(part)).collect();
    assert_eq!(web_text(&text, chunk.into()).as_deref(), Some(bytes));
});
