//! Java interfaces called with JSON, and with hessian values that stand alone (`docs/spec/triple.md` §5.5, §7.4).

use std::collections::BTreeMap;

use bytes::Bytes;
use dubbo_core::{request::Request, status::Status, url::Url};
use dubbo_hessian2::{Hessian, java::Throwable};
use dubbo_protocol::java::{JavaService, MethodSpec, exception};

use crate::{
    greeter::Provider,
    support::{Caller, JSON},
};

#[derive(Debug, Clone, Default, PartialEq, Hessian)]
#[hessian(class = "com.x.User")]
struct User {
    name: Option<String>,
    age: i32,
    tags: Option<Vec<String>>,
}

const INTERFACE: &str = "com.x.Users";

async fn provider() -> Provider {
    let service = JavaService::new(INTERFACE)
        .method("ping", async |_: Request<()>| Ok("pong".to_owned().into()))
        .method("hello", async |call: Request<(String,)>| {
            let (name,) = call.into_message();
            Ok(format!("hello {name}").into())
        })
        .method(
            MethodSpec::new("greet").names(["name", "message"]),
            async |call: Request<(String, String)>| {
                let (name, message) = call.into_message();
                Ok(format!("{message}, {name}").into())
            },
        )
        .method("older", async |call: Request<(User,)>| {
            let (mut user,) = call.into_message();
            user.age += 1;
            Ok(user.into())
        })
        .method("sum", async |call: Request<(Vec<i64>,)>| {
            Ok(call.into_message().0.iter().sum::<i64>().into())
        })
        .method("find", async |call: Request<(i32,)>| {
            Ok(format!("number {}", call.into_message().0).into())
        })
        .method("find", async |call: Request<(String, i32)>| {
            let (name, age) = call.into_message();
            Ok(format!("{name} of {age}").into())
        })
        .method("ages", async |_: Request<()>| {
            Ok(BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]).into())
        })
        .method("nothing", async |call: Request<(Option<String>,)>| {
            assert_eq!(call.into_message().0, None);
            Ok(().into())
        })
        .method("fail", async |_: Request<()>| -> Result<_, Status> {
            let thrown = exception(Throwable::new("com.x.NoSuchUser", "7"));
            Err::<dubbo_core::request::Response<()>, _>(thrown)
        })
        .build();
    let url = Url::new("tri", "127.0.0.1")
        .with_port(0)
        .with_path(INTERFACE);
    Provider::at(&url, service).await
}

#[tokio::test]
async fn arguments_are_written_as_people_write_them() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (method, body, want) in [
            ("greet", "[\"Dubbo\",\"hi\"]", "\"hi, Dubbo\""),
            (
                "greet",
                "{\"name\":\"Dubbo\",\"message\":\"hi\"}",
                "\"hi, Dubbo\"",
            ),
            ("hello", "\"Dubbo\"", "\"hello Dubbo\""),
            ("hello", "[\"Dubbo\"]", "\"hello Dubbo\""),
            (
                "older",
                "{\"name\":\"u\",\"age\":41,\"tags\":[\"a\"]}",
                "{\"name\":\"u\",\"age\":42,\"tags\":[\"a\"]}",
            ),
            (
                "older",
                "[{\"age\":1}]",
                "{\"name\":null,\"age\":2,\"tags\":null}",
            ),
            ("sum", "[1,2,3]", "6"),
            ("ping", "", "\"pong\""),
            ("ping", "[]", "\"pong\""),
            ("find", "7", "\"number 7\""),
            ("find", "[\"u\",7]", "\"u of 7\""),
            ("ages", "", "{\"a\":1,\"b\":2}"),
            ("nothing", "null", "null"),
        ] {
            let answer = caller.json(&format!("/{INTERFACE}/{method}"), body).await;
            assert_eq!(
                (answer.status, answer.text()),
                (200, want),
                "{method} {body}"
            );
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
    }
}

#[tokio::test]
async fn an_argument_that_does_not_fit_is_named() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (method, body, part) in [
            (
                "greet",
                "[\"Dubbo\"]",
                "argument 2 of 2, `message` (`java.lang.String`) is missing",
            ),
            (
                "greet",
                "{\"name\":\"Dubbo\"}",
                "`message` (`java.lang.String`) is missing",
            ),
            (
                "greet",
                "{\"name\":1,\"message\":2,\"x\":3}",
                "no argument called \"x\"",
            ),
            ("greet", "[1,2,3]", "argument 3 is one too many"),
            ("greet", "\"Dubbo\"", "takes 2 arguments"),
            (
                "hello",
                "",
                "argument 1 of 1 (`java.lang.String`) is missing",
            ),
            ("hello", "[\"a\",\"b\"]", "argument 2 is one too many"),
            ("ping", "1", "takes no argument"),
            (
                "sum",
                "[1,\"x\"]",
                "is not usable: argument 1 of 1 (`java.util.List`), at `[1]`: expected a long, found a string",
            ),
            (
                "sum",
                "[1,2.5]",
                "argument 1 of 1 (`java.util.List`), at `[1]`: ",
            ),
            (
                "greet",
                "[\"Dubbo\",7]",
                "argument 2 of 2, `message` (`java.lang.String`): expected a string, found an int",
            ),
            (
                "greet",
                "{\"message\":{},\"name\":\"Dubbo\"}",
                "argument 2 of 2, `message` (`java.lang.String`): expected a string, found a map",
            ),
            (
                "older",
                "{\"name\":\"u\",\"age\":\"41\"}",
                "argument 1 of 1 (`com.x.User`), at `.age`: expected an int, found a string",
            ),
            (
                "older",
                "{\"tags\":[\"a\",[]]}",
                "argument 1 of 1 (`com.x.User`), at `.tags[1]`: expected a string, found a list",
            ),
            (
                "older",
                "{\"age\":4000000000}",
                "argument 1 of 1 (`com.x.User`), at `.age`: 4000000000 does not fit into int",
            ),
            (
                "older",
                "[[]]",
                "argument 1 of 1 (`com.x.User`): expected an object, found a list",
            ),
            (
                "older",
                "[null]",
                "argument 1 of 1 (`com.x.User`): null where com.x.User is required",
            ),
            (
                "find",
                "2147483648",
                "argument 1 of 1 (`int`): 2147483648 does not fit into int",
            ),
            ("find", "[1,2,3]", "fits none of them: `find(int)`"),
            ("hello", "{bad", "not usable"),
        ] {
            let answer = caller.json(&format!("/{INTERFACE}/{method}"), body).await;
            let (status, code, message) = answer.refused();
            assert_eq!(
                (status, &*code),
                (400, "invalid_argument"),
                "{method} {body}: {message}"
            );
            assert!(message.contains(part), "{method} {body}: {message}");
            // What the caller did not write: the names of Rust, and places in bytes of hessian.
            for foreign in ["::", "hessian", "at byte", "Option", "struct", "i32", "i64"] {
                let is_json = foreign == "at byte" && message.contains("no JSON");
                assert!(
                    is_json || !message.contains(foreign),
                    "{method} {body}: {message}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_exception_is_told_by_its_class_and_its_text() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for content in [JSON, ("content-type", "application/hessian2")] {
            let body: &[u8] = if content == JSON {
                b""
            } else {
                b"\x0a\x08hessian2"
            };
            let path = format!("/{INTERFACE}/fail");
            let headers = [content, ("user-agent", "curl/8")];
            let answer = caller
                .call("POST", &path, &headers, Bytes::from_static(body))
                .await;
            let want = (500, "unknown".to_owned(), "com.x.NoSuchUser: 7".to_owned());
            assert_eq!(answer.refused(), want);
            assert_eq!(answer.header("tri-exception-code"), Some("3"));
        }
    }
}

#[tokio::test]
async fn hessian_values_stand_in_their_wrapper_without_an_envelope() {
    let provider = provider().await;
    let path = format!("/{INTERFACE}/hello");
    let string = b"\x1a\x10java.lang.String";
    for mut caller in Caller::both(provider.address).await {
        for content in ["application/hessian2", "application/proto"] {
            for language in ["hessian2", "hessian4"] {
                let wrapped = |value: &[u8]| {
                    let length = u8::try_from(value.len()).expect("short");
                    let parts = [
                        &b"\x0a\x08"[..],
                        language.as_bytes(),
                        &[0x12, length],
                        value,
                    ];
                    [&parts.concat()[..], string].concat()
                };
                let headers = [("content-type", content)];
                let answer = caller
                    .call("POST", &path, &headers, wrapped(b"\x02Hi"))
                    .await;
                assert_eq!(answer.status, 200, "{answer:?}");
                assert_eq!(answer.header("content-type"), Some(content));
                assert_eq!(answer.body, wrapped(b"\x08hello Hi"));
            }
        }
        let headers = [("content-type", "application/hessian2")];
        let answer = caller.call("POST", &path, &headers, "no wrapper").await;
        let (status, code, message) = answer.refused();
        assert_eq!((status, &*code), (400, "invalid_argument"));
        assert!(message.contains("no Triple wrapper"), "{message}");
    }
}
