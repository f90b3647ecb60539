//! What the tests of bytes share.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

pub mod golden;
pub mod user;

use std::fmt::Debug;

use dubbo_hessian2::{Decoder, Encoder, FromHessian, ToHessian, Value, from_slice, to_vec};

/// Bytes from hexadecimal digits; blanks between them are cosmetic.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit");
    digits
        .chunks(2)
        .map(|pair| u8::try_from(digit(pair[0]) << 4 | digit(pair[1])).expect("two digits"))
        .collect()
}

/// Hexadecimal digits of bytes, so that a failed comparison can be read.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("below 16");
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)])
        .collect()
}

/// All values that `bytes` hold, as one message.
pub fn values(bytes: &[u8]) -> Result<Vec<Value>, dubbo_hessian2::DecodeError> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while !decoder.is_at_end() {
        values.push(decoder.value()?);
    }
    Ok(values)
}

/// The values written as one message.
pub fn written(values: &[Value]) -> String {
    let mut encoder = Encoder::new();
    for value in values {
        value
            .encode(&mut encoder)
            .expect("what was read can be written");
    }
    hex(encoder.as_bytes())
}

/// `value` is written as `expected` and read from it, as itself and by way of a [`Value`].
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "it reads better where it is called"
)]
pub fn same<T: ToHessian + FromHessian + PartialEq + Debug>(value: T, expected: &str) {
    let expected = hex(&bytes(expected));
    let written = to_vec(&value).expect("encodes");
    assert_eq!(hex(&written), expected, "{value:?} is written");
    reads(&value, &expected);
}

/// `value` is read from `hexadecimal`, as itself and by way of a [`Value`].
#[track_caller]
pub fn reads<T: ToHessian + FromHessian + PartialEq + Debug>(value: &T, hexadecimal: &str) {
    let bytes = bytes(hexadecimal);
    let read: T = from_slice(&bytes).unwrap_or_else(|error| panic!("{hexadecimal}: {error}"));
    assert_eq!(read, *value, "{hexadecimal} is read");
    let dynamic: Value =
        from_slice(&bytes).unwrap_or_else(|error| panic!("{hexadecimal}: {error}"));
    let again: T = dynamic
        .to()
        .unwrap_or_else(|error| panic!("{hexadecimal}: {error}"));
    assert_eq!(again, *value, "{hexadecimal} is read by way of {dynamic:?}");
}

/// A value of unknown shape that is written as it was read.
#[track_caller]
pub fn kept(expected: &str) -> Value {
    let expected = hex(&bytes(expected));
    let value: Value =
        from_slice(&bytes(&expected)).unwrap_or_else(|error| panic!("{expected}: {error}"));
    assert_eq!(written(std::slice::from_ref(&value)), expected, "{value:?}");
    value
}
