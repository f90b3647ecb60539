//! Services without an IDL over Triple: hessian values in a wrapper (`docs/spec/triple.md` §7).

use std::{collections::HashMap, sync::Arc};

use dubbo_core::{
    call::Stub,
    protocol::{Exporter, Protocol as _},
    provider::Service,
    request::{Request, Response},
    service::ServiceKey,
    status::{Code, Origin, Retry, Status},
    url::Url,
};
use dubbo_hessian2::{Hessian, Value, java::Throwable};
use dubbo_protocol::{
    TripleProtocol,
    java::{Args, JavaService, MethodSpec, Ret, exception_with, thrown, thrown_as},
};
use futures_util::StreamExt as _;

#[derive(Debug, Clone, PartialEq, Hessian)]
#[hessian(class = "com.example.User")]
struct User {
    id: String,
    age: i32,
    friend: Option<Box<Self>>,
}

#[derive(Debug, PartialEq, Hessian)]
#[hessian(class = "com.example.NoSuchUser")]
struct NoSuchUser {
    id: String,
}

fn user(id: &str) -> User {
    User {
        id: id.to_owned(),
        age: 20,
        friend: None,
    }
}

fn users() -> Service {
    JavaService::new("com.example.UserService")
        .method("getUser", async |call: Request<(String,)>| {
            match call.into_message().0.as_str() {
                "nobody" => Ok(None.into()),
                "lost" => Err(exception_with(
                    "no user lost",
                    &NoSuchUser {
                        id: "lost".to_owned(),
                    },
                )),
                id => Ok(Some(user(id)).into()),
            }
        })
        .method("mix", async |call: Request<(String, i32, Option<User>)>| {
            let (id, age, base) = call.into_message();
            Ok(base.map(|base| User { id, age, ..base }).into())
        })
        .method("overload", async |call: Request<(String,)>| {
            Ok(format!("text {}", call.into_message().0).into())
        })
        .method("overload", async |call: Request<(i32,)>| {
            Ok(format!("number {}", call.into_message().0).into())
        })
        .method("fire", async |_: Request<(String,)>| Ok(().into()))
        .method("echo", async |call: Request<(Value,)>| {
            Ok(call.into_message().0.into())
        })
        .method("busy", async |_: Request<()>| {
            Err::<Response<String>, _>(Status::unavailable("come back later"))
        })
        .server_stream("all", async |call: Request<(String,)>| {
            let prefix = call.into_message().0;
            let items = (0..3).map(move |n| Ok(user(&format!("{prefix}{n}"))));
            Ok(Response::stream(futures_util::stream::iter(items)))
        })
        .bidi_stream("each", async |call: Request<_>| {
            let items = call.into_message().map(|item: Result<User, Status>| {
                item.map(|user| User {
                    age: user.age + 1,
                    ..user
                })
            });
            Ok(Response::stream(items))
        })
        .method(
            MethodSpec::new("sum").parameters_as(["int[]"]),
            async |call: Request<(Box<[i32]>,)>| {
                Ok(call.into_message().0.iter().sum::<i32>().into())
            },
        )
        .build()
}

struct Rig {
    stub: Stub,
    _protocol: TripleProtocol,
    _exporter: Box<dyn Exporter>,
}

async fn rig() -> Rig {
    let protocol = TripleProtocol::default();
    let service = users();
    let url = Url::new("tri", "127.0.0.1")
        .with_port(0)
        .with_path("com.example.UserService");
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url.clone());
    let exporter = protocol
        .export(&url, Arc::clone(&descriptor), invoker)
        .await
        .expect("exported");
    let reference = protocol
        .refer(exporter.url(), Arc::clone(&descriptor))
        .await
        .expect("referred");
    let key = ServiceKey::new("com.example.UserService");
    Rig {
        stub: Stub::new(reference, key, descriptor),
        _protocol: protocol,
        _exporter: exporter,
    }
}

impl Rig {
    async fn call<A, R>(&self, method: usize, arguments: A) -> Result<R, Status>
    where
        Args<A>: dubbo_core::payload::Adapter<Message = A>,
        Ret<R>: dubbo_core::payload::Adapter<Message = R>,
    {
        let call = self
            .stub
            .unary::<Args<A>, Ret<R>>(method, Request::new(arguments));
        call.await.map(Response::into_message)
    }
}

#[tokio::test]
async fn values_nulls_and_several_arguments_arrive() {
    let rig = rig().await;
    let found: Option<User> = rig.call(0, ("7".to_owned(),)).await.expect("found");
    assert_eq!(found, Some(user("7")));
    let none: Option<User> = rig.call(0, ("nobody".to_owned(),)).await.expect("null");
    assert_eq!(none, None);
    let base = User {
        friend: Some(Box::new(user("friend"))),
        ..user("base")
    };
    let mixed = (String::from("x"), 30, Some(base.clone()));
    let mixed: Option<User> = rig.call(1, mixed).await.expect("mixed");
    let want = User {
        id: "x".to_owned(),
        age: 30,
        ..base
    };
    assert_eq!(mixed, Some(want));
    let nothing = (String::from("x"), 30, None::<User>);
    let nothing: Option<User> = rig.call(1, nothing).await.expect("null");
    assert_eq!(nothing, None);
    let () = rig.call(4, ("fired".to_owned(),)).await.expect("void");
    let values = Value::from(HashMap::from([("k", Value::from(7_i64))]));
    let echoed: Value = rig.call(5, (values.clone(),)).await.expect("echoed");
    assert_eq!(echoed, values);
    let numbers: Box<[i32]> = Box::from([1, 2, 3]);
    let sum: i32 = rig.call(9, (numbers,)).await.expect("summed");
    assert_eq!(sum, 6);
}

#[tokio::test]
async fn methods_of_one_name_are_told_apart_by_their_types() {
    let rig = rig().await;
    let text: String = rig.call(2, ("a".to_owned(),)).await.expect("text");
    let number: String = rig.call(3, (5,)).await.expect("number");
    assert_eq!([text, number], ["text a", "number 5"]);
}

#[tokio::test]
async fn an_exception_keeps_its_class_and_fields_and_is_never_tried_again() {
    let rig = rig().await;
    let called = rig.call::<_, Option<User>>(0, ("lost".to_owned(),)).await;
    let status = called.expect_err("thrown");
    assert_eq!(
        (status.code(), status.origin(), status.retry()),
        (Code::Business, Origin::Business, Retry::Never)
    );
    let throwable = thrown(&status).expect("an exception");
    assert_eq!(throwable.class(), "com.example.NoSuchUser");
    assert_eq!(throwable.message(), Some("no user lost"));
    let typed: NoSuchUser = thrown_as(&status).expect("its class and fields");
    assert_eq!(typed.id, "lost");
}

#[tokio::test]
async fn what_the_framework_says_goes_as_a_status() {
    let rig = rig().await;
    let called = rig.call::<_, String>(6, ()).await;
    let status = called.expect_err("busy");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(thrown(&status).map(Throwable::class).is_none());
    assert!(status.message().contains("come back later"), "{status}");
}

#[tokio::test]
async fn streams_are_of_values_too() {
    let rig = rig().await;
    let request = Request::new(("p".to_owned(),));
    let all = rig
        .stub
        .server_stream::<Args<(String,)>, Ret<User>>(7, request);
    let all = all.await.expect("begun").into_message();
    let ids: Vec<_> = all.map(|user| user.expect("one").id).collect().await;
    assert_eq!(ids, ["p0", "p1", "p2"]);

    let sent = futures_util::stream::iter([user("a"), user("b")]);
    let each = rig.stub.bidi_stream::<Ret<User>, Ret<User>>(8, sent);
    let each = each.await.expect("begun").into_message();
    let ages: Vec<_> = each.map(|user| user.expect("one").age).collect().await;
    assert_eq!(ages, [21, 21]);
}

/// `TripleResponseWrapper`, as its proto file has it.
#[derive(Clone, PartialEq, prost::Message)]
struct Answered {
    #[prost(string, tag = "1")]
    serialize_type: String,
    #[prost(bytes = "vec", tag = "2")]
    data: Vec<u8>,
    #[prost(string, tag = "3")]
    r#type: String,
}

#[tokio::test]
async fn an_answer_names_its_type_as_java_resolves_it() {
    let service = JavaService::new("com.example.Kinds")
        .method("number", async |_: Request<()>| Ok(7_i32.into()))
        .method("long", async |_: Request<()>| Ok(7_i64.into()))
        .method("flag", async |_: Request<()>| Ok(true.into()))
        .method("text", async |_: Request<()>| Ok("seven".to_owned().into()))
        .method("nothing", async |_: Request<()>| Ok(().into()))
        .build();
    let protocol = TripleProtocol::default();
    let url = Url::new("tri", "127.0.0.1")
        .with_port(0)
        .with_path("com.example.Kinds");
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url.clone());
    let exporter = protocol
        .export(&url, descriptor, invoker)
        .await
        .expect("exported");
    for (method, name, value) in [
        ("number", "int", Value::from(7_i32)),
        ("long", "long", Value::from(7_i64)),
        ("flag", "boolean", Value::from(true)),
        ("text", "java.lang.String", Value::from("seven")),
        ("nothing", "void", Value::Null),
    ] {
        let answered = answered(&exporter.url().address(), method).await;
        assert_eq!(answered.serialize_type, "hessian4", "{method}");
        assert_eq!(answered.r#type, name, "{method}");
        let decoded: Value = dubbo_hessian2::from_slice(&answered.data).expect("hessian");
        assert_eq!(decoded, value, "{method}");
    }
}

/// What `method` of `com.example.Kinds` answers to a caller that encodes as Java does.
async fn answered(address: &str, method: &str) -> Answered {
    let stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("it listens");
    let (client, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    let _connection = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(connection));
    let request = http::Request::post(format!("http://{address}/com.example.Kinds/{method}"))
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .body(())
        .expect("a request");
    let mut client = client.ready().await.expect("room");
    let (response, mut upload) = client.send_request(request, false).expect("sent");
    // The wrapper has one field, `serializeType`: there are no arguments.
    let message = b"\0\0\0\0\x0a\x0a\x08hessian4";
    upload
        .send_data(message.as_slice().into(), true)
        .expect("sent");
    let mut body = response.await.expect("answered").into_body();
    let mut answer = Vec::new();
    while let Some(data) = body.data().await {
        answer.extend(data.expect("not reset"));
    }
    let trailers = body.trailers().await.expect("not reset").expect("some");
    assert_eq!(trailers["grpc-status"], "0", "{method}");
    prost::Message::decode(&answer[5..]).expect("a wrapper")
}
