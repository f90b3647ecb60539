//! The forms of generic calls against what Dubbo Java 3.3.6 and dubbo-go 3.3.2 sent
//! (`docs/spec/dubbo-protocol.md` §13).

mod support;

use std::collections::BTreeMap;

use dubbo_hessian2::{
    Value, from_slice,
    java::{
        BigDecimal, BigInteger, Date, Instant, LocalDate, Throwable, Uuid, bean,
        generic::{ClassKey, generalize},
    },
    to_vec,
};
use support::{
    golden,
    user::{Gender, User},
};

#[test]
fn an_object_becomes_the_map_that_java_makes_of_it() {
    let user: Value = from_slice(golden::named("User.sample")).expect("decodes");
    let ours = generalize(&user, ClassKey::Include).expect("has a form");
    let java = &golden::results("java/dubbo-generic.jsonl", "generic.getUser")[0];
    let mut java = sorted(java);
    // The recorded call asked for another user.
    java.insert("id".into(), "u".into());
    java.insert("name".into(), "user-u".into());
    assert_eq!(sorted(&ours), java);
    let without = generalize(&user, ClassKey::Omit).expect("has a form");
    java.remove("class");
    assert_eq!(sorted(&without), java);
}

#[test]
fn a_type_reads_the_map_of_either_peer_as_it_reads_the_object() {
    let java = &golden::results("java/dubbo-generic.jsonl", "generic.getUser")[0];
    assert_eq!(java.to::<User>().expect("decodes"), User::sample("g1"));
    let many = &golden::results("java/dubbo-generic.jsonl", "generic.getUsers")[0];
    assert_eq!(
        many.to::<Vec<User>>().expect("decodes"),
        [User::sample("1"), User::sample("2")]
    );
    // dubbo-go sends the binary as a list of numbers from 0 to 255.
    let go = &golden::results("go/dubbo-generic-modes.jsonl", "generic_user")[0];
    assert_eq!(go.to::<User>().expect("decodes"), User::sample("A"));
}

#[test]
fn the_forms_of_java_s_own_classes() {
    fn form<T: dubbo_hessian2::ToHessian>(value: &T) -> Value {
        let value = Value::of(value).expect("encodes");
        generalize(&value, ClassKey::Include).expect("has a form")
    }
    fn unchanged<T: dubbo_hessian2::ToHessian>(value: &T) {
        assert_eq!(form(value), Value::of(value).expect("encodes"));
    }
    let day: LocalDate = "2024-02-29".parse().expect("a day");
    assert_eq!(form(&day), "2024-02-29".into());
    assert_eq!(
        golden::results("java/dubbo-generic.jsonl", "generic.echoLocalDate")[0],
        "2024-02-29".into()
    );
    unchanged(&Date::from_millis(1));
    unchanged(&Instant::EPOCH);
    unchanged(&Uuid::default());
    unchanged(&BigInteger::from(1));
    unchanged(&"1.5".parse::<BigDecimal>().expect("a decimal"));
    unchanged(&vec![1_u8, 2]);
    unchanged(&vec![1, 2].into_boxed_slice());
    assert_eq!(form(&vec![day]), Value::list(["2024-02-29".into()]));
    assert_eq!(
        form(&vec![day].into_boxed_slice()),
        Value::typed_list("[object", ["2024-02-29".into()])
    );
    assert_eq!(form(&Gender::Male), "MALE".into());
    assert_eq!(
        form(&vec![Gender::Male].into_boxed_slice()),
        Value::typed_list("[string", ["MALE".into()])
    );
    let set = Value::typed_list("java.util.TreeSet", ["a".into()]);
    assert_eq!(
        generalize(&set, ClassKey::Include),
        Ok(Value::typed_list("java.util.HashSet", ["a".into()]))
    );
    let map = Value::typed_map(
        "java.util.TreeMap",
        [(Value::of(&Gender::Male).expect("encodes"), Value::Null)],
    );
    let named = Value::typed_map("java.util.TreeMap", [("MALE".into(), Value::Null)]);
    assert_eq!(generalize(&map, ClassKey::Include), Ok(named));
}

#[test]
fn an_exception_becomes_a_map_that_is_read_as_one() {
    let throwable = Throwable::new("com.x.BizException", "outer")
        .with_field("code", 7)
        .with_cause(Throwable::runtime("inner"));
    let map = generalize(&Value::of(&throwable).expect("encodes"), ClassKey::Include)
        .expect("has a form");
    assert_eq!(sorted(&map)["message"], "outer".into());
    let again: Throwable = map.to().expect("decodes");
    assert_eq!(again.to_string(), throwable.to_string());
    assert_eq!(again.code(), Some(7));
    assert_eq!(
        again.cause().map(ToString::to_string).as_deref(),
        Some("java.lang.RuntimeException: inner")
    );
}

#[test]
fn what_java_throws_in_a_generic_call_names_the_real_class() {
    let thrown = &golden::results("java/dubbo-generic.jsonl", "generic.throwChecked")[0];
    let throwable: Throwable = thrown.to().expect("decodes");
    assert!(throwable.is_generic(), "{throwable}");
    assert_eq!(
        throwable.exception_class(),
        Some("org.apache.dubbo.interop.UserException")
    );
    assert!(throwable.stack_trace().len() > 10);
    let refused = golden::results("go/dubbo-generic-modes.jsonl", "generic_hello");
    let throwable: Throwable = refused[1].to().expect("decodes");
    assert_eq!(throwable.class(), "java.lang.Throwable");
}

#[test]
fn what_is_shared_stays_shared_and_a_cycle_stays_one() {
    let node: Value = from_slice(golden::named("Node.cycle")).expect("decodes");
    let map = generalize(&node, ClassKey::Omit).expect("has a form");
    let kids = sorted(&map)["children"].clone();
    let kid = &kids.as_list().expect("a list")[0];
    let parent = sorted(kid)["parent"].clone();
    assert!(matches!(parent, Value::Back(_)), "{parent:?}");
    assert_eq!(
        from_slice::<Value>(&to_vec(&map).expect("encodes")).expect("decodes"),
        map
    );

    let twice: Value = from_slice(golden::named("User.same.twice")).expect("decodes");
    let maps = generalize(&twice, ClassKey::Omit).expect("has a form");
    let bytes = to_vec(&maps).expect("encodes");
    assert!(
        bytes.ends_with(&[0x51, 0x91]),
        "the second is a reference to the first"
    );
}

#[test]
fn values_that_are_too_deep_are_refused() {
    let mut value = Value::Null;
    for _ in 0..1_000 {
        value = Value::object("com.x.Next", [("next", value)]);
    }
    assert!(generalize(&value, ClassKey::Omit).is_err());
    assert!(bean::describe(&value).is_err());
    assert!(bean::describe(&vec![0_u8; 1_000_001].into()).is_err());
}

#[test]
fn a_descriptor_says_what_a_value_is_made_of() {
    let user: Value = from_slice(golden::named("User.sample")).expect("decodes");
    let descriptor = bean::describe(&user).expect("can be described");
    let object = descriptor.as_object().expect("an object");
    assert_eq!(
        object.class(),
        "org.apache.dubbo.common.beanutil.JavaBeanDescriptor"
    );
    assert_eq!(
        object.get("className"),
        Some(&"org.apache.dubbo.interop.User".into())
    );
    assert_eq!(object.get("type"), Some(&7.into()));
    assert_eq!(
        bean::restore(&descriptor)
            .expect("a descriptor")
            .to::<User>()
            .expect("a user"),
        User::sample("u")
    );
    for (name, kind, class) in [
        ("int.1", 6, "java.lang.Integer"),
        ("string.a", 6, "java.lang.String"),
        ("date.1", 6, "java.util.Date"),
        ("BigDecimal.0", 6, "java.math.BigDecimal"),
        ("Class.int", 1, "java.lang.Class"),
        ("Gender", 2, "org.apache.dubbo.interop.Gender"),
        ("ArrayList.7", 3, "java.util.ArrayList"),
        ("TreeSet", 3, "java.util.TreeSet"),
        ("HashMap.one", 4, "java.util.HashMap"),
        ("TreeMap", 4, "java.util.TreeMap"),
        ("int[][]", 5, "[I"),
        ("String[]", 5, "java.lang.String"),
        ("User[]", 5, "org.apache.dubbo.interop.User"),
        ("bytes.15", 5, "byte"),
    ] {
        let value: Value = from_slice(golden::named(name)).expect("decodes");
        let descriptor = bean::describe(&value).expect("can be described");
        let object = descriptor.as_object().expect("an object");
        assert_eq!(object.get("type"), Some(&kind.into()), "{name}");
        assert_eq!(object.get("className"), Some(&class.into()), "{name}");
        assert_eq!(
            bean::restore(&descriptor).expect("a descriptor"),
            value,
            "{name}"
        );
    }
    assert_eq!(bean::describe(&Value::Null), Ok(Value::Null));
}

#[test]
fn dubbo_go_s_descriptors_are_restored() {
    let results = golden::results("go/dubbo-generic-modes.jsonl", "generic_hello");
    let hello = results
        .iter()
        .find(|result| bean::restore(result).is_ok())
        .expect("a descriptor");
    assert_eq!(
        bean::restore(hello).expect("a descriptor"),
        "hello x".into()
    );
    let results = golden::results("go/dubbo-generic-modes.jsonl", "generic_user");
    let user = results
        .iter()
        .find_map(|result| bean::restore(result).ok())
        .expect("a descriptor");
    let user = user.as_object().expect("a user");
    assert_eq!(user.class(), "org.apache.dubbo.interop.User");
    // Its indices come in any order, and its keys of maps are descriptors.
    let photo = user.get("photo").and_then(Value::as_list).expect("a list");
    assert_eq!(photo, [0.into(), 1.into(), 254.into(), 255.into()]);
    assert_eq!(sorted(user.get("attrs").expect("a map"))["n"], 7.into());
}

#[test]
fn broken_descriptors_are_refused() {
    let descriptor = |kind: i32, properties: Value| {
        Value::object(
            "D",
            [
                ("className", "X".into()),
                ("type", kind.into()),
                ("properties", properties),
            ],
        )
    };
    let empty = || Value::map([]);
    let index = |index: i32| Value::map([(index.into(), Value::Null)]);
    for (value, why) in [
        (Value::Int(1), "without className"),
        (Value::map([]), "without className"),
        (descriptor(0, empty()), "of type 0"),
        (descriptor(8, empty()), "of type 8"),
        (descriptor(7, Value::Null), "without properties"),
        (descriptor(6, empty()), "without value"),
        (descriptor(2, empty()), "without name"),
        (descriptor(3, index(1)), "with a gap"),
        (descriptor(3, index(-1)), "with a gap"),
        (
            descriptor(3, Value::map([("a".into(), Value::Null)])),
            "no number",
        ),
    ] {
        let error = bean::restore(&value).expect_err(why);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[cfg(feature = "json")]
mod json {
    use dubbo_hessian2::java::json::{from_json, to_json};

    use super::{User, golden};

    #[test]
    fn what_java_answers_with_gson_is_read_as_the_type_but_for_its_dates() {
        let answer = &golden::results("java/dubbo-generic-modes.jsonl", "generic=gson")[0];
        let text = answer.as_str().expect("a text");
        assert!(text.contains("\"birth\":\"Jul 14, 2017, 2:40:00"), "{text}");
        let error = from_json(text)
            .expect("JSON")
            .to::<User>()
            .expect_err("a date without a zone");
        assert!(error.to_string().contains("User.birth"), "{error}");
        let start = text.find("\"birth\"").expect("a date");
        let end = start + text[start..].find("M\",").expect("its end") + 3;
        let dateless = format!("{}{}", &text[..start], &text[end..]);
        let user: User = from_json(&dateless).expect("JSON").to().expect("a user");
        assert_eq!(
            user,
            User {
                birth: None,
                ..User::sample("g1")
            }
        );
    }

    #[test]
    fn an_object_goes_through_json_and_comes_back() {
        let user: dubbo_hessian2::Value =
            dubbo_hessian2::from_slice(golden::named("User.sample")).expect("decodes");
        let text = to_json(&user).expect("has a form");
        assert!(
            text.contains("\"photo\":[0,1,-2,-1]"),
            "as gson has it: {text}"
        );
        assert!(text.contains("\"gender\":\"FEMALE\""), "{text}");
        let again: User = from_json(&text).expect("JSON").to().expect("a user");
        assert_eq!(again, User::sample("u"));
    }

    #[test]
    fn a_cycle_has_no_form_in_json() {
        let node: dubbo_hessian2::Value =
            dubbo_hessian2::from_slice(golden::named("Node.cycle")).expect("decodes");
        let error = to_json(&node).expect_err("a cycle");
        assert!(error.to_string().contains("contains itself"), "{error}");
    }
}

fn sorted(map: &Value) -> BTreeMap<String, Value> {
    let entries = map.as_map().unwrap_or_else(|| panic!("a map: {map:?}"));
    let entry =
        |(key, value): &(Value, Value)| (key.as_str().expect("a string").to_owned(), value.clone());
    entries.iter().map(entry).collect()
}
