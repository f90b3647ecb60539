//! Generated messages in protobuf's binary form, and under their names.

use bytes::Bytes;
use prost::{Message, Name};

use crate::generated::{
    Rootless,
    legacy::{Legacy, legacy},
    rich::v1::{Rich, Suffixed, rich, suffixed},
    rootless, unlucky,
};

#[test]
fn messages_read_back_what_they_write() {
    let rich = Rich {
        f_bytes: Bytes::from_static(b"\0\xff"),
        m_bytes: [("k".to_owned(), Bytes::from_static(b"v"))].into(),
        choice: Some(rich::Choice::OBytes(Bytes::from_static(b"o"))),
        opt_int32: Some(0),
        f_part: Some(Box::new(rich::Part {
            others: vec![rich::Part::default()],
            either: Some(rich::part::Either::Left(Box::default())),
            ..rich::Part::default()
        })),
        ..Rich::default()
    };
    assert_eq!(Rich::decode(&*rich.encode_to_vec()), Ok(rich));

    let legacy = Legacy {
        id: "i".to_owned(),
        point: Some(legacy::Point {
            x: Some(1),
            y: None,
        }),
        target: Some(legacy::Target::Port(8)),
        ..Legacy::default()
    };
    assert_eq!(Legacy::decode(&*legacy.encode_to_vec()), Ok(legacy));
}

#[test]
fn the_defaults_of_proto2_hold() {
    let legacy = Legacy::default();
    assert_eq!(legacy.count(), 7);
    assert_eq!(legacy.level(), legacy::Level::High);
    assert_eq!(legacy.count, None);
}

#[test]
fn names_are_those_of_the_proto_file() {
    for (got, want) in [
        (Rich::full_name(), "rich.v1.Rich"),
        (rich::Part::full_name(), "rich.v1.Rich.Part"),
        (Rootless::full_name(), "Rootless"),
        (rootless::Inner::full_name(), "Rootless.Inner"),
        (unlucky::String::full_name(), "unlucky.String"),
        (
            rich::Part::type_url(),
            "type.googleapis.com/rich.v1.Rich.Part",
        ),
    ] {
        assert_eq!(got, want);
    }
}

#[test]
fn a_oneof_beside_a_type_of_its_name_has_a_suffix() {
    let kind = suffixed::KindOneOf::Is(suffixed::Kind::default());
    let message = Suffixed { kind: Some(kind) };
    assert_eq!(Suffixed::decode(&*message.encode_to_vec()), Ok(message));
}
