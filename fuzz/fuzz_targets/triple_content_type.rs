//! Content types: no input panics, a canonical one stays as it is, and what is known is known again as it is written.

#![no_main]

use dubbo_protocol::fuzzing::{canonical, grpc_content};
use http::HeaderValue;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = str::from_utf8(bytes) {
        let first = canonical(text);
        assert!(first.len() <= text.len() + 1, "{first:?}");
        assert_eq!(canonical(&first), first);
    }
    let Ok(value) = HeaderValue::from_bytes(bytes) else {
        return;
    };
    let (content, is_grpc) = grpc_content(&value);
    if let Some(text) = content {
        assert!(is_grpc, "{value:?}");
        let again = grpc_content(&HeaderValue::from_static(text));
        assert_eq!(again, (content, true));
    }
});
