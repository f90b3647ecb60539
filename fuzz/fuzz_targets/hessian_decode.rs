//! Hessian: no bytes panic or cost more than the limits allow, as whatever they are read.

#![no_main]

use std::collections::HashMap;

use dubbo_hessian2::{
    DecodeError, DecodeOptions, Decoder, FromHessian, Hessian, Limits, LoneSurrogates, Shared,
    Value,
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Hessian)]
#[hessian(class = "A")]
struct Plain {
    a: Option<Box<Plain>>,
    b: Vec<Plain>,
    c: HashMap<String, Plain>,
    d: String,
    e: f32,
    f: Vec<u8>,
    g: Box<[char]>,
    #[hessian(default)]
    h: Color,
    i: Value,
}

#[derive(Debug, Default, Hessian)]
#[hessian(class = "E")]
enum Color {
    #[default]
    Red,
    #[hessian(other)]
    Other(String),
}

#[derive(Debug, Hessian)]
#[hessian(class = "A")]
struct Linked {
    a: Option<Shared<Linked>>,
    b: Vec<Shared<Linked>>,
    c: Value,
}

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        depth: 64,
        nodes: 10_000,
        expansion: 1 << 16,
        ..Limits::DEFAULT
    };
    for lone_surrogates in [LoneSurrogates::Replace, LoneSurrogates::Refuse] {
        let options = DecodeOptions {
            limits,
            lone_surrogates,
            classes: None,
        };
        let value = read(bytes, &options, |decoder| {
            decoder.peek()?;
            let value = decoder.value()?;
            assert!(format!("{value:?}").len() < (1 << 16) + 16 * bytes.len());
            Ok(value)
        });
        let skipped = read(bytes, &options, Decoder::skip);
        if let Ok((_, end)) = value {
            assert_eq!(skipped.expect("what is read can be skipped").1, end);
        }
        let _ = read(bytes, &options, Plain::decode);
        let _ = read(bytes, &options, Linked::decode);
        let _ = read(bytes, &options, <HashMap<String, Value>>::decode);
        // One message: what was skipped, or read as something else, is referred to later.
        let _ = read(bytes, &options, |decoder| {
            decoder.skip()?;
            Plain::decode(decoder)?;
            Linked::decode(decoder)?;
            decoder.value()
        });
    }
});

fn read<'a, T>(
    bytes: &'a [u8],
    options: &'a DecodeOptions,
    read: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
) -> Result<(T, usize), DecodeError> {
    let mut decoder = Decoder::with_options(bytes, options);
    match read(&mut decoder) {
        Ok(value) => Ok((value, decoder.position())),
        Err(error) => {
            assert!(error.offset() <= bytes.len(), "{error}");
            Err(error)
        }
    }
}
