//! The last envelope of gRPC-Web: it is as long as it says, and its lines are the trailers.

#![no_main]

use dubbo_protocol::fuzzing::web_trailers;
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split(|byte| *byte == b'\n').take(1_000);
    let headers: HeaderMap = lines
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(&line[..at]).ok()?;
            Some((name, HeaderValue::from_bytes(&line[at + 1..]).ok()?))
        })
        .collect();
    let envelope = web_trailers(&headers);
    assert_eq!(envelope[0], 0x80);
    let len = u32::from_be_bytes([envelope[1], envelope[2], envelope[3], envelope[4]]);
    let mut rest = &envelope[5..];
    assert_eq!(len as usize, rest.len());
    for (name, value) in &headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            rest = rest.strip_prefix(part).expect("a line for each");
        }
    }
    assert!(rest.is_empty());
});
