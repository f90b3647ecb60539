//! Objects of derived types against what Java and dubbo-go write for theirs (`docs/spec/hessian2.md` §5, §10).

mod support;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Debug,
};

use dubbo_hessian2::{
    CheckMode, ClassPolicy, DecodeOptions, Decoder, FromHessian, Hessian, Object, Value,
    from_slice,
    java::{BigDecimal, Date, LocalDate, SqlTimestamp},
    to_vec,
};
use support::{bytes, golden, hex, reads, same, user::User};

#[test]
fn a_java_user_is_read_and_written() {
    let user: User = from_slice(golden::named("User.sample")).expect("decodes");
    assert_eq!(user, User::sample("u"));
    let again: User = from_slice(&to_vec(&user).expect("encodes")).expect("decodes");
    assert_eq!(again, user);
    let two: Vec<User> = from_slice(golden::named("User.two")).expect("decodes");
    assert_eq!(two, [User::sample("1"), User::sample("2")]);
    let same: Vec<User> = from_slice(golden::named("User.same.twice")).expect("decodes");
    assert_eq!(same, [User::sample("r"), User::sample("r")]);
}

#[test]
fn null_fields_are_none_or_nothing() {
    let user: User = from_slice(golden::named("User.nulls")).expect("decodes");
    assert_eq!(user, User::default());
}

#[test]
fn generics_keep_the_width_of_their_numbers() {
    let result: Outcome<i64> = from_slice(golden::named("Result.Long")).expect("decodes");
    assert_eq!(
        result,
        Outcome {
            data: 5,
            message: Some("m".into()),
            code: 1
        }
    );
    assert_eq!(
        hex(&to_vec(&result).expect("encodes")),
        hex(golden::named("Result.Long"))
    );
    let result: Outcome<User> = from_slice(golden::named("Result.User")).expect("decodes");
    assert_eq!(result.data, User::sample("g"));
}

#[test]
fn a_field_that_hides_an_inherited_one_wins() {
    #[derive(Debug, Default, Hessian, PartialEq)]
    #[hessian(class = "org.apache.dubbo.interop.Child")]
    struct Child {
        name: String,
        id: i32,
        extra: i32,
    }
    let child: Child = from_slice(golden::named("Child.shadowed")).expect("decodes");
    assert_eq!(
        child,
        Child {
            name: "sub".into(),
            id: 1,
            extra: 5
        }
    );
    let sub = bytes(
        "430747656e2453756299016f0474616773016d046e616d6502696404666c616705626f786564016e046e616d65604e790178485a0462617365914e95e703737562",
    );
    let wanted = Sub {
        o: None,
        tags: vec!["x".into()],
        m: BTreeMap::new(),
        id: 1,
        flag: None,
        boxed: Some(5),
        n: 7,
        name: "sub".into(),
    };
    assert_eq!(from_slice::<Sub>(&sub).expect("decodes"), wanted);
    let value: Value = from_slice(&sub).expect("decodes");
    assert_eq!(
        value.as_object().and_then(|sub| sub.get("name")),
        Some(&"sub".into())
    );
}

#[test]
fn primitives_of_every_width() {
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "Gen$Prim")]
    struct Prim {
        bs: Vec<u8>,
        ff: Option<f32>,
        i: i32,
        l: i64,
        z: bool,
        d: f64,
        f: f32,
        c: char,
        s: i16,
        b: i8,
    }
    // `ff` is boxed and written through its text, `f` is primitive and written bit for bit.
    let input = bytes(
        "430847656e245072696d9a0262730266660169016c017a01640166016301730162602201025f0000044c94e3545f000009c4443ff19999a000000001639291",
    );
    let wanted = Prim {
        bs: vec![1, 2],
        ff: Some(1.1),
        i: 4,
        l: 3,
        z: true,
        d: 2.5,
        f: 1.1,
        c: 'c',
        s: 2,
        b: 1,
    };
    assert_eq!(from_slice::<Prim>(&input).expect("decodes"), wanted);
}

#[test]
fn a_date_field_takes_a_date_and_a_timestamp() {
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "Gen$DateBean")]
    struct DateBean {
        ts: SqlTimestamp,
        d: Date,
    }
    let input = "430c47656e24446174654265616e920274730164604a0000011f71fb04cb4a0000011f71fb04cb";
    let at = Date::from_millis(1_234_567_890_123);
    let bean: DateBean = from_slice(&bytes(input)).expect("decodes");
    assert_eq!(
        bean,
        DateBean {
            ts: SqlTimestamp(at),
            d: at
        }
    );
}

#[test]
fn classes_without_fields_records_and_enums() {
    same(Empty {}, &hex(golden::named("Empty")));
    same(
        Pt {
            x: 1,
            y: "y".into(),
        },
        &hex(golden::named("record")),
    );
    same(TimeUnit::Seconds, &hex(golden::named("TimeUnit")));
    let unknown = to_vec(&TimeUnit::Days).expect("encodes");
    let _ = OldTimeUnit::Seconds;
    let error = from_slice::<OldTimeUnit>(&unknown).expect_err("no such constant");
    assert!(error.to_string().contains("DAYS"), "{error}");
}

#[test]
fn an_array_of_enums_refers_to_their_class() {
    let input = bytes(
        "72 0a 5b47656e24436f6c6f72 43 09 47656e24436f6c6f72 91 046e616d65 60 03524544 60 0547524545 4e",
    );
    let colors: Vec<Color> = from_slice(&input).expect("decodes");
    assert_eq!(colors, [Color::Red, Color::Green]);
    assert_eq!(to_vec(&colors.into_boxed_slice()).expect("encodes"), input);
}

#[test]
fn small_numbers_and_enums_are_found_inside_maps() {
    let map = Value::map([("a".into(), 1.into()), ("b".into(), 2.into())]);
    assert_eq!(map.to::<BTreeMap<String, i8>>().expect("bytes")["b"], 2);
    assert_eq!(map.to::<BTreeMap<String, i16>>().expect("shorts")["b"], 2);
    let large = Value::map([("a".into(), 300.into())]);
    let error = large
        .to::<BTreeMap<String, i8>>()
        .expect_err("300 is no byte");
    assert!(error.to_string().contains("300"), "{error}");
    let colors: BTreeMap<i32, Color> = BTreeMap::from([(1, Color::Red), (2, Color::Green)]);
    assert_eq!(
        Value::of(&colors)
            .expect("encodes")
            .to::<BTreeMap<i32, Color>>()
            .expect("enums"),
        colors
    );
    let map: HashMap<String, Value> = from_slice(golden::named("HashMap.one")).expect("decodes");
    assert_eq!(map["a"], Value::Int(1));
}

#[test]
fn null_and_empty_are_told_apart() {
    same(None::<Vec<i32>>, "4e");
    same(Some(Vec::<i32>::new()), "78");
    same(None::<BTreeMap<String, i32>>, "4e");
    same(Some(BTreeMap::<String, i32>::new()), "48 5a");
    same(None::<String>, "4e");
    same(Some(String::new()), "00");
    same(None::<Vec<u8>>, "4e");
    same(Some(Vec::<u8>::new()), "20");
    same(vec![None, Some(String::new())], "7a 4e 00");
    reads(&HashSet::<String>::new(), "4e");
}

#[test]
fn a_class_with_more_fields_or_fewer_is_read() {
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "com.x.T")]
    struct T {
        a: i32,
        b: Option<String>,
        c: Vec<i32>,
    }
    let more = Value::object(
        "com.x.T",
        [
            (
                "x",
                Value::object("com.x.U", [("y", Value::list([1.into()]))]),
            ),
            ("a", 1.into()),
            ("l", Value::typed_list("[int", [1.into()])),
            ("b", "b".into()),
            ("d", Value::Date(0)),
            ("c", Value::list([2.into()])),
        ],
    );
    assert_eq!(
        more.to::<T>().expect("skips"),
        T {
            a: 1,
            b: Some("b".into()),
            c: vec![2]
        }
    );
    let fewer = Value::object("com.x.T", [("a", 1.into())]);
    assert_eq!(
        fewer.to::<T>().expect("defaults"),
        T {
            a: 1,
            b: None,
            c: Vec::new()
        }
    );
}

#[test]
fn a_reference_into_a_skipped_field_is_followed() {
    // The list is first met in a field that T does not have, and then meant by one that it has.
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "T")]
    struct T {
        a: Vec<i32>,
    }
    let input = "43 01 54 92 01 78 01 61 60 7a 91 92 51 91";
    assert_eq!(
        from_slice::<T>(&bytes(input)).expect("decodes"),
        T { a: vec![1, 2] }
    );
}

#[test]
fn a_class_definition_inside_a_skipped_field_counts() {
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "T")]
    struct T {
        a: Color,
    }
    let input = "43 01 54 92 01 78 01 61 60 43 09 47656e24436f6c6f72 91 046e616d65 61 03524544 61 0547524545 4e";
    assert_eq!(
        from_slice::<T>(&bytes(input)).expect("decodes"),
        T { a: Color::Green }
    );
}

#[test]
fn a_string_builder_among_the_fields_does_no_harm() {
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "com.x.T")]
    struct T {
        builder: Value,
        after: i32,
    }
    let builder: Value = from_slice(golden::named("string.builder")).expect("decodes");
    let input = Value::object(
        "com.x.T",
        [
            ("builder", builder.clone()),
            ("skipped", builder),
            ("after", 7.into()),
        ],
    );
    let read: T = input.to().expect("decodes");
    assert_eq!(read.after, 7);
    assert_eq!(
        read.builder.as_object().map(Object::class),
        Some("java.lang.StringBuilder")
    );
}

#[test]
fn two_types_of_one_short_name_are_two_classes() {
    mod a {
        #[derive(Debug, dubbo_hessian2::Hessian, PartialEq)]
        #[hessian(class = "com.a.User")]
        pub(super) struct User {
            pub(super) id: i32,
        }
    }
    mod b {
        #[derive(Debug, dubbo_hessian2::Hessian, PartialEq)]
        #[hessian(class = "com.b.User")]
        pub(super) struct User {
            pub(super) name: String,
        }
    }
    #[derive(Debug, Hessian, PartialEq)]
    #[hessian(class = "com.x.Pair")]
    struct Pair {
        left: a::User,
        right: b::User,
    }
    let pair = Pair {
        left: a::User { id: 1 },
        right: b::User { name: "n".into() },
    };
    let value = Value::of(&pair).expect("encodes");
    let class = |field: &str| {
        let user = value
            .as_object()
            .and_then(|pair| pair.get(field))
            .and_then(Value::as_object);
        user.map(|user| user.class().to_owned())
    };
    assert_eq!(class("left").as_deref(), Some("com.a.User"));
    assert_eq!(class("right").as_deref(), Some("com.b.User"));
    assert_eq!(value.to::<Pair>().expect("decodes"), pair);
}

#[test]
fn more_classes_than_fit_into_one_byte() {
    let input = golden::named("seventeen-plus.classes");
    let value: Value = from_slice(input).expect("decodes");
    let items = value.as_list().expect("a list");
    assert_eq!(items.len(), 18);
    assert_eq!(
        items[11].to::<BigDecimal>().expect("a decimal").as_str(),
        "1"
    );
    assert_eq!(
        items[16].to::<LocalDate>().expect("a date").to_string(),
        "2024-01-02"
    );
}

#[test]
fn an_error_says_which_field_of_which_class_was_wrong() {
    let wrong = Value::object("org.apache.dubbo.interop.User", [("age", "old".into())]);
    let error = wrong.to::<User>().expect_err("no number");
    assert!(
        error
            .to_string()
            .contains("org.apache.dubbo.interop.User.age"),
        "{error}"
    );
}

#[test]
fn a_strict_policy_reads_java_s_own_classes_and_refuses_others() {
    let read = |bytes: &[u8], policy: ClassPolicy| {
        let options = DecodeOptions {
            classes: Some(policy.into()),
            ..DecodeOptions::DEFAULT
        };
        let mut decoder = Decoder::with_options(bytes, &options);
        User::decode(&mut decoder).map(|_| ())
    };
    let user = golden::named("User.sample");
    let error = read(user, ClassPolicy::new(CheckMode::Strict)).expect_err("not allowed");
    assert!(error.is_refused(), "{error}");
    read(
        user,
        ClassPolicy::new(CheckMode::Strict).allow("org.apache.dubbo.interop."),
    )
    .expect("allowed");
    let options = DecodeOptions {
        classes: Some(ClassPolicy::new(CheckMode::Strict).into()),
        ..DecodeOptions::DEFAULT
    };
    let mut decoder = Decoder::with_options(golden::named("BigDecimal.0"), &options);
    BigDecimal::decode(&mut decoder).expect("Java's own");
    let mut decoder = Decoder::with_options(golden::named("LocalDate"), &options);
    LocalDate::decode(&mut decoder).expect("hessian-lite's own");
}

#[derive(Debug, Hessian, PartialEq)]
#[hessian(class = "org.apache.dubbo.interop.Result")]
struct Outcome<T> {
    data: T,
    message: Option<String>,
    code: i32,
}

#[derive(Clone, Copy, Debug, Hessian, PartialEq)]
#[hessian(class = "Gen$Color")]
enum Color {
    Red,
    Green,
}

#[derive(Debug, Hessian, PartialEq)]
#[hessian(class = "Gen$Sub")]
struct Sub {
    o: Option<Value>,
    tags: Vec<String>,
    m: BTreeMap<String, Value>,
    id: i32,
    flag: Option<bool>,
    boxed: Option<i32>,
    n: i64,
    name: String,
}

#[derive(Debug, Hessian, PartialEq)]
#[hessian(class = "org.apache.dubbo.interop.HessianValues$Empty")]
struct Empty {}

#[derive(Debug, Hessian, PartialEq)]
#[hessian(class = "org.apache.dubbo.interop.HessianValues$Pt")]
struct Pt {
    x: i32,
    y: String,
}

#[derive(Debug, Hessian, PartialEq)]
#[hessian(class = "java.util.concurrent.TimeUnit")]
enum TimeUnit {
    Seconds,
    Days,
}

#[derive(Debug, Hessian)]
#[hessian(class = "java.util.concurrent.TimeUnit")]
enum OldTimeUnit {
    Seconds,
}
