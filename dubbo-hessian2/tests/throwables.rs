//! Exceptions of any class (`docs/spec/hessian2.md` §8).

mod support;

use std::error::Error;

use dubbo_hessian2::{
    CheckMode, ClassPolicy, DecodeOptions, Decoder, FromHessian, Value, from_slice,
    java::{StackFrame, Throwable},
    to_vec,
};
use support::{bytes, golden, hex};

fn read(name: &str) -> Throwable {
    from_slice(golden::named(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn what_java_threw_is_read_and_written_again_byte_for_byte() {
    for name in [
        "RuntimeException.no-stack",
        "RuntimeException.null-message",
        "RuntimeException.one-frame",
        "RuntimeException.module-frame",
        "UserException",
        "UserRuntimeException.cause",
        "RuntimeException.suppressed",
        "RuntimeException.shared-cause",
        "RuntimeException.two-suppressed",
        "ArithmeticException",
        "Error",
        "RpcException",
        "GenericException",
    ] {
        let again = to_vec(&read(name)).expect("encodes");
        assert_eq!(hex(&again), hex(golden::named(name)), "{name}");
    }
}

#[test]
fn what_is_made_here_is_written_as_java_writes_it() {
    let frame = StackFrame::new("a.B", "m", "B.java", 7);
    let app = StackFrame {
        module: Some("java.base".into()),
        module_version: Some("17".into()),
        class_loader: Some("app".into()),
        ..frame.clone()
    };
    let runtime = || Throwable::runtime("boom");
    for (name, throwable) in [
        ("RuntimeException.no-stack", runtime()),
        ("RuntimeException.one-frame", runtime().with_stack([frame])),
        ("RuntimeException.module-frame", runtime().with_stack([app])),
        (
            "UserException",
            Throwable::new("org.apache.dubbo.interop.UserException", "bad")
                .with_field("detail", "d")
                .with_field("code", 42),
        ),
        (
            "RuntimeException.suppressed",
            Throwable::runtime("s").with_suppressed([Throwable::new(
                "java.lang.IllegalStateException",
                "suppressed",
            )]),
        ),
        ("RpcException", Throwable::rpc(4, "forbidden")),
        ("GenericException", Throwable::generic("org.x.E", "msg")),
    ] {
        let written = to_vec(&throwable).expect("encodes");
        assert_eq!(hex(&written), hex(golden::named(name)), "{name}");
    }
}

#[test]
fn the_parts_are_there() {
    let throwable = read("RuntimeException.module-frame");
    assert_eq!(throwable.class(), "java.lang.RuntimeException");
    assert_eq!(throwable.message(), Some("boom"));
    assert!(throwable.cause().is_none(), "its own cause is none");
    assert!(throwable.suppressed().is_empty());
    let [frame] = throwable.stack_trace() else {
        panic!("one frame: {throwable:?}");
    };
    assert_eq!(frame.to_string(), "a.B.m(B.java:7)");
    assert_eq!(frame.module.as_deref(), Some("java.base"));
    assert_eq!(frame.class_loader.as_deref(), Some("app"));

    let user = read("UserException");
    assert_eq!(user.get("code").and_then(Value::as_i64), Some(42));
    assert_eq!(user.get("detail").and_then(Value::as_str), Some("d"));
    assert_eq!(user.get("detailMessage"), None, "not a further field");
    assert_eq!(read("RpcException").code(), Some(4));
    assert_eq!(
        read("RuntimeException.suppressed").suppressed()[0].message(),
        Some("suppressed")
    );

    let generic = read("GenericException");
    assert!(generic.is_generic() && !user.is_generic());
    assert_eq!(generic.exception_class(), Some("org.x.E"));
    assert_eq!(generic.exception_message(), Some("msg"));
}

#[test]
fn an_exception_is_an_error_with_a_chain() {
    let throwable = read("UserRuntimeException.cause");
    assert_eq!(
        throwable.to_string(),
        "org.apache.dubbo.interop.UserRuntimeException: outer"
    );
    let cause = throwable.source().expect("a cause");
    assert_eq!(
        cause.to_string(),
        "java.lang.IllegalArgumentException: inner"
    );
    assert!(cause.source().is_none());
    assert_eq!(
        read("RuntimeException.null-message").to_string(),
        "java.lang.RuntimeException"
    );

    let error = Throwable::from_error(&Outer(Inner));
    assert_eq!(error.to_string(), "java.lang.RuntimeException: outer");
    assert_eq!(error.cause().and_then(Throwable::message), Some("inner"));
    let wrapped = Outer(Throwable::illegal_argument("bad").with_cause(Throwable::runtime("deep")));
    let kept = Throwable::from_error(&wrapped);
    let cause = kept.cause().expect("a cause");
    assert_eq!(
        cause.class(),
        "java.lang.IllegalArgumentException",
        "an exception stays what it is"
    );
    assert_eq!(cause.cause().and_then(Throwable::message), Some("deep"));
}

#[test]
fn fields_become_a_rust_type_of_the_class() {
    #[derive(Debug, dubbo_hessian2::Hessian, PartialEq)]
    #[hessian(class = "org.apache.dubbo.interop.UserException")]
    struct UserException {
        detail_message: Option<String>,
        code: i32,
        detail: String,
    }
    let thrown = read("UserException");
    let read: UserException = thrown.read().expect("has these fields");
    let wanted = UserException {
        detail_message: Some("bad".into()),
        code: 42,
        detail: "d".into(),
    };
    assert_eq!(read, wanted);

    // Not even what has the same fields, or none of them: every field would be made up.
    let class = "org.apache.dubbo.interop.UserException";
    let caused = Throwable::new("x.Other", "bad").with_cause(thrown);
    for other in [
        Throwable::new("java.lang.NullPointerException", "bad"),
        Throwable::rpc(3, "bad"),
        caused,
    ] {
        let error = other.read::<UserException>().expect_err("another class");
        let want = format!("the exception is a `{}`, not a `{class}`", other.class());
        assert!(error.to_string().contains(&want), "{error}");
    }
}

#[test]
fn go_s_nulls_and_java_8_s_frames_are_read() {
    // What dubbo-go sends for any error: a class of its own, three nulls, and a field that Java has not.
    let go = Value::object(
        "java.lang.Throwable",
        [
            ("serialVersionUID", Value::Long(0)),
            ("detailMessage", "from go".into()),
            ("suppressedExceptions", Value::Null),
            ("stackTrace", Value::Null),
            ("cause", Value::Null),
        ],
    );
    let throwable: Throwable = go.to().expect("decodes");
    assert_eq!(throwable.to_string(), "java.lang.Throwable: from go");
    assert!(throwable.cause().is_none() && throwable.stack_trace().is_empty());
    assert_eq!(throwable.get("serialVersionUID"), None);

    let frame = Value::object(
        "java.lang.StackTraceElement",
        [
            ("declaringClass", "a.B".into()),
            ("methodName", "m".into()),
            ("fileName", Value::Null),
            ("lineNumber", Value::Int(-2)),
        ],
    );
    let java8 = Value::object(
        "java.lang.RuntimeException",
        [
            ("detailMessage", "x".into()),
            (
                "stackTrace",
                Value::typed_list("[java.lang.StackTraceElement", [frame]),
            ),
        ],
    );
    let throwable: Throwable = java8.to().expect("decodes");
    assert_eq!(
        throwable.stack_trace()[0].to_string(),
        "a.B.m(Native Method)"
    );
}

#[test]
fn the_map_of_a_generic_call_is_an_exception_too() {
    let cause = Value::map([
        ("class".into(), "a.E".into()),
        ("message".into(), "inner".into()),
    ]);
    let map = Value::map([
        ("class".into(), "com.x.BizException".into()),
        ("message".into(), "outer".into()),
        ("localizedMessage".into(), "outer".into()),
        ("cause".into(), cause),
        ("code".into(), 7.into()),
    ]);
    let throwable: Throwable = map.to().expect("decodes");
    assert_eq!(throwable.to_string(), "com.x.BizException: outer");
    assert_eq!(
        throwable.cause().map(ToString::to_string).as_deref(),
        Some("a.E: inner")
    );
    assert_eq!(throwable.code(), Some(7));
    assert_eq!(throwable.get("localizedMessage"), None);
}

#[test]
fn what_is_no_exception_says_so() {
    for (input, wanted) in [
        ("4e", "null"),
        ("0161", "a string"),
        ("43 01 41 90 60", "\"A\" is no exception"),
        ("48 5a", "no exception"),
    ] {
        let error = from_slice::<Throwable>(&bytes(input)).expect_err(input);
        assert!(error.to_string().contains(wanted), "{input}: {error}");
    }
}

#[test]
fn causes_in_a_circle_end_where_they_close() {
    // a is caused by b, and b by a.
    let fields = "92 0564657461696c 056361757365";
    let fields = fields.replace("0564657461696c", "0d64657461696c4d657373616765");
    let input = format!("43 01 41 {fields} 60 01 61 60 01 62 51 90");
    let throwable: Throwable = from_slice(&bytes(&input)).expect("decodes");
    let cause = throwable.cause().expect("b");
    assert_eq!(cause.message(), Some("b"));
    assert!(cause.cause().is_none());
    to_vec(&throwable).expect("encodes");
}

#[test]
fn exceptions_that_are_shared_a_million_ways_cost_what_was_sent() {
    // Each of 60 exceptions suppresses the next one twice.
    let mut input = bytes(
        "43 01 41 92 0d 64657461696c4d657373616765 14 73757070726573736564457863657074696f6e73",
    );
    let mut closing = Vec::new();
    for level in 0..60_i32 {
        input.extend(bytes("60 01 61 7a"));
        let mut second = bytes("51");
        // Objects have the even numbers, the lists between them the odd ones.
        second.extend(to_vec(&((level + 1) * 2)).expect("encodes"));
        closing.push(second);
    }
    input.extend(bytes("60 01 61 4e"));
    closing
        .iter()
        .rev()
        .for_each(|reference| input.extend(reference));
    let throwable: Throwable = from_slice(&input).expect("decodes");
    assert_eq!(throwable.suppressed().len(), 2);
    assert!(format!("{throwable:?}").len() < 1_000);
    let written = to_vec(&throwable).expect("encodes");
    assert!(written.len() < 2_000, "{} bytes", written.len());
    let again: Throwable = from_slice(&written).expect("decodes");
    assert_eq!(again.suppressed()[1].suppressed().len(), 2);
}

#[test]
fn a_field_that_refers_back_to_its_exception_survives() {
    let input = "43 01 41 92 0d64657461696c4d657373616765 0178 60 01 61 79 51 90";
    let throwable: Throwable = from_slice(&bytes(input)).expect("decodes");
    let written = to_vec(&throwable.clone()).expect("its target is kept alive");
    let again: Throwable = from_slice(&written).expect("decodes");
    let list = again.get("x").and_then(Value::as_list).expect("a list");
    assert_eq!(list.len(), 1);
}

#[test]
fn a_strict_policy_does_not_hide_why_a_call_failed() {
    let arithmetic = to_vec(&Throwable::new(
        "java.lang.ArithmeticException",
        "/ by zero",
    ))
    .expect("encodes");
    let unknown = to_vec(&Throwable::new("com.x.SomeException", "x")).expect("encodes");
    let options = DecodeOptions {
        classes: Some(ClassPolicy::new(CheckMode::Strict).into()),
        ..DecodeOptions::DEFAULT
    };
    for (input, class) in [
        (&arithmetic, "java.lang.ArithmeticException"),
        (&unknown, "com.x.SomeException"),
    ] {
        let mut decoder = Decoder::with_options(input, &options);
        let throwable = Throwable::decode(&mut decoder).expect("an exception is only data");
        assert_eq!(throwable.class(), class);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer<E: Error + 'static>(#[source] E);

#[derive(Debug, thiserror::Error)]
#[error("inner")]
struct Inner;
