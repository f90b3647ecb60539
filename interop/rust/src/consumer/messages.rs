//! A message with every kind of field.

use std::collections::HashMap;

use pbjson_types::{Any, Duration, Int64Value, StringValue, Timestamp};
use prost::{Message as _, Name as _};

use crate::contract::{
    Color, EchoMessage, FailDetail,
    echo_message::{Choice, Nested},
};

/// Every field set, at the ends of its range where it has one.
pub(super) fn full() -> EchoMessage {
    let nested = Nested {
        name: "n".to_owned(),
        id: -1,
        child: Some(Box::new(Nested {
            name: "child".to_owned(),
            id: i64::MIN,
            child: None,
        })),
    };
    let detail = FailDetail {
        text: "in any".to_owned(),
        index: 3,
    };
    EchoMessage {
        f_double: std::f64::consts::PI,
        f_float: -1.5,
        f_int32: i32::MIN,
        f_int64: i64::MAX,
        f_uint32: u32::MAX,
        f_uint64: u64::MAX,
        f_sint32: -7,
        f_sint64: -(1 << 40),
        f_fixed32: 0xdead_beef,
        f_fixed64: 0xfeed_face_cafe_beef,
        f_sfixed32: -2,
        f_sfixed64: -3,
        f_bool: true,
        f_string: "plain, é, 中文, 😀, \0.".to_owned(),
        f_bytes: vec![0x00, 0x01, 0xfe, 0xff].into(),
        f_enum: Color::Blue.into(),
        f_nested: Some(nested.clone()),
        r_int32: vec![1, -1, 300, 0],
        r_string: vec![String::new(), "x".to_owned(), "é".to_owned()],
        r_bytes: vec![Vec::new().into(), vec![0xff].into()],
        r_enum: vec![Color::Negative.into(), Color::Red.into()],
        r_nested: vec![nested, Nested::default()],
        r_double: vec![0.0, f64::INFINITY, f64::NEG_INFINITY],
        m_string: HashMap::from([("k".to_owned(), "v".to_owned())]),
        m_nested: HashMap::from([(
            -5,
            Nested {
                name: "m".to_owned(),
                ..Nested::default()
            },
        )]),
        m_enum: HashMap::from([(true, Color::Green.into())]),
        choice: Some(Choice::OString(String::new())),
        opt_int32: Some(0),
        opt_string: Some(String::new()),
        ts: Some(Timestamp {
            seconds: 1_500_000_000,
            nanos: 123_456_789,
        }),
        duration: Some(Duration {
            seconds: -1,
            nanos: -500_000_000,
        }),
        any: Some(Any {
            type_url: format!("type.googleapis.com/{}", FailDetail::full_name()),
            value: detail.encode_to_vec().into(),
        }),
        wrapped: Some(StringValue {
            value: String::new(),
        }),
        wrapped_int64: Some(Int64Value { value: 0 }),
    }
}
