//! The JSON mapping of protobuf, value by value, as protojson has it.

use pbjson_types as wkt;
use serde_json::Value;

use crate::{
    generated::rich::v1::Rich,
    json::{read, write},
};

/// What one peer reads and writes again, as protojson does with the names of the proto file.
#[test]
fn what_is_read_in_any_form_is_written_in_the_one_of_the_mapping() {
    for (given, want) in [
        // Numbers that JSON has none for.
        (r#"{"fDouble":"NaN"}"#, r#"{"f_double":"NaN"}"#),
        (r#"{"fDouble":"Infinity"}"#, r#"{"f_double":"Infinity"}"#),
        (r#"{"fFloat":"-Infinity"}"#, r#"{"f_float":"-Infinity"}"#),
        (r#"{"rDouble":["NaN",1.5]}"#, r#"{"r_double":["NaN",1.5]}"#),
        (r#"{"wDouble":"NaN"}"#, r#"{"w_double":"NaN"}"#),
        (r#"{"wDouble":"-Infinity"}"#, r#"{"w_double":"-Infinity"}"#),
        // Numbers, however they are written.
        (r#"{"fDouble":"1.5"}"#, r#"{"f_double":1.5}"#),
        (r#"{"fDouble":-2e-3}"#, r#"{"f_double":-0.002}"#),
        (r#"{"fFloat":0.1}"#, r#"{"f_float":0.1}"#),
        (r#"{"fInt32":1.0}"#, r#"{"f_int32":1}"#),
        (r#"{"fInt32":1e3}"#, r#"{"f_int32":1000}"#),
        (r#"{"fInt32":"-1.0e1"}"#, r#"{"f_int32":-10}"#),
        (r#"{"fInt32":-0}"#, "{}"),
        (
            r#"{"fInt64":"9223372036854775807"}"#,
            r#"{"f_int64":"9223372036854775807"}"#,
        ),
        (
            r#"{"fUint64":18446744073709551615}"#,
            r#"{"f_uint64":"18446744073709551615"}"#,
        ),
        (r#"{"rInt64":[1,"2",3.0]}"#, r#"{"r_int64":["1","2","3"]}"#),
        (r#"{"wInt64":7}"#, r#"{"w_int64":"7"}"#),
        (r#"{"wInt64":"0"}"#, r#"{"w_int64":"0"}"#),
        // Keys of maps are texts.
        (
            r#"{"mPart":{"-7":{"name":"p"}}}"#,
            r#"{"m_part":{"-7":{"name":"p"}}}"#,
        ),
        (
            r#"{"mColor":{"true":1}}"#,
            r#"{"m_color":{"true":"COLOR_RED"}}"#,
        ),
        (r#"{"mUint64":{"":"5"}}"#, r#"{"m_uint64":{"":"5"}}"#),
        // Enums: what a later version of the file defines keeps its number.
        (r#"{"fColor":1}"#, r#"{"f_color":"COLOR_RED"}"#),
        (r#"{"fColor":9}"#, r#"{"f_color":9}"#),
        (
            r#"{"rColor":[-1,"COLOR_RED",-9]}"#,
            r#"{"r_color":["COLOR_NEGATIVE","COLOR_RED",-9]}"#,
        ),
        (r#"{"mColor":{"false":9}}"#, r#"{"m_color":{"false":9}}"#),
        (r#"{"optColor":0}"#, r#"{"opt_color":"COLOR_UNSPECIFIED"}"#),
        (r#"{"optColor":2147483647}"#, r#"{"opt_color":2147483647}"#),
        (r#"{"oColor":9}"#, r#"{"o_color":9}"#),
        // Bytes in either alphabet, padded or not.
        (r#"{"fBytes":"-_8"}"#, r#"{"f_bytes":"+/8="}"#),
        (
            r#"{"rBytes":["+/8=","YQ"]}"#,
            r#"{"r_bytes":["+/8=","YQ=="]}"#,
        ),
        (r#"{"wBytes":"-_8="}"#, r#"{"w_bytes":"+/8="}"#),
        // Times.
        (
            r#"{"ts":"1972-01-01T10:00:20.021Z"}"#,
            r#"{"ts":"1972-01-01T10:00:20.021Z"}"#,
        ),
        (
            r#"{"ts":"2000-03-01T01:30:00+02:00"}"#,
            r#"{"ts":"2000-02-29T23:30:00Z"}"#,
        ),
        (
            r#"{"ts":"0001-01-01T00:00:00.000000001Z"}"#,
            r#"{"ts":"0001-01-01T00:00:00.000000001Z"}"#,
        ),
        (r#"{"duration":"1.5s"}"#, r#"{"duration":"1.500s"}"#),
        (
            r#"{"duration":"-0.000001s"}"#,
            r#"{"duration":"-0.000001s"}"#,
        ),
        (r#"{"duration":"3s"}"#, r#"{"duration":"3s"}"#),
        // Masks.
        (
            r#"{"mask":"user.displayName,photo"}"#,
            r#"{"mask":"user.displayName,photo"}"#,
        ),
        (r#"{"mask":""}"#, r#"{"mask":""}"#),
        // Any JSON.
        (
            r#"{"struct":{"a":null,"b":[1,"x",{"c":false}]}}"#,
            r#"{"struct":{"a":null,"b":[1.0,"x",{"c":false}]}}"#,
        ),
        (r#"{"list":[null,[],{}]}"#, r#"{"list":[null,[],{}]}"#),
        (r#"{"value":null}"#, r#"{"value":null}"#),
        (r#"{"value":-3}"#, r#"{"value":-3.0}"#),
        (r#"{"value":"NaN"}"#, r#"{"value":"NaN"}"#),
        (r#"{"empty":{}}"#, r#"{"empty":{}}"#),
        // What is null is not there.
        (
            r#"{"wBool":null,"struct":null,"mask":null,"ts":null}"#,
            "{}",
        ),
        (r#"{"oInt64":null,"oString":"x"}"#, r#"{"o_string":"x"}"#),
    ] {
        let message = read::<Rich>(given).unwrap_or_else(|error| panic!("{given}: {error}"));
        let want: Value = serde_json::from_str(want).expect(want);
        assert_eq!(write(&message).as_ref(), Ok(&want), "{given}");
        let again = write(&read::<Rich>(&want.to_string()).expect("its own"));
        assert_eq!(again.as_ref(), Ok(&want), "{given}, again");
    }
}

#[test]
fn a_value_that_the_mapping_does_not_have_is_refused() {
    for text in [
        r#"{"fInt32":1.5}"#,
        r#"{"fInt32":"1.5"}"#,
        r#"{"fInt32":" 1"}"#,
        r#"{"fInt32":"+1"}"#,
        r#"{"fInt32":"0x1"}"#,
        r#"{"fInt32":""}"#,
        r#"{"fInt32":true}"#,
        r#"{"fInt32":2147483648}"#,
        r#"{"fInt32":1e10}"#,
        r#"{"fInt32":"NaN"}"#,
        r#"{"fUint64":-1}"#,
        r#"{"fInt64":9223372036854775808}"#,
        r#"{"fInt64":1e19}"#,
        r#"{"fDouble":"inf"}"#,
        r#"{"fDouble":"nan"}"#,
        r#"{"fDouble":".5"}"#,
        r#"{"fFloat":1e39}"#,
        r#"{"fFloat":"-1e39"}"#,
        r#"{"fColor":"color_red"}"#,
        r#"{"fColor":2147483648}"#,
        r#"{"fColor":1.5}"#,
        r#"{"fColor":true}"#,
        r#"{"mPart":{"x":{}}}"#,
        r#"{"mColor":{"yes":1}}"#,
        r#"{"mask":"a_b"}"#,
        r#"{"mask":"a,,b"}"#,
        r#"{"mask":{"paths":["a"]}}"#,
        r#"{"ts":"2000-02-30T00:00:00Z"}"#,
        r#"{"ts":"2000-01-01"}"#,
        r#"{"ts":1}"#,
        r#"{"duration":"1"}"#,
        r#"{"duration":1}"#,
        r#"{"struct":[]}"#,
        r#"{"list":{}}"#,
        r#"{"oInt64":"1","oString":"x"}"#,
    ] {
        let error = read::<Rich>(text).expect_err(text);
        assert!(
            !error.contains("::") && !error.contains("untagged"),
            "{text}: {error}"
        );
    }
    for (message, part) in [
        (
            Rich {
                ts: Some(wkt::Timestamp {
                    seconds: i64::MAX,
                    nanos: 0,
                }),
                ..Rich::default()
            },
            "years 1 to 9999",
        ),
        (
            Rich {
                mask: Some(wkt::FieldMask {
                    paths: vec!["a__b".to_owned()],
                }),
                ..Rich::default()
            },
            "\"a__b\" in a field mask",
        ),
        (
            Rich {
                value: Some(wkt::Value::from(f64::NAN)),
                ..Rich::default()
            },
            "a `Value` is NaN",
        ),
    ] {
        let error = write(&message).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
}
