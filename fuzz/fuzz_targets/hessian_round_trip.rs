//! Hessian: a value that was read is the same once it is written and read again, and is then written the same.

#![no_main]

use dubbo_hessian2::{Value, from_slice, to_vec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = from_slice::<Value>(bytes) else {
        return;
    };
    let written = to_vec(&value).expect("what was read can be written");
    let again: Value = from_slice(&written).expect("what was written can be read");
    assert_eq!(again, value);
    assert_eq!(to_vec(&again).expect("it can be written again"), written);
});
