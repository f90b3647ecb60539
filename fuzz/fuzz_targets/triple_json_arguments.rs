//! Arguments as JSON: no input panics, there are as many as the method takes, they are not larger than what came justifies,
//! and JSON that was read is read the same once it is written again.

#![no_main]

use dubbo_hessian2::java::json::{from_json, to_json};
use dubbo_protocol::fuzzing::json_arguments;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (method, body) = input;
    if let Some((values, wanted)) = json_arguments(method.into(), body) {
        assert_eq!(values.len(), wanted);
        let len: usize = values.iter().map(|value| value.len()).sum();
        assert!(len <= 64 + 32 * body.len());
    }
    let Ok(text) = str::from_utf8(body) else {
        return;
    };
    if let Ok(value) = from_json(text) {
        if let Ok(written) = to_json(&value) {
            let again = from_json(&written).expect("what was written can be read");
            assert_eq!(to_json(&again).expect("it can be written again"), written);
        }
    }
});
