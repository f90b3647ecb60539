//! Headers as attachments: no input panics, none of the protocol's own names gets through, and what was read is read the
//! same once it is written again, with the spelling that it came in.

#![no_main]

use dubbo_core::attachments::{Attachments, is_reserved};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split(|byte| *byte == b'\n');
    let headers: HeaderMap = lines
        .filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(&line[..at]).ok()?;
            Some((
                name,
                HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?,
            ))
        })
        .take(1_000)
        .collect();
    let first = Attachments::from_headers(headers);
    let mut written = HeaderMap::new();
    first.write_to(&mut written).expect("it came from headers");
    first.write_spellings_to(&mut written);
    let second = Attachments::from_headers(written);
    assert_eq!(told(&second), told(&first));
    assert_eq!(second.is_empty(), first.is_empty());
});

fn told(attachments: &Attachments) -> Vec<String> {
    let mut all: Vec<_> = attachments
        .iter()
        .map(|(name, value)| {
            assert!(!is_reserved(&name), "{name}");
            assert!(attachments.contains(&name), "{name}");
            format!("{name}={value:?}")
        })
        .collect();
    all.sort_unstable();
    all
}
