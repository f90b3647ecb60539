//! The last envelope of an answer of gRPC-Web: no input panics, and trailers that were read are the same once they are
//! written and read again.

#![no_main]

use dubbo_protocol::fuzzing::{read_web_trailers, web_trailers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|lines: &[u8]| {
    let Some(trailers) = read_web_trailers(lines) else {
        return;
    };
    assert!(trailers.len() <= lines.len() / 2);
    let envelope = web_trailers(&trailers);
    let again = read_web_trailers(&envelope[5..]).expect("what was written can be read");
    assert_eq!(again, trailers);
});
