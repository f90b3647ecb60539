//! The JSON mapping: what is written, what is read, what is refused.

use bytes::Bytes;
use pbjson_types as wkt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::generated::{
    Rootless,
    legacy::{Legacy, legacy},
    rich::{
        common::Money,
        v1::{Rich, Suffixed, rich, rich::Color, suffixed},
    },
    rootless, unlucky, upstream,
};

#[test]
fn every_kind_of_field_is_written_as_the_mapping_says_and_read_back() {
    let message = Rich {
        f_double: 1.5,
        f_float: -0.5,
        f_int32: -1,
        f_int64: i64::MIN,
        f_uint64: u64::MAX,
        f_sint32: -3,
        f_fixed64: 4,
        f_bool: true,
        f_string: "s".to_owned(),
        f_bytes: Bytes::from_static(b"\xfb\xff"),
        f_color: Color::Red.into(),
        f_part: Some(Box::new(rich::Part {
            name: "p".to_owned(),
            ..Default::default()
        })),
        f_money: Some(Money {
            currency: "EUR".to_owned(),
            units: 5,
        }),
        r_int64: vec![1, 2],
        r_bytes: vec![Bytes::from_static(b"a")],
        r_color: vec![Color::Negative.into(), 0],
        r_part: vec![rich::Part::default()],
        m_part: [(7, rich::Part::default())].into(),
        m_color: [(true, 1)].into(),
        m_bytes: [("k".to_owned(), Bytes::from_static(b"b"))].into(),
        m_uint64: [("k".to_owned(), 9)].into(),
        choice: Some(rich::Choice::OInt64(0)),
        opt_int32: Some(0),
        opt_color: Some(0),
        renamed: "n".to_owned(),
        ..Rich::default()
    };
    round_trip(
        &message,
        &json!({
            "f_double": 1.5, "f_float": -0.5, "f_int32": -1,
            "f_int64": "-9223372036854775808", "f_uint64": "18446744073709551615",
            "f_sint32": -3, "f_fixed64": "4", "f_bool": true, "f_string": "s", "f_bytes": "+/8=",
            "f_color": "COLOR_RED", "f_part": {"name": "p"},
            "f_money": {"currency": "EUR", "units": "5"},
            "r_int64": ["1", "2"], "r_bytes": ["YQ=="],
            "r_color": ["COLOR_NEGATIVE", "COLOR_UNSPECIFIED"], "r_part": [{}],
            "m_part": {"7": {}}, "m_color": {"true": "COLOR_RED"}, "m_bytes": {"k": "Yg=="},
            "m_uint64": {"k": "9"},
            "o_int64": "0", "opt_int32": 0, "opt_color": "COLOR_UNSPECIFIED", "renamed": "n",
        }),
    );
}

#[test]
fn well_known_types_have_their_own_forms() {
    let message = Rich {
        ts: Some(wkt::Timestamp {
            seconds: 1,
            nanos: 500_000_000,
        }),
        duration: Some(wkt::Duration {
            seconds: -1,
            nanos: -5_000_000,
        }),
        r#struct: Some(
            [("a".to_owned(), wkt::Value::from(1.5))]
                .into_iter()
                .collect(),
        ),
        value: Some(wkt::Value::from("v")),
        list: Some(wkt::ListValue::from([
            wkt::Value::from(true),
            wkt::Value::from("l"),
        ])),
        empty: Some(wkt::Empty {}),
        w_string: Some(String::new().into()),
        w_int64: Some(0.into()),
        w_bytes: Some(Bytes::from_static(b"a").into()),
        w_bool: Some(false.into()),
        w_double: Some(2.5.into()),
        ..Rich::default()
    };
    round_trip(
        &message,
        &json!({
            "ts": "1970-01-01T00:00:01.500Z", "duration": "-1.005s", "struct": {"a": 1.5},
            "value": "v", "list": [true, "l"], "empty": {}, "w_string": "", "w_int64": "0",
            "w_bytes": "YQ==", "w_bool": false, "w_double": 2.5,
        }),
    );
}

#[test]
fn what_other_writers_write_is_read() {
    for (text, want) in [
        // Both spellings of a name, and the one that the file asks for.
        (
            r#"{"f_int32": 1}"#,
            Rich {
                f_int32: 1,
                ..Rich::default()
            },
        ),
        (
            r#"{"fInt32": 1}"#,
            Rich {
                f_int32: 1,
                ..Rich::default()
            },
        ),
        (
            r#"{"otherName": "n"}"#,
            Rich {
                renamed: "n".to_owned(),
                ..Rich::default()
            },
        ),
        (
            r#"{"renamed": "n"}"#,
            Rich {
                renamed: "n".to_owned(),
                ..Rich::default()
            },
        ),
        // Numbers as text and as numbers.
        (
            r#"{"fInt64": 5}"#,
            Rich {
                f_int64: 5,
                ..Rich::default()
            },
        ),
        (
            r#"{"fInt32": "5"}"#,
            Rich {
                f_int32: 5,
                ..Rich::default()
            },
        ),
        (
            r#"{"rInt64": ["1", 2]}"#,
            Rich {
                r_int64: vec![1, 2],
                ..Rich::default()
            },
        ),
        (
            r#"{"fDouble": "Infinity"}"#,
            Rich {
                f_double: f64::INFINITY,
                ..Rich::default()
            },
        ),
        // Enums as numbers.
        (
            r#"{"fColor": 1}"#,
            Rich {
                f_color: 1,
                ..Rich::default()
            },
        ),
        (
            r#"{"rColor": [-1, "COLOR_RED"]}"#,
            Rich {
                r_color: vec![-1, 1],
                ..Rich::default()
            },
        ),
        (
            r#"{"mColor": {"false": 1}}"#,
            Rich {
                m_color: [(false, 1)].into(),
                ..Rich::default()
            },
        ),
        // Either alphabet of base64, padded or not.
        (
            r#"{"ts": "1970-01-01T00:00:01Z"}"#,
            Rich {
                ts: Some(wkt::Timestamp {
                    seconds: 1,
                    nanos: 0,
                }),
                ..Rich::default()
            },
        ),
        (
            r#"{"fBytes": "-_8"}"#,
            Rich {
                f_bytes: Bytes::from_static(b"\xfb\xff"),
                ..Rich::default()
            },
        ),
    ] {
        assert_eq!(read::<Rich>(text), Ok(want), "{text}");
    }
}

#[test]
fn null_is_an_absent_field() {
    let names: Vec<String> = [
        "f_double",
        "f_float",
        "f_int32",
        "f_int64",
        "f_uint64",
        "f_bool",
        "f_string",
        "f_bytes",
        "f_color",
        "f_part",
        "r_int64",
        "r_string",
        "r_bytes",
        "r_color",
        "r_part",
        "m_string",
        "m_part",
        "m_color",
        "m_bytes",
        "m_uint64",
        "o_int64",
        "o_string",
        "o_part",
        "o_color",
        "o_bytes",
        "opt_int32",
        "opt_string",
        "opt_color",
        "opt_bytes",
        "ts",
        "any",
        "struct",
        "w_string",
        "w_int64",
        "renamed",
    ]
    .map(|name| format!("\"{name}\": null"))
    .into();
    let text = format!("{{{}}}", names.join(", "));
    assert_eq!(read::<Rich>(&text), Ok(Rich::default()));

    let legacy = Legacy {
        id: "i".to_owned(),
        ..Legacy::default()
    };
    let text = r#"{"id": "i", "count": null, "level": null, "counts": null, "host": null}"#;
    assert_eq!(read::<Legacy>(text), Ok(legacy));
}

#[test]
fn what_is_no_message_is_refused() {
    for (text, want) in [
        (r#"{"nope": 1}"#, "unknown field `nope`"),
        (r#"{"fString": 1}"#, "expected a string"),
        (
            r#"{"fInt32": 4294967296}"#,
            "integer `4294967296`, expected an integer of 32 bits",
        ),
        (
            r#"{"fInt32": "x"}"#,
            "string \"x\", expected an integer of 32 bits",
        ),
        (
            r#"{"fColor": "COLOR_BLUE"}"#,
            "unknown variant `COLOR_BLUE`",
        ),
        (r#"{"rString": [null]}"#, "expected a string"),
        (r#"{"mString": {"a": null}}"#, "expected a string"),
        (r#"{"fInt32": 1, "f_int32": 1}"#, "duplicate field"),
        (r#"{"oInt64": 1, "oString": ""}"#, "duplicate field"),
        (r#"{"fBytes": "*"}"#, "Invalid"),
        ("[]", "expected struct rich.v1.Rich"),
        ("", "EOF"),
    ] {
        let error = read::<Rich>(text).expect_err(text);
        assert!(error.contains(want), "{text}: {error}");
    }
    let error = read::<Legacy>("{}").expect_err("a required field is absent");
    assert!(error.contains("missing field `id`"), "{error}");
    let error = read::<Legacy>(r#"{"id": null}"#).expect_err("a required field is null");
    assert!(error.contains("missing field `id`"), "{error}");
}

/// What the documentation of the crate says about this, in the same order.
#[test]
fn deviations_are_as_documented() {
    let any = wkt::Any {
        type_url: "a/b".to_owned(),
        value: Bytes::from_static(b"a"),
    };
    let any = Rich {
        any: Some(any),
        ..Rich::default()
    };
    round_trip(&any, &json!({"any": {"typeUrl": "a/b", "value": "YQ=="}}));

    let second = wkt::Timestamp {
        seconds: 1,
        nanos: 0,
    };
    assert_eq!(write(&second), Ok(json!("1970-01-01T00:00:01+00:00")));
    assert_eq!(
        write(&wkt::DoubleValue { value: f64::NAN }),
        Ok(Value::Null)
    );
}

#[test]
fn proto2_has_it_too() {
    let message = Legacy {
        id: String::new(),
        count: Some(7),
        level: Some(legacy::Level::Low.into()),
        data: Some(Bytes::new()),
        numbers: vec![1],
        point: Some(legacy::Point {
            x: Some(0),
            y: None,
        }),
        target: Some(legacy::Target::Port(8)),
        ..Legacy::default()
    };
    round_trip(
        &message,
        &json!({
            "id": "", "count": 7, "level": "LOW", "data": "", "numbers": [1],
            "point": {"x": 0}, "port": "8",
        }),
    );
}

#[test]
fn types_without_a_package_have_it_too() {
    let inner = rootless::Inner {
        name: "i".to_owned(),
    };
    let rootless = Rootless {
        inner: Some(inner),
        others: vec![Rootless::default()],
        state: 1,
        money: Some(Money::default()),
    };
    let want = json!({"inner": {"name": "i"}, "others": [{}], "state": "STATE_ON", "money": {}});
    round_trip(&rootless, &want);
    let holder = upstream::Holder {
        rootless: Some(rootless),
        states: [("a".to_owned(), 1)].into(),
    };
    round_trip(
        &holder,
        &json!({"rootless": want, "states": {"a": "STATE_ON"}}),
    );
}

#[test]
fn unlucky_names_have_it_too() {
    let keywords = unlucky::Keywords {
        r#type: "t".to_owned(),
        r#gen: "g".to_owned(),
        self_: "s".to_owned(),
        r#async: 1,
        crate_: Some("c".to_owned()),
        r: vec!["r".to_owned()],
        r#match: Some(unlucky::keywords::Match::Dyn(
            unlucky::keywords::Keyword::Self_.into(),
        )),
    };
    let want = json!({
        "type": "t", "gen": "g", "self": "s", "async": "1", "crate": "c", "r": ["r"],
        "dyn": "KEYWORD_SELF",
    });
    round_trip(&keywords, &want);
    let suffixed = Suffixed {
        kind: Some(suffixed::KindOneOf::Other("o".to_owned())),
    };
    round_trip(&suffixed, &json!({"other": "o"}));
    let std = unlucky::Std {
        result: 0,
        fmt: Some(unlucky::std::Fmt {}),
    };
    round_trip(&std, &json!({"fmt": {}}));
}

fn round_trip<T>(message: &T, want: &Value)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(write(message).as_ref(), Ok(want));
    assert_eq!(read::<T>(&want.to_string()).as_ref(), Ok(message));
}

pub(crate) fn write(message: &impl Serialize) -> Result<Value, String> {
    // As a text: in values of JSON a float is a double.
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    Ok(serde_json::from_str(&text).expect("JSON"))
}

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
