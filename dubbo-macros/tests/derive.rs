//! What derived classes write and read.

#![allow(missing_docs)]

use std::{collections::HashMap, marker::PhantomData};

use dubbo_hessian2::{
    Encoder, FromHessian, Hessian, JavaType, ToHessian, Value, from_slice, to_vec,
};

#[derive(Debug, Clone, PartialEq, Hessian)]
#[hessian(class = "com.example.User")]
struct User {
    account_no: i64,
    r#type: String,
    #[hessian(rename = "nick")]
    nick_name: Option<String>,
    tags: Vec<String>,
    #[hessian(default)]
    level: Level,
    #[hessian(default = "ten")]
    limit: i32,
    home: Box<Home>,
    #[hessian(skip)]
    seen: bool,
    #[hessian(skip, default = "ten")]
    tries: i32,
}

#[derive(Debug, Clone, PartialEq, Hessian)]
#[hessian(class = "com.example.Home")]
struct Home {
    city: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Hessian)]
#[hessian(class = "com.example.Level")]
enum Level {
    #[default]
    Low,
    VeryHigh,
    #[hessian(rename = "max")]
    Top,
}

fn ten() -> i32 {
    10
}

fn user() -> User {
    User {
        account_no: 7,
        r#type: "admin".to_owned(),
        nick_name: None,
        tags: vec!["a".to_owned()],
        level: Level::VeryHigh,
        limit: 3,
        home: Box::new(home()),
        seen: false,
        tries: 10,
    }
}

fn home() -> Home {
    Home {
        city: "Bern".to_owned(),
    }
}

fn object<'a>(class: &str, fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::object(class, fields)
}

fn home_value() -> Value {
    object("com.example.Home", [("city", "Bern".into())])
}

fn error<T: FromHessian>(value: &Value) -> String {
    match value.to::<T>() {
        Ok(_) => panic!("{value:?} was read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn fields_are_written_in_order_under_their_java_names() {
    let want = object(
        "com.example.User",
        [
            ("accountNo", 7_i64.into()),
            ("type", "admin".into()),
            ("nick", Value::Null),
            ("tags", Value::list(["a".into()])),
            (
                "level",
                object("com.example.Level", [("name", "VERY_HIGH".into())]),
            ),
            ("limit", 3.into()),
            ("home", home_value()),
        ],
    );
    assert_eq!(Value::of(&user()).expect("encodes"), want);
    let bytes = to_vec(&user()).expect("encodes");
    assert_eq!(from_slice::<User>(&bytes).expect("decodes"), user());
}

#[test]
fn the_class_is_defined_once() {
    let bytes = to_vec(&vec![home(), home()]).expect("encodes");
    let mut want = b"\x7aC\x10com.example.Home\x91\x04city".to_vec();
    want.extend(b"\x60\x04Bern\x60\x04Bern");
    assert_eq!(bytes, want);
}

#[test]
fn fields_come_in_any_order_and_unknown_ones_are_passed_over() {
    let value = object(
        "com.example.User",
        [
            ("home", home_value()),
            ("removed", Value::list([home_value(), 1.into()])),
            ("limit", 3.into()),
            (
                "level",
                object("com.example.Level", [("name", "VERY_HIGH".into())]),
            ),
            ("tags", Value::list(["a".into()])),
            ("seen", true.into()),
            ("type", "admin".into()),
            ("accountNo", 7_i64.into()),
        ],
    );
    assert_eq!(value.to::<User>().expect("decodes"), user());
}

#[test]
fn what_is_missing_or_null_has_the_value_that_null_means() {
    let named = |name| (name, Value::Null);
    let nulls = ["accountNo", "type", "nick", "tags", "level", "limit"].map(named);
    let home = ("home", home_value());
    for fields in [vec![home.clone()], [nulls.to_vec(), vec![home]].concat()] {
        let read: User = object("com.example.User", fields).to().expect("decodes");
        let want = User {
            account_no: 0,
            r#type: String::new(),
            nick_name: None,
            tags: Vec::new(),
            level: Level::Low,
            limit: 10,
            home: Box::new(home_of("Bern")),
            seen: false,
            tries: 10,
        };
        assert_eq!(read, want);
    }
}

fn home_of(city: &str) -> Home {
    Home {
        city: city.to_owned(),
    }
}

#[test]
fn what_may_not_be_missing_or_null_is_an_error_that_names_it() {
    let missing = error::<User>(&object("com.example.User", [("accountNo", 1_i64.into())]));
    assert!(missing.contains("com.example.User.home"), "{missing}");
    assert!(missing.contains("`Option`"), "{missing}");

    let null = error::<User>(&object("com.example.User", [("home", Value::Null)]));
    assert!(null.contains("com.example.User.home"), "{null}");
    assert!(
        null.contains("null where com.example.Home is required"),
        "{null}"
    );

    let other = error::<User>(&object("com.example.User", [("accountNo", "x".into())]));
    assert!(other.contains("com.example.User.accountNo"), "{other}");
    assert_eq!(other.matches("accountNo").count(), 1, "{other}");

    let null = error::<Level>(&Value::Null);
    assert!(null.contains("com.example.Level"), "{null}");
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Base")]
struct Base {
    id: i32,
    note: Option<String>,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Middle")]
struct Middle {
    size: i32,
    #[hessian(flatten)]
    base: Base,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Leaf")]
struct Leaf {
    color: Level,
    #[hessian(flatten)]
    middle: Middle,
    home: Home,
}

fn leaf() -> Leaf {
    Leaf {
        color: Level::Top,
        middle: Middle {
            size: 2,
            base: Base { id: 1, note: None },
        },
        home: home(),
    }
}

fn leaf_fields() -> Vec<(&'static str, Value)> {
    let color = object("com.example.Level", [("name", "max".into())]);
    vec![
        ("id", 1.into()),
        ("note", Value::Null),
        ("size", 2.into()),
        ("color", color),
        ("home", home_value()),
    ]
}

#[test]
fn inherited_fields_are_fields_of_the_same_object_and_come_first() {
    assert_eq!(
        Value::of(&leaf()).expect("encodes"),
        object("com.example.Leaf", leaf_fields())
    );
    let mut fields = leaf_fields();
    for _ in 0..fields.len() {
        fields.rotate_left(1);
        let value = object("com.example.Leaf", fields.clone());
        assert_eq!(value.to::<Leaf>().expect("decodes"), leaf());
    }
    fields.push(("newer", home_value()));
    let value = object("com.example.Leaf", fields);
    assert_eq!(value.to::<Leaf>().expect("decodes"), leaf());
}

#[test]
fn an_error_in_an_inherited_field_names_the_class_that_was_read() {
    for (index, name) in [(0, "id"), (2, "size")] {
        let mut fields = leaf_fields();
        fields[index].1 = "x".into();
        let text = error::<Leaf>(&object("com.example.Leaf", fields));
        assert!(text.contains(&format!("com.example.Leaf.{name}")), "{text}");
    }
}

#[test]
fn of_a_field_that_occurs_twice_the_last_one_counts() {
    // A class that hides a field of its superclass is written like this (`docs/spec/hessian2.md` §10).
    let bytes = b"C\x10com.example.Base\x92\x02id\x02id\x60\x91\x92";
    let read: Base = from_slice(bytes).expect("decodes");
    assert_eq!(read.id, 2);
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Result")]
struct Result<T, E = String>
where
    E: Default,
{
    data: T,
    errors: HashMap<String, Vec<E>>,
    #[hessian(skip)]
    marker: PhantomData<fn(T)>,
}

/// Not a value itself.
struct Marker;

#[derive(Hessian)]
#[hessian(class = "com.example.Typed")]
struct Typed<K> {
    name: String,
    #[hessian(skip)]
    kind: PhantomData<K>,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Page")]
struct Page<T> {
    #[hessian(flatten)]
    result: Result<Vec<T>>,
    page: i32,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Audited")]
struct Audited<B> {
    #[hessian(flatten)]
    base: B,
    by: String,
}

#[test]
fn parameters_are_bound_where_their_values_travel() {
    let result: Result<i32> = Result {
        data: 1,
        errors: HashMap::from([("a".to_owned(), vec!["b".to_owned()])]),
        marker: PhantomData,
    };
    let bytes = to_vec(&result).expect("encodes");
    assert_eq!(from_slice::<Result<i32>>(&bytes).expect("decodes"), result);

    let typed = Typed::<Marker> {
        name: "n".to_owned(),
        kind: PhantomData,
    };
    let bytes = to_vec(&typed).expect("encodes");
    let read = from_slice::<Typed<Marker>>(&bytes).expect("decodes");
    assert_eq!(read.name, "n");
    assert_eq!(read.kind, PhantomData);
}

#[test]
fn a_superclass_may_have_parameters_or_be_one() {
    let page = Page {
        result: Result {
            data: vec![home()],
            errors: HashMap::new(),
            marker: PhantomData,
        },
        page: 4,
    };
    let value = Value::of(&page).expect("encodes");
    let object = value.as_object().expect("an object");
    let names: Vec<_> = object.fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["data", "errors", "page"]);
    assert_eq!(object.class(), "com.example.Page");
    assert_eq!(value.to::<Page<Home>>().expect("decodes"), page);

    let audited = Audited {
        base: leaf(),
        by: "me".to_owned(),
    };
    let value = Value::of(&audited).expect("encodes");
    assert_eq!(value.to::<Audited<Leaf>>().expect("decodes"), audited);
    let names = value.as_object().expect("an object").fields();
    let names: Vec<_> = names.map(|(name, _)| name).collect();
    assert_eq!(names, ["id", "note", "size", "color", "home", "by"]);
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Node")]
struct Node {
    value: i32,
    next: Option<Box<Self>>,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Ping")]
struct Ping;

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Pong", rename_all = "PascalCase")]
struct Pong {
    #[hessian(skip)]
    at: u64,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Snake", rename_all = "snake_case")]
struct Snake {
    long_name: i32,
}

#[test]
fn classes_may_be_recursive_or_empty() {
    let node = Node {
        value: 1,
        next: Some(Box::new(Node {
            value: 2,
            next: None,
        })),
    };
    let bytes = to_vec(&node).expect("encodes");
    assert_eq!(from_slice::<Node>(&bytes).expect("decodes"), node);

    let bytes = to_vec(&Ping).expect("encodes");
    assert_eq!(bytes, b"C\x10com.example.Ping\x90\x60");
    assert_eq!(from_slice::<Ping>(&bytes).expect("decodes"), Ping);
    let bytes = to_vec(&Pong { at: 3 }).expect("encodes");
    assert_eq!(from_slice::<Pong>(&bytes).expect("decodes"), Pong { at: 0 });
    let snake = Value::of(&Snake { long_name: 1 }).expect("encodes");
    let want = object("com.example.Snake", [("long_name", 1.into())]);
    assert_eq!(snake, want);
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.Color", rename_all = "PascalCase")]
enum Color {
    Red,
    #[hessian(other)]
    Other(String),
}

#[test]
fn a_constant_is_known_by_its_name() {
    let constant = |name: &str| object("com.example.Level", [("name", name.into())]);
    for (level, name) in [
        (Level::Low, "LOW"),
        (Level::VeryHigh, "VERY_HIGH"),
        (Level::Top, "max"),
    ] {
        assert_eq!(Value::of(&level).expect("encodes"), constant(name));
        assert_eq!(constant(name).to::<Level>().expect("decodes"), level);
    }
    // A constant with a body has a class of its own.
    let value = object("com.example.Level$1", [("name", "LOW".into())]);
    assert_eq!(value.to::<Level>().expect("decodes"), Level::Low);

    let text = error::<Level>(&constant("MIDDLE"));
    assert!(
        text.contains("`MIDDLE` is no constant of com.example.Level"),
        "{text}"
    );
    assert!(text.contains("LOW, VERY_HIGH, max"), "{text}");
}

#[test]
fn other_constants_keep_their_names() {
    for (color, name) in [
        (Color::Red, "Red"),
        (Color::Other("BLUE".to_owned()), "BLUE"),
    ] {
        let value = object("com.example.Color", [("name", name.into())]);
        assert_eq!(Value::of(&color).expect("encodes"), value);
        assert_eq!(value.to::<Color>().expect("decodes"), color);
    }
}

#[test]
fn classes_are_called_what_java_calls_them() {
    assert_eq!(User::java_name(), "com.example.User");
    assert_eq!(Level::java_name(), "com.example.Level");
    assert_eq!(<Result<Marker>>::java_name(), "com.example.Result");
    assert_eq!(<Option<User>>::java_name(), "com.example.User");
    assert_eq!(<Vec<User>>::java_name(), "java.util.List");
    assert_eq!(<Box<[User]>>::java_name(), "[Lcom.example.User;");
    assert_eq!(User::array_type(), "[com.example.User");
}

#[test]
fn objects_share_definitions_whatever_reads_them() {
    let mut encoder = Encoder::new();
    leaf().encode(&mut encoder).expect("encodes");
    leaf().middle.base.encode(&mut encoder).expect("encodes");
    home().encode(&mut encoder).expect("encodes");
    let bytes = encoder.into_bytes();
    let mut decoder = dubbo_hessian2::Decoder::new(&bytes);
    assert_eq!(Leaf::decode(&mut decoder).expect("decodes"), leaf());
    assert_eq!(Base::decode(&mut decoder).expect("decodes").id, 1);
    assert_eq!(Home::decode(&mut decoder).expect("decodes"), home());
    assert!(decoder.is_at_end());
}

mod elsewhere {
    pub(crate) mod codec {
        pub(crate) use ::dubbo_hessian2::*;
    }
}

#[derive(Hessian)]
#[hessian(class = "com.example.Moved", crate = "crate::elsewhere::codec")]
struct Moved {
    x: i32,
}

#[test]
fn the_codec_may_be_elsewhere() {
    let bytes = to_vec(&Moved { x: 1 }).expect("encodes");
    assert_eq!(from_slice::<Moved>(&bytes).expect("decodes").x, 1);
}

/// Everything that derived code could mean by mistake has another meaning here.
#[allow(dead_code, non_camel_case_types, non_upper_case_globals, unused_macros)]
mod shadowed {
    use ::dubbo_hessian2::Hessian;

    mod std {}
    mod core {}
    mod alloc {}
    mod dubbo_hessian2 {}
    mod dubbo {}

    struct Result;
    struct Option;
    struct String;
    struct Vec;
    struct Box;
    struct Cow;
    struct Shape;
    struct Encoder;
    struct Decoder;
    struct usize;
    struct str;
    trait ToHessian {}
    trait FromHessian {}
    trait Default {}
    trait From {}
    trait FnMut {}
    trait AsRef {}
    const Ok: () = ();
    const Err: () = ();
    const Some: () = ();
    const None: () = ();
    const SHAPE: () = ();
    fn decoder() {}
    fn first() {}
    fn others() {}
    fn own() {}
    fn start() -> i64 {
        5
    }

    #[derive(Hessian)]
    #[hessian(class = "com.example.Shadowed")]
    pub(super) struct Shadowed<T> {
        pub(super) decoder: i32,
        #[hessian(default = "start")]
        pub(super) value: i64,
        #[hessian(default)]
        pub(super) shape: ::std::string::String,
        pub(super) first: ::std::option::Option<T>,
        #[hessian(skip)]
        pub(super) others: bool,
    }

    #[derive(Hessian)]
    #[hessian(class = "com.example.Sub")]
    pub(super) struct Sub {
        #[hessian(flatten)]
        pub(super) inherited: Shadowed<Kind>,
        pub(super) own: i32,
    }

    #[derive(Debug, PartialEq, Hessian)]
    #[hessian(class = "com.example.Kind")]
    pub(super) enum Kind {
        Ok,
        None,
        #[hessian(other)]
        Some(::std::string::String),
    }
}

#[test]
fn names_around_a_class_do_not_matter() {
    let sub = shadowed::Sub {
        inherited: shadowed::Shadowed {
            decoder: 1,
            value: 2,
            shape: "s".to_owned(),
            first: Some(shadowed::Kind::None),
            others: true,
        },
        own: 3,
    };
    let bytes = to_vec(&sub).expect("encodes");
    let read: shadowed::Sub = from_slice(&bytes).expect("decodes");
    let base = &read.inherited;
    assert_eq!((base.decoder, base.value, read.own), (1, 2, 3));
    assert_eq!(base.shape, "s");
    assert_eq!(base.first, Some(shadowed::Kind::None));
    assert!(!base.others);

    let read: shadowed::Sub = object("com.example.Sub", []).to().expect("decodes");
    assert_eq!(read.inherited.value, 5);
}
