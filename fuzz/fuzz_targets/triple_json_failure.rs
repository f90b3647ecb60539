//! Errors as JSON, as a client reads them: no input panics, each is a failure that is no larger than what came justifies, and
//! what was read is the same once it is written and read again.

#![no_main]

use dubbo_core::status::{Code, Status};
use dubbo_protocol::fuzzing::{json_error, read_json_error};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (http, body) = input;
    let Some(status) = read_json_error(http, body) else {
        return;
    };
    assert_ne!(status.code(), Code::Ok);
    assert!(status.message().len() <= 200 + body.len());
    let again = read_json_error(http, &json_error(&status)).expect("the status is one of HTTP");
    assert_eq!(told(&again), told(&status));
});

/// A `type` without a name before its slash loses the slash on its way: it is one of protobuf's own place.
fn told(status: &Status) -> (Code, &str, Vec<(&str, &[u8])>) {
    let details = status.details().iter();
    let details = details.map(|detail| {
        let name = detail.type_url.trim_start_matches("type.googleapis.com/");
        (name, &detail.value[..])
    });
    (status.code(), status.message(), details.collect())
}
