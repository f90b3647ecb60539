//! What Java wrote, damaged in many ways: an error or a value each time, and whatever is made of it stays orderly.

mod support;

use dubbo_hessian2::{
    FromHessian, Value, from_slice,
    java::{
        BigDecimal, BigInteger, BitSet, Date, Throwable, Uuid, ZonedDateTime, bean,
        generic::{ClassKey, generalize},
    },
    to_vec,
};
use support::golden;

#[test]
fn damaged_bytes_are_an_error_or_a_value() {
    let mut random = fastrand::Rng::with_seed(0x48_45_53_53);
    for golden in golden::ALL
        .iter()
        .filter(|golden| golden.bytes.len() < 2_000)
    {
        for _ in 0..40 {
            let input = damaged(&golden.bytes, &mut random);
            read_as_types(&input);
            let Ok(value) = from_slice::<Value>(&input) else {
                continue;
            };
            let written = to_vec(&value).expect("what was read can be written");
            let again: Value = from_slice(&written).expect("what was written can be read");
            assert_eq!(again, value, "{}", golden.name);
            assert!(format!("{value:?}").len() < 1 << 20, "{}", golden.name);
            make_forms(&value);
        }
    }
}

fn damaged(bytes: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(0..bytes.len());
        match random.u8(0..5) {
            0 => bytes[at] = random.u8(..),
            1 => {
                bytes[at] = *random
                    .choice(b"\x51\x43\x60\x79\x48\x5a\x4e")
                    .expect("some");
            }
            2 => bytes.truncate(at.max(1)),
            3 => bytes.insert(at, random.u8(..)),
            _ => {
                let from = random.usize(0..bytes.len());
                let piece: Vec<u8> = bytes[from..].iter().take(8).copied().collect();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// None of these may panic; what they say is tested elsewhere.
fn read_as_types(input: &[u8]) {
    fn read<T: FromHessian>(input: &[u8]) {
        if let Err(error) = from_slice::<T>(input) {
            assert!(error.offset() <= input.len(), "{error}");
        }
    }
    read::<Date>(input);
    read::<ZonedDateTime>(input);
    read::<BigDecimal>(input);
    read::<BigInteger>(input);
    read::<BitSet>(input);
    read::<Uuid>(input);
    read::<Vec<Option<String>>>(input);
    read::<std::collections::BTreeMap<String, Value>>(input);
}

fn make_forms(value: &Value) {
    if let Ok(throwable) = value.to::<Throwable>() {
        let written = to_vec(&throwable).expect("an exception that was read can be written");
        from_slice::<Throwable>(&written).expect("and read again");
    }
    if let Ok(map) = generalize(value, ClassKey::Include) {
        to_vec(&map).expect("a form that was made can be written");
    }
    if let Ok(descriptor) = bean::describe(value) {
        bean::restore(&descriptor).expect("what is described can be restored");
    }
    #[cfg(feature = "json")]
    if let Ok(text) = dubbo_hessian2::java::json::to_json(value) {
        dubbo_hessian2::java::json::from_json(&text).expect("what was written is JSON");
    }
}
