//! Letters as bytes.

use std::time::Duration;

use bytes::Bytes;
use dubbo_core::{attachments::AttachmentValue, payload::Codec, status::Code};

use super::{super::letter::*, *};

fn full() -> DeadLetter {
    let mut letter = letter("First", Reason::Budget);
    letter.idempotency_key = Some("key".to_owned());
    letter.service = "g/a.B:1.0".parse().expect("a key");
    letter.signature = Some("Ljava/lang/String;[I".to_owned());
    letter.arguments = Arguments::Values(
        Codec::Hessian2,
        vec![Bytes::from_static(b"\x01a"), Bytes::new()],
    );
    letter.attachments = vec![
        ("text".to_owned(), AttachmentValue::Text("grün".into())),
        ("bytes".to_owned(), Bytes::from_static(&[0, 255]).into()),
    ];
    for number in 0..20 {
        let elapsed = Duration::from_micros(number);
        let node = format!("tri://10.0.0.1:{number}");
        letter.tried(Attempt::failed(
            node,
            elapsed,
            Code::Other(99),
            &"é".repeat(300),
        ));
    }
    letter.policy = "orders".to_owned();
    letter.priority = Priority::new(9);
    letter.not_before = Some(1);
    letter.expires_at = Some(u64::MAX);
    letter.pool = "gray".to_owned();
    letter.held = true;
    letter.failed_in = vec![1, u64::MAX];
    letter
}

#[test]
fn a_letter_reads_back_what_it_writes() {
    let full = full();
    assert_eq!(full.attempts.len(), 16, "the newest");
    assert_eq!(full.attempts[15].node, "tri://10.0.0.1:19");
    assert_eq!(full.attempts[0].message.chars().count(), 256);
    for letter in [letter("Second", Reason::Shutdown), full] {
        let bytes = letter.encode().expect("short");
        assert_eq!(DeadLetter::decode(&bytes), Ok(letter));
    }
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    let whole = full().encode().expect("short");
    for at in 0..whole.len() {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x20;
        assert!(DeadLetter::decode(&damaged).is_err(), "byte {at}");
        assert!(DeadLetter::decode(&whole[..at]).is_err(), "cut at {at}");
    }
    let mut longer = whole.to_vec();
    longer.push(0);
    assert!(DeadLetter::decode(&longer).is_err());
}

#[test]
fn what_is_no_letter_behind_a_right_checksum_is_an_error_and_no_panic() {
    let whole = full().encode().expect("short");
    let mut chance = fastrand::Rng::with_seed(42);
    for _ in 0..20_000 {
        let mut bytes = whole.to_vec();
        for _ in 0..chance.usize(1..4) {
            let at = chance.usize(5..bytes.len());
            bytes[at] = chance.u8(..);
        }
        bytes.truncate(chance.usize(5..=bytes.len()));
        let sum = crc32fast::hash(&bytes[5..]);
        bytes[1..5].copy_from_slice(&sum.to_be_bytes());
        // Either is fine; a panic or an allocation of what is only announced is not.
        let _ = DeadLetter::decode(&bytes);
    }
}
