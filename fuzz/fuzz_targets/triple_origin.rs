//! Origins: no input panics, an origin without a star is one of its own, and what is below a place ends with its name.

#![no_main]

use dubbo_protocol::fuzzing::{origin_is_allowed, origin_is_same};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (pattern, origin) = text.split_once('\n').unwrap_or((text, text));
    origin_is_same(origin, pattern);
    let Some(allowed) = origin_is_allowed(pattern, origin) else {
        return;
    };
    if pattern == "*" {
        assert!(allowed);
        return;
    }
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    if pattern.contains("://") && !pattern.contains('*') {
        assert_eq!(origin_is_allowed(pattern, pattern), Some(true));
    }
    if allowed && pattern != origin {
        let (scheme, place) = origin.split_once("://").expect("an origin");
        if let Some((wanted, _)) = pattern.split_once("://") {
            assert!(wanted.eq_ignore_ascii_case(scheme));
        }
        let host = |place: &str| {
            let place = place.to_ascii_lowercase();
            match place.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => host.to_owned(),
                _ => place,
            }
        };
        let wanted = pattern
            .split_once("://")
            .map_or(pattern, |(_, place)| place);
        match wanted.strip_prefix("*.") {
            Some(wanted) => assert!(host(place).ends_with(&format!(".{}", host(wanted)))),
            None => assert_eq!(host(place), host(wanted)),
        }
    }
});
