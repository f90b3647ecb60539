//! Calls by name, with values of any shape.

use dubbo_core::{
    request::Request,
    status::{Code, Retry},
};
use dubbo_hessian2::{
    Value,
    java::{BigDecimal, LocalDate},
};
use dubbo_protocol::java::{Args, GenericClient, GenericMode, JavaValue, Ret, thrown};

use super::users::{Exported, User, service};

const STRING: Option<&[&str]> = Some(&["java.lang.String"]);
const FOR_JAVA: [GenericMode; 4] = [
    GenericMode::Map,
    GenericMode::Gson,
    GenericMode::Bean,
    GenericMode::RawReturn,
];

fn entry<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.as_typed_map()?.get(name)
}

#[tokio::test]
async fn every_mode_calls_with_values_and_gives_values() {
    for exported in Exported::everywhere(service).await {
        for mode in FOR_JAVA {
            let client = exported.generic().with_mode(mode);
            let hello = client.invoke("hello", STRING, vec!["x".into()]).await;
            assert_eq!(
                hello.expect("it works").into_message(),
                "hello x".into(),
                "{mode}"
            );
            let null = client.invoke("returnNull", Some(&[]), vec![]).await;
            assert_eq!(
                null.expect("it works").into_message(),
                Value::Null,
                "{mode}"
            );
            let void = client.invoke("doVoid", STRING, vec!["x".into()]).await;
            assert_eq!(
                void.expect("it works").into_message(),
                Value::Null,
                "{mode}"
            );

            let user = Value::of(&User::of("u")).expect("written");
            let args = vec!["a".into(), 2.into(), user];
            let types = ["java.lang.String", "int", "org.apache.dubbo.interop.User"];
            let three = client.invoke("three", Some(&types), args).await;
            assert_eq!(
                three.expect("it works").into_message(),
                "a|2|u".into(),
                "{mode}"
            );
        }
    }
}

#[tokio::test]
async fn an_object_is_what_its_mode_makes_of_it() {
    for exported in Exported::everywhere(service).await {
        let user = async |mode| {
            let client = exported.generic().with_mode(mode);
            let user = client.invoke("getUser", STRING, vec!["1".into()]).await;
            user.expect("it works").into_message()
        };
        let map = user(GenericMode::Map).await;
        let class = entry(&map, "class").and_then(Value::as_str);
        assert_eq!(class, Some("org.apache.dubbo.interop.User"));
        assert_eq!(entry(&map, "gender"), Some(&"FEMALE".into()));
        assert_eq!(
            entry(&map, "birth").and_then(Value::as_date),
            Some(1_500_000_000_123)
        );

        let json = user(GenericMode::Gson).await;
        assert_eq!(entry(&json, "class"), None);
        assert_eq!(
            entry(&json, "birth"),
            Some(&"2017-07-14T02:40:00.123Z".into())
        );

        for mode in [GenericMode::Bean, GenericMode::RawReturn] {
            let object = user(mode).await;
            let object = object.as_object().expect("an object");
            assert_eq!(object.class(), "org.apache.dubbo.interop.User", "{mode}");
        }
        for mode in FOR_JAVA {
            let value = user(mode).await;
            assert_eq!(value.to::<User>().expect("a user"), User::of("1"), "{mode}");
        }
    }
}

#[tokio::test]
async fn a_result_comes_as_the_type_that_is_asked_for() {
    async fn called<T: JavaValue>(client: &GenericClient, method: &str, arg: Value) -> T {
        let answer = client.invoke_as::<T>(method, None, vec![arg]).await;
        answer.expect("it works").into_message()
    }
    for exported in Exported::everywhere(service).await {
        for mode in FOR_JAVA {
            let client = exported.generic().with_mode(mode);
            let user = called::<User>(&client, "getUser", "1".into()).await;
            assert_eq!(user, User::of("1"), "{mode}");
            let ids = Value::list(["1".into(), "2".into()]);
            let users = called::<Vec<User>>(&client, "getUsers", ids).await;
            assert_eq!(users, [User::of("1"), User::of("2")], "{mode}");
            let date: LocalDate = called(&client, "echoLocalDate", "2024-02-29".into()).await;
            assert_eq!(date.to_string(), "2024-02-29", "{mode}");
            let number: BigDecimal = "100.5494959494355".parse().expect("a number");
            let sent = Value::of(&number).expect("written");
            let decimal = called::<BigDecimal>(&client, "echoBigDecimal", sent).await;
            assert_eq!(decimal, number, "{mode}");
        }
        let client = exported.generic();
        let status = client
            .invoke_as::<User>("hello", STRING, vec!["x".into()])
            .await;
        let status = status.expect_err("a string is no user");
        assert_eq!(status.code(), Code::Internal);
        assert!(status.message().contains("the response of"), "{status}");
    }
}

#[tokio::test]
async fn json_goes_in_and_comes_out() {
    for exported in Exported::everywhere(service).await {
        for mode in [GenericMode::Map, GenericMode::Gson, GenericMode::RawReturn] {
            let client = exported.generic().with_mode(mode);
            for (method, args, want) in [
                ("hello", r#"["x"]"#, r#""hello x""#),
                ("echoInt", "[5]", "5"),
                ("noArgs", "[]", r#""no-args""#),
                ("returnNull", "[]", "null"),
                ("overload", r#"["a",2]"#, r#""SI:a2""#),
                ("sum", "[[1,2,3]]", "6"),
                (
                    "three",
                    r#"["a",2,{"id":"u","gender":"MALE"}]"#,
                    r#""a|2|u""#,
                ),
                ("echoLocalDate", r#"["2024-02-29"]"#, r#""2024-02-29""#),
                ("echoBigDecimal", "[100.5]", "100.5"),
            ] {
                let call = client.invoke_json(method, None, args).expect("JSON");
                let json = call.await.expect(method);
                assert_eq!(json.message(), want, "{method} {mode}");
            }
            let call = client
                .invoke_json("getUser", None, r#"["1"]"#)
                .expect("JSON");
            let json: serde_json::Value =
                serde_json::from_str(call.await.expect("it works").message()).expect("JSON");
            assert_eq!(json["photo"], serde_json::json!([0, 1, -2, -1]), "{mode}");
            assert_eq!(json["birth"], "2017-07-14T02:40:00.123Z", "{mode}");
            assert_eq!(json["gender"], "FEMALE", "{mode}");
        }
        let client = exported.generic();
        for (args, part) in [
            ("", "no JSON"),
            ("[1", "no JSON"),
            (r#"{"a":1}"#, "they are a map"),
            ("7", "they are"),
        ] {
            let status = client
                .invoke_json("hello", None, args)
                .expect_err("no array");
            assert_eq!(status.code(), Code::InvalidArgument);
            assert!(status.message().contains(part), "{status}");
        }
    }
}

#[tokio::test]
async fn the_method_is_chosen_by_types_and_without_them_by_count() {
    for exported in Exported::everywhere(service).await {
        let client = exported.generic();
        let text = || vec!["a".into()];
        let list = || vec![Value::list([1.into(), 2.into()])];
        for (method, types, args, want) in [
            ("overload", STRING, text(), "S:a".into()),
            ("overload", Some(&["int"][..]), vec![3.into()], "I:3".into()),
            ("overload", None, vec!["a".into(), 2.into()], "SI:a2".into()),
            ("Hello", STRING, text(), "hello a".into()),
            // Callers of other languages know no Java types.
            ("hello", Some(&["V"]), text(), "hello a".into()),
            ("hello", None, text(), "hello a".into()),
            // dubbo-go's way to say none.
            ("hello", Some(&[]), text(), "hello a".into()),
            ("sum", Some(&["int[]"]), list(), Value::Long(3)),
            ("sum", Some(&["[I"]), list(), Value::Long(3)),
            ("sum", Some(&["java.util.List"]), list(), Value::Long(3)),
        ] {
            let answer = client.invoke(method, types, args).await;
            assert_eq!(
                answer.expect(method).into_message(),
                want,
                "{method} {types:?}"
            );
        }
        let all = "overload(java.lang.String), overload(int), overload(java.lang.String, int)";
        for (method, types, args, code, part) in [
            (
                "nope",
                STRING,
                text(),
                Code::Unimplemented,
                "has no method `nope`; there are getUser",
            ),
            (
                "overload",
                Some(&["long"][..]),
                text(),
                Code::Unimplemented,
                all,
            ),
            (
                "overload",
                None,
                text(),
                Code::Unimplemented,
                "name the types of the parameters",
            ),
            ("overload", None, text(), Code::Unimplemented, all),
            (
                "hello",
                None,
                vec![],
                Code::Unimplemented,
                "no method `hello` with 0 parameters",
            ),
            (
                "hello",
                STRING,
                vec![],
                Code::InvalidArgument,
                "with 1 parameter types and 0 arguments",
            ),
            (
                "count",
                Some(&["int"]),
                vec![3.into()],
                Code::Unimplemented,
                "count is a stream",
            ),
            (
                "$invoke",
                None,
                vec!["a".into(); 3],
                Code::Unimplemented,
                "has no method `$invoke`",
            ),
            (
                "$echo",
                None,
                text(),
                Code::Unimplemented,
                "has no method `$echo`",
            ),
        ] {
            let status = client.invoke(method, types, args).await.expect_err(method);
            assert_eq!(
                (status.code(), status.retry()),
                (code, Retry::Never),
                "{status}"
            );
            assert!(status.message().contains(part), "{status}");
        }
    }
}

#[tokio::test]
async fn an_argument_that_does_not_fit_is_told_with_its_place() {
    for exported in Exported::everywhere(service).await {
        for mode in FOR_JAVA {
            let part = "argument 1 of 1 (`int`): expected";
            let client = exported.generic().with_mode(mode);
            let status = client
                .invoke("echoInt", Some(&["int"]), vec!["x".into()])
                .await;
            let status = status.expect_err("no number");
            assert_eq!(status.code(), Code::InvalidArgument, "{status}");
            assert_ne!(status.retry(), Retry::Ambiguous, "{status}");
            assert!(status.message().contains(part), "{status}");
        }
    }
}

#[tokio::test]
async fn an_exception_surfaces_with_class_and_message() {
    for exported in Exported::everywhere(service).await {
        for mode in FOR_JAVA {
            let client = exported.generic().with_mode(mode);
            for (method, class, message) in [
                (
                    "throwChecked",
                    "org.apache.dubbo.interop.UserException",
                    "bad",
                ),
                ("throwRuntime", "java.lang.RuntimeException", "bad"),
            ] {
                let status = client.invoke(method, STRING, vec!["bad".into()]).await;
                let status = status.expect_err("it throws");
                assert_eq!(
                    (status.code(), status.retry()),
                    (Code::Business, Retry::Never),
                    "{mode}"
                );
                assert_eq!(status.message(), format!("{class}: {message}"));
                let throwable = thrown(&status).expect("it was thrown");
                assert_eq!(
                    (throwable.class(), throwable.message()),
                    (class, Some(message))
                );
            }
        }
        let client = exported.generic();
        let status = client
            .invoke("refuse", None, vec![])
            .await
            .expect_err("it refuses");
        assert_eq!(
            thrown(&status).map(ToString::to_string).as_deref(),
            Some("java.lang.RuntimeException: no")
        );
        let status = client
            .invoke("notFound", None, vec![])
            .await
            .expect_err("not found");
        assert_eq!(
            (status.code(), status.message()),
            (Code::NotFound, "no user 7")
        );
    }
}

#[tokio::test]
async fn a_result_that_its_mode_cannot_say_is_an_error_that_nobody_tries_again() {
    for exported in Exported::everywhere(service).await {
        let client = exported.generic().with_mode(GenericMode::Gson);
        let status = client.invoke("notANumber", None, vec![]).await;
        let status = status.expect_err("JSON has no such number");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::Internal, Retry::Never),
            "{} {status}",
            exported.over
        );
        let part = "UserService/notANumber cannot be written with generic=gson: JSON has no number";
        assert!(status.message().contains(part), "{status}");
    }
}

#[tokio::test]
async fn attachments_headers_and_trailers_go_along() {
    for exported in Exported::everywhere(service).await {
        let client = exported.generic();
        let answer = client
            .invoke("attachment", STRING, vec!["tenant".into()])
            .attach("tenant", "blue")
            .await
            .expect("it works");
        assert_eq!(answer.message(), &"blue".into());
        assert_eq!(answer.attachment("seen"), Some("yes"));
    }
}

#[tokio::test]
async fn echo_gives_back_what_it_got() {
    for exported in Exported::everywhere(service).await {
        let client = exported.generic();
        let user = Value::of(&User::of("1")).expect("written");
        for value in [Value::Null, "OK".into(), 7.into(), user] {
            let echoed = client.echo(value.clone()).await.expect("it works");
            assert_eq!(echoed.into_message(), value);
        }
    }
}

/// `$invoke` as others than [`GenericClient`] call it.
async fn asked(
    exported: &Exported,
    method: usize,
    mode: Option<&str>,
    args: &[Value],
) -> Result<Value, dubbo_core::status::Status> {
    type Invoke = Args<(String, Option<Box<[String]>>, Box<[Value]>)>;
    let stub = exported.stub(GenericClient::descriptor("any"));
    let types = Some(["java.lang.String".to_owned()].into());
    let mut request = Request::new(("hello".to_owned(), types, args.to_vec().into()));
    if let Some(mode) = mode {
        request = request.attach("generic", mode.to_owned());
    }
    let answer = stub.unary::<Invoke, Ret<Value>>(method, request).await?;
    Ok(answer.into_message())
}

#[tokio::test]
async fn the_mode_is_true_unless_it_is_named_and_an_unknown_one_is_refused_by_name() {
    for exported in Exported::everywhere(service).await {
        for (mode, arg, want) in [
            (None, "x", "hello x"),
            (Some(""), "x", "hello x"),
            (Some("true"), "x", "hello x"),
            (Some("TRUE"), "x", "hello x"),
            (Some("raw.return"), "x", "hello x"),
            (Some("gson"), r#""x""#, r#""hello x""#),
            // As gson reads text that is no JSON, or another scalar, where a string is wanted.
            (Some("gson"), "x y", r#""hello x y""#),
            (Some("gson"), "12", r#""hello 12""#),
        ] {
            for method in [0, 1] {
                let answer = asked(&exported, method, mode, &[arg.into()]).await;
                assert_eq!(answer.expect("it works"), want.into(), "{mode:?}");
            }
        }
        for mode in ["nativejava", "protobuf", "false"] {
            let status = asked(&exported, 0, Some(mode), &["x".into()])
                .await
                .expect_err(mode);
            assert_eq!(
                (status.code(), status.retry()),
                (Code::Unimplemented, Retry::Never)
            );
            let part = format!("generic={mode} are not supported; use true, gson, bean");
            assert!(status.message().contains(&part), "{status}");
        }
        for (mode, arg, part) in [
            (
                "gson",
                7.into(),
                "argument 1 of 1 of org.apache.dubbo.interop.UserService/hello",
            ),
            ("gson", Value::list([]), "not JSON text"),
            ("bean", "x".into(), "JavaBeanDescriptor without className"),
        ] {
            let status = asked(&exported, 0, Some(mode), &[arg])
                .await
                .expect_err(mode);
            assert_eq!(status.code(), Code::InvalidArgument);
            assert!(status.message().contains(part), "{status}");
        }
        let status = asked(&exported, 0, Some("protobuf-json"), &["{}".into()]).await;
        let status = status.expect_err("no IDL");
        let part = "takes hessian values, which generic=protobuf-json is not for; use true, gson";
        assert!(status.message().contains(part), "{status}");
    }
}
