//! Scalars, byte for byte as hessian-lite writes them (`docs/spec/hessian2.md` §14.1), and the longer forms that a
//! reader must accept.

mod support;

use dubbo_hessian2::{Value, from_slice, java::Date, to_vec};
use support::{bytes, hex, kept, reads, same};

#[test]
fn null_and_booleans() {
    same((), "4e");
    same(None::<i32>, "4e");
    same(true, "54");
    same(false, "46");
}

#[test]
fn ints_take_the_shortest_form() {
    for (value, hex) in [
        (0, "90"),
        (-16, "80"),
        (47, "bf"),
        (48, "c830"),
        (-17, "c7ef"),
        (2047, "cfff"),
        (-2048, "c000"),
        (2048, "d40800"),
        (-2049, "d3f7ff"),
        (262_143, "d7ffff"),
        (-262_144, "d00000"),
        (262_144, "4900040000"),
        (-262_145, "49fffbffff"),
        (i32::MAX, "497fffffff"),
        (i32::MIN, "4980000000"),
    ] {
        same(value, hex);
        same(Value::Int(value), hex);
    }
}

#[test]
fn longs_take_the_shortest_form() {
    for (value, hex) in [
        (0, "e0"),
        (-8, "d8"),
        (15, "ef"),
        (16, "f810"),
        (-9, "f7f7"),
        (2047, "ffff"),
        (-2048, "f000"),
        (2048, "3c0800"),
        (-2049, "3bf7ff"),
        (262_143, "3fffff"),
        (-262_144, "380000"),
        (262_144, "5900040000"),
        (-262_145, "59fffbffff"),
        (2_147_483_647, "597fffffff"),
        (-2_147_483_648, "5980000000"),
        (2_147_483_648, "4c0000000080000000"),
        (-2_147_483_649, "4cffffffff7fffffff"),
        (i64::MAX, "4c7fffffffffffffff"),
        (i64::MIN, "4c8000000000000000"),
    ] {
        same(value, hex);
        same(Value::Long(value), hex);
    }
}

#[test]
#[expect(
    clippy::approx_constant,
    reason = "the vector of the conformance suite"
)]
fn doubles_take_the_shortest_form_that_both_peers_read_exactly() {
    for (value, hex) in [
        (0.0, "5b"),
        (1.0, "5c"),
        (-1.0, "5dff"),
        (127.0, "5d7f"),
        (128.0, "5e0080"),
        (-128.0, "5d80"),
        (-129.0, "5eff7f"),
        (32_767.0, "5e7fff"),
        (-32_768.0, "5e8000"),
        (12.25, "5f00002fda"),
        (0.001, "5f00000001"),
        (65.536, "5f00010000"),
        (-0.5, "5ffffffe0c"),
        (2_147_483.647, "5f7fffffff"),
        (0.009, "443f826e978d4fdf3b"),
        (3.141_59, "44400921f9f01b866e"),
        (1.0E10, "444202a05f20000000"),
        (f64::INFINITY, "447ff0000000000000"),
        (f64::NEG_INFINITY, "44fff0000000000000"),
        (32_768.0, "5f01f40000"),
    ] {
        same(value, hex);
        same(Value::Double(value), hex);
    }
    assert_eq!(
        hex(&to_vec(&f64::NAN).expect("encodes")),
        "447ff8000000000000"
    );
    assert!(
        from_slice::<f64>(&bytes("447ff8000000000000"))
            .expect("decodes")
            .is_nan()
    );
    // Go's form of 32768.0.
    reads(&32_768.0, "4440e0000000000000");
}

#[test]
fn the_sign_of_zero_survives() {
    let negative = to_vec(&-0.0_f64).expect("encodes");
    assert_eq!(hex(&negative), "448000000000000000");
    assert!(
        from_slice::<f64>(&negative)
            .expect("decodes")
            .is_sign_negative()
    );
}

#[test]
#[expect(
    clippy::approx_constant,
    reason = "the vector of the conformance suite"
)]
fn floats_keep_their_decimal_text() {
    for (value, hex) in [
        (0.0_f32, "5b"),
        (1.0, "5c"),
        (1.1, "5f0000044c"),
        (0.1, "5f00000064"),
        (3.141_59, "44400921f9f01b866e"),
        (1.0E10, "444202a05f20000000"),
        (f32::MAX, "4447efffffe54daff8"),
        (-129.0, "5eff7f"),
        (12.25, "5f00002fda"),
    ] {
        same(value, hex);
    }
    // Java's Float reads what is not exactly a float, as Java does: rounded.
    assert_eq!(
        from_slice::<f32>(&bytes("443ff19999a0000000"))
            .expect("decodes")
            .to_bits(),
        1.1_f32.to_bits()
    );
}

#[test]
fn bytes_and_shorts_are_ints_and_a_char_is_a_string_of_one_unit() {
    same(-128_i8, "c780");
    same(127_i8, "c87f");
    same(-32_768_i16, "d38000");
    same('a', "0161");
    same('中', "01e4b8ad");
    same('\0', "0100");
}

#[test]
fn dates_on_a_minute_are_short() {
    for (millis, hex) in [
        (0, "4b00000000"),
        (-60_000, "4bffffffff"),
        (894_621_091_000, "4a000000d04b9284b8"),
        (894_621_060_000, "4b00e3838f"),
        (128_849_018_820_000, "4b7fffffff"),
        (128_849_018_880_000, "4a0000753000000000"),
    ] {
        same(Date::from_millis(millis), hex);
        same(Value::Date(millis), hex);
    }
    reads(&Date::from_millis(60_000), "4a000000000000ea60");
}

#[test]
fn strings_are_counted_in_utf16_units() {
    for (text, hex) in [
        ("", "00"),
        ("a", "0161"),
        ("hello", "0568656c6c6f"),
        ("é", "01c3a9"),
        ("中文", "02e4b8ade69687"),
        ("\u{1f600}", "02eda0bdedb880"),
        ("🤣", "02eda0beedb4a3"),
        ("\0", "0100"),
        ("\u{7ff}\u{800}\u{ffff}", "03dfbfe0a080efbfbf"),
    ] {
        same(text.to_owned(), hex);
        same(Value::from(text), hex);
    }
}

#[test]
fn long_strings_are_cut_at_32768_units_and_never_within_a_pair() {
    let run = |text: &str, count: usize| hex(text.repeat(count).as_bytes());
    same("a".repeat(32), &format!("3020{}", run("a", 32)));
    same("a".repeat(1023), &format!("33ff{}", run("a", 1023)));
    same("a".repeat(1024), &format!("530400{}", run("a", 1024)));
    same("a".repeat(32_768), &format!("538000{}", run("a", 32_768)));
    same(
        "a".repeat(32_769),
        &format!("528000{}0161", run("a", 32_768)),
    );
    same(
        format!("{}😀", "x".repeat(32_767)),
        &format!("527fff{}02eda0bdedb880", run("x", 32_767)),
    );
}

#[test]
fn half_a_pair_from_java_becomes_a_replacement_character() {
    assert_eq!(
        from_slice::<String>(&bytes("01eda0bd")).expect("decodes"),
        "\u{fffd}"
    );
}

#[test]
fn bytes_are_binary() {
    same(Vec::<u8>::new(), "20");
    same(vec![1_u8, 2, 3], "23010203");
    let zeros = |count: usize| "00".repeat(count);
    same(vec![0_u8; 16], &format!("3410{}", zeros(16)));
    same(vec![0_u8; 1023], &format!("37ff{}", zeros(1023)));
    same(vec![0_u8; 1024], &format!("420400{}", zeros(1024)));
    same(vec![0_u8; 65_535], &format!("42ffff{}", zeros(65_535)));
    reads(&vec![0_u8; 4097], &format!("411000{}2100", zeros(4096)));
}

#[test]
fn every_longer_form_is_read_as_well() {
    for form in ["c800", "d40000", "4900000000"] {
        reads(&0_i32, form);
    }
    for form in ["f800", "3c0000", "5900000000", "4c0000000000000000"] {
        reads(&0_i64, form);
    }
    for form in ["5d00", "5e0000", "5f00000000", "440000000000000000"] {
        reads(&0.0, form);
    }
    reads(&Date::from_millis(0), "4a0000000000000000");
    for form in ["52 0000 01 61", "52 0001 61 00", "53 0001 61"] {
        reads(&"a".to_owned(), form);
    }
    // A pair that is split between two chunks, and a Go chunk of 4096.
    reads(&"😀".to_owned(), "52 0001 eda0bd 01 edb880");
    reads(
        &"a".repeat(4097),
        &format!("521000{}0161", "61".repeat(4096)),
    );
    for form in [
        "29 7b2261223a2262227d",
        "34 09 7b2261223a2262227d",
        "42 0009 7b2261223a2262227d",
        "41 0002 7b22 41 0003 61223a 24 2262227d",
    ] {
        reads(&br#"{"a":"b"}"#.to_vec(), form);
    }
}

#[test]
fn numbers_convert_only_without_loss() {
    assert_eq!(
        from_slice::<i64>(&bytes("91")).expect("an int is a long"),
        1
    );
    assert_eq!(
        from_slice::<i32>(&bytes("e1")).expect("a small long is an int"),
        1
    );
    assert_eq!(
        from_slice::<i32>(&bytes("5c")).expect("a whole double is an int"),
        1
    );
    assert_eq!(
        from_slice::<f64>(&bytes("91"))
            .expect("an int is a double")
            .to_bits(),
        1.0_f64.to_bits()
    );
    for (hex, target) in [
        ("c880", "i8"),
        ("4900040000", "i16"),
        ("4c7fffffffffffffff", "i32"),
        ("5f000005dc", "i32"),
    ] {
        let failed = match target {
            "i8" => from_slice::<i8>(&bytes(hex)).is_err(),
            "i16" => from_slice::<i16>(&bytes(hex)).is_err(),
            _ => from_slice::<i32>(&bytes(hex)).is_err(),
        };
        assert!(failed, "{hex} is no {target}");
    }
}

#[test]
fn iterators_of_java_are_read_and_kept() {
    reads(&vec![1, 2], "57 91 92 5a");
    kept("5791925a");
}
