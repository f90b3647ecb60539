//! What callers take: no input panics, nothing is chosen that was not offered, and how the list is cut into headers changes
//! nothing.

#![no_main]

use dubbo_protocol::fuzzing::chosen_compression;
use http::HeaderValue;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A value with other characters counts for nothing, whatever else is in it.
    let Some(whole) = HeaderValue::from_str(text).ok().filter(|_| text.is_ascii()) else {
        return;
    };
    let chosen = chosen_compression(&[whole]);
    let parts: Result<Vec<_>, _> = text.split(',').map(HeaderValue::from_str).collect();
    let parts = parts.expect("parts of a value are values");
    assert_eq!(chosen_compression(&parts), chosen);
    if let Some(chosen) = chosen {
        let text = text.to_ascii_lowercase();
        assert!(text.contains(chosen.name()) || text.contains('*'));
    }
});
