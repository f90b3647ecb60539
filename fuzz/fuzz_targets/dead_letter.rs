//! Dead letters as they are kept: no input panics, and a letter that was read is the same once it is written and read again.

#![no_main]

use dubbo_cluster::resend::dead_letter::DeadLetter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = DeadLetter::decode(bytes);
    // Chance finds no checksum.
    let sum = crc32fast::hash(bytes).to_be_bytes();
    let whole = [&[VERSION], &sum[..], bytes].concat();
    let Ok(letter) = DeadLetter::decode(&whole) else {
        return;
    };
    let written = letter.encode().expect("what was read can be written");
    let again = DeadLetter::decode(&written).expect("what was written can be read");
    assert_eq!(format!("{again:?}"), format!("{letter:?}"));
    assert_eq!(again.encode().expect("as before"), written);
});

const VERSION: u8 = 1;
