//! The standard names of the Hessian test suite (`docs/spec/hessian2.md` §16.1): what `reply…` sends is read, what
//! `arg…` wants is written, with the bytes that the grammar leaves no choice about.

mod support;

use std::fmt::Write as _;

use dubbo_hessian2::{Hessian, Shared, Value, from_slice, java::Date, to_vec};
use support::{bytes, hex, kept, same};

#[test]
fn scalars() {
    same((), "4e"); // Null
    same(true, "54"); // True
    same(false, "46"); // False
    for (value, hex) in [
        (0, "90"),
        (1, "91"),
        (47, "bf"),
        (-16, "80"),
        (0x30, "c830"),
        (0x7ff, "cfff"),
        (-17, "c7ef"),
        (-0x800, "c000"),
        (0x800, "d40800"),
        (0x3ffff, "d7ffff"),
        (-0x801, "d3f7ff"),
        (-0x40000, "d00000"),
        (0x40000, "4900040000"),
        (0x7fff_ffff, "497fffffff"),
        (-0x40001, "49fffbffff"),
        (-0x8000_0000, "4980000000"),
    ] {
        same::<i32>(value, hex); // Int_…
    }
    for (value, hex) in [
        (0, "e0"),
        (1, "e1"),
        (15, "ef"),
        (-8, "d8"),
        (0x10, "f810"),
        (0x7ff, "ffff"),
        (-9, "f7f7"),
        (-0x800, "f000"),
        (0x800, "3c0800"),
        (0x3ffff, "3fffff"),
        (-0x801, "3bf7ff"),
        (-0x40000, "380000"),
        (0x40000, "5900040000"),
        (0x7fff_ffff, "597fffffff"),
        (-0x40001, "59fffbffff"),
        (-0x8000_0000, "5980000000"),
        (0x8000_0000, "4c0000000080000000"),
        (-0x8000_0001, "4cffffffff7fffffff"),
    ] {
        same::<i64>(value, hex); // Long_…
    }
    for (value, hex) in [
        (0.0, "5b"),
        (1.0, "5c"),
        (2.0, "5d02"),
        (127.0, "5d7f"),
        (-128.0, "5d80"),
        (128.0, "5e0080"),
        (-129.0, "5eff7f"),
        (32_767.0, "5e7fff"),
        (-32_768.0, "5e8000"),
        (0.001, "5f00000001"),
        (-0.001, "5fffffffff"),
        (65.536, "5f00010000"),
    ] {
        same(value, hex); // Double_…
    }
    for (millis, hex) in [
        (0, "4b00000000"),
        (894_621_091_000, "4a000000d04b9284b8"),
        (894_621_060_000, "4b00e3838f"),
    ] {
        same(Date::from_millis(millis), hex); // Date_0, 1, 2
    }
}

#[test]
fn strings_and_binary_of_every_header() {
    same(None::<String>, "4e"); // String_null
    same(None::<Vec<u8>>, "4e"); // Binary_null
    for (length, header, binary_header) in [
        (0, "00", "20"),
        (1, "01", "21"),
        (15, "0f", "2f"),
        (16, "10", "3410"),
        (31, "1f", "341f"),
        (32, "3020", "3420"),
        (1023, "33ff", "37ff"),
        (1024, "530400", "420400"),
    ] {
        let text = if length < 1000 {
            digits(length)
        } else {
            lines(length)
        };
        same(text.clone(), &format!("{header}{}", hex(text.as_bytes())));
        same(
            text.clone().into_bytes(),
            &format!("{binary_header}{}", hex(text.as_bytes())),
        );
    }
    // String_65536 is cut where Java cuts it; Binary_65536 where a chunk is full.
    let text = long_lines(65_536);
    let (first, second) = text.split_at(32_768);
    same(
        text.clone(),
        &format!(
            "528000{}538000{}",
            hex(first.as_bytes()),
            hex(second.as_bytes())
        ),
    );
    let binary: Vec<u8> = from_slice(&to_vec(text.as_bytes()).expect("encodes")).expect("decodes");
    assert_eq!(binary, text.as_bytes());
}

#[test]
fn lists_and_maps() {
    let strings = |count: usize| (1..=count).map(|item| item.to_string()).collect::<Vec<_>>();
    for (count, untyped, typed) in [
        (0, "78", "70 07 5b737472696e67"),
        (1, "79 0131", "71 07 5b737472696e67 0131"),
        (
            7,
            "7f 0131 0132 0133 0134 0135 0136 0137",
            "77 07 5b737472696e67 0131 0132 0133 0134 0135 0136 0137",
        ),
        (
            8,
            "58 98 0131 0132 0133 0134 0135 0136 0137 0138",
            "56 07 5b737472696e67 98 0131 0132 0133 0134 0135 0136 0137 0138",
        ),
    ] {
        same(strings(count), untyped); // UntypedFixedList_…
        same(strings(count).into_boxed_slice(), typed); // TypedFixedList_…
    }
    for entries in [
        "5a",
        "01 61 90 5a",
        "90 01 61 91 01 62 5a",
        "79 01 61 90 5a",
    ] {
        let untyped = kept(&format!("48 {entries}")); // UntypedMap_…
        let typed = kept(&format!(
            "4d 13 6a6176612e7574696c2e486173687461626c65 {entries}"
        )); // TypedMap_…
        assert_eq!(typed.as_map(), untyped.as_map());
        assert_eq!(
            typed.as_typed_map().and_then(|map| map.type_name()),
            Some("java.util.Hashtable")
        );
    }
}

#[test]
fn objects() {
    let class =
        |name: &str, fields: &str| format!("43 {} {fields}", hex(&to_vec(name).expect("encodes")));
    same(
        A0 {},
        &format!("{} 60", class("com.caucho.hessian.test.A0", "90")),
    ); // Object_0

    let test_object = class("com.caucho.hessian.test.TestObject", "91 06 5f76616c7565");
    let object = |value: i32| TestObject { value };
    same(object(0), &format!("{test_object} 60 90")); // Object_1
    same(
        vec![object(0), object(1)],
        &format!("7a {test_object} 60 90 60 91"),
    ); // Object_2
    same(
        vec![object(0), object(0)],
        &format!("7a {test_object} 60 90 60 90"),
    ); // Object_2b
    let shared = Shared::new(object(0));
    let twice = to_vec(&vec![shared.clone(), shared]).expect("encodes");
    assert_eq!(twice, bytes(&format!("7a {test_object} 60 90 51 91"))); // Object_2a
    let again: Vec<Shared<TestObject>> = from_slice(&twice).expect("decodes");
    assert_eq!(again[0], again[1]);

    let cons = Shared::cyclic(|this| TestCons {
        first: "a".into(),
        rest: Some(this.clone()),
    });
    let written = to_vec(&cons).expect("encodes");
    let class = class(
        "com.caucho.hessian.test.TestCons",
        "92 06 5f6669727374 05 5f72657374",
    );
    assert_eq!(
        hex(&written),
        hex(&bytes(&format!("{class} 60 01 61 51 90")))
    ); // Object_3
    let read: Shared<TestCons> = from_slice(&written).expect("decodes");
    let read = read.get().expect("is there");
    assert_eq!((read.first.as_str(), read.rest.is_some()), ("a", true));
}

#[test]
fn the_seventeenth_class_has_the_long_form() {
    let objects = (0..17).map(|index| {
        Value::object(
            format!("com.caucho.hessian.test.A{index}"),
            <[(&str, Value); 0]>::default(),
        )
    });
    let value = Value::list(objects); // Object_16
    let written = to_vec(&value).expect("encodes");
    assert!(written.ends_with(&[0x4f, 0xa0]), "{}", hex(&written));
    assert_eq!(from_slice::<Value>(&written).expect("decodes"), value);
}

/// The digits, again and again.
fn digits(length: usize) -> String {
    "0123456789".chars().cycle().take(length).collect()
}

/// Lines of 64 characters with a number of two digits.
fn lines(length: usize) -> String {
    let mut text = String::new();
    for line in 0..16 {
        writeln!(text, "{line:02} 456789{}0123", "0123456789".repeat(5)).expect("a string");
    }
    text.truncate(length);
    text
}

/// Lines of 64 characters with a number of three digits, of 65 from 1000 on.
fn long_lines(length: usize) -> String {
    let mut text = String::new();
    for line in 0..1024 {
        writeln!(text, "{line:03} 56789{}0123", "0123456789".repeat(5)).expect("a string");
    }
    text.truncate(length);
    text
}

#[derive(Clone, Debug, Hessian, PartialEq)]
#[hessian(class = "com.caucho.hessian.test.A0")]
struct A0 {}

#[derive(Clone, Debug, Hessian, PartialEq)]
#[hessian(class = "com.caucho.hessian.test.TestObject")]
struct TestObject {
    #[hessian(rename = "_value")]
    value: i32,
}

#[derive(Debug, Hessian)]
#[hessian(class = "com.caucho.hessian.test.TestCons")]
struct TestCons {
    #[hessian(rename = "_first")]
    first: String,
    #[hessian(rename = "_rest")]
    rest: Option<Shared<Self>>,
}
