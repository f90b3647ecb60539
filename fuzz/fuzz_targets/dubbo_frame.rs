//! Frames of the classic protocol: no input panics, no body is over the limit, how the bytes are cut changes nothing, and
//! what is read is written as it was.

#![no_main]

use dubbo_protocol::fuzzing::dubbo_frames;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (chunk, limit, bytes) = input;
    let limit = usize::from(limit);
    let whole = dubbo_frames(limit, bytes, usize::MAX);
    assert_eq!(whole, dubbo_frames(limit, bytes, chunk.into()));
    let mut rest = bytes;
    for (frame, oversize) in &whole.0 {
        assert!(frame.len() <= limit + 16);
        if *oversize {
            return;
        }
        assert!(rest.starts_with(frame));
        rest = &rest[frame.len()..];
    }
});
