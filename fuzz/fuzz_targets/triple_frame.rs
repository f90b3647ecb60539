//! Envelopes: no input panics, no message is over the limit, how the bytes are cut changes nothing, and what was compressed
//! comes out as it was.

#![no_main]

use dubbo_protocol::{
    Compression,
    fuzzing::{envelope, messages},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, u16, &[u8])| {
    let (form, chunk, limit, bytes) = input;
    let limit = usize::from(limit);
    let all = Compression::ALL;
    let compression = all.get(usize::from(form) % (all.len() + 1)).copied();
    check(limit, compression, bytes, chunk);
    // As a message that begins as it should, which no fuzzer would find: all of the form's own bytes.
    let mut begun = vec![1];
    begun.extend((bytes.len() as u32).to_be_bytes());
    begun.extend(bytes);
    check(limit, compression, &begun, chunk);

    let Some(compression) = compression else {
        return;
    };
    let (packed, is_packed) = envelope(compression, bytes);
    if is_packed {
        let (got, end) = messages(bytes.len(), Some(compression), &packed, chunk.into());
        assert_eq!((got, end.is_ok()), (vec![bytes.to_vec().into()], true));
        let (_, end) = messages(bytes.len() - 1, Some(compression), &packed, usize::MAX);
        assert!(end.is_err(), "over the limit");
        // Wherever it breaks off or is damaged, that is an error at most.
        let mut damaged = packed;
        let at = usize::from(form) % damaged.len();
        damaged[at] ^= chunk;
        check(limit, Some(compression), &damaged, chunk);
    }
});

fn check(limit: usize, compression: Option<Compression>, bytes: &[u8], chunk: u8) {
    let (whole, end) = messages(limit, compression, bytes, usize::MAX);
    assert!(whole.iter().all(|message| message.len() <= limit));
    let (cut, cut_end) = messages(limit, compression, bytes, chunk.into());
    assert_eq!(whole, cut);
    assert_eq!(
        end.map_err(|status| status.code()),
        cut_end.map_err(|status| status.code())
    );
}
