//! Envelopes: no input panics, no message is over the limit, and how the bytes are cut changes nothing.

#![no_main]

use dubbo_protocol::fuzzing::messages;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, u16, &[u8])| {
    let (gzip, chunk, limit, bytes) = input;
    let limit = usize::from(limit);
    let (whole, end) = messages(limit, gzip, bytes, usize::MAX);
    assert!(whole.iter().all(|message| message.len() <= limit));
    let (cut, cut_end) = messages(limit, gzip, bytes, chunk.into());
    assert_eq!(whole, cut);
    assert_eq!(
        end.map_err(|status| status.code()),
        cut_end.map_err(|status| status.code())
    );
});
