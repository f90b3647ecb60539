//! Calls that work, and those whose handlers fail.

use std::sync::Arc;

use dubbo_core::request::Request;
use dubbo_hessian2::Value;
use dubbo_protocol::java::JavaService;
use dubbo_test::peer::dubbo::{Answer, Call, Frame, Said};
use tokio::sync::Notify;

use crate::provider::{GREETER, Provider, STRING, greeter};

#[tokio::test]
async fn a_call_is_answered_with_the_value_or_null() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for (call, want) in [
        (Call::greet("Ada"), Value::from("hello Ada")),
        (Call::of("greet", STRING, &[Value::Null]), Value::Null),
        (Call::of("rest", "", &[]), Value::Null),
        (Call::of("sum", "II", &[1.into(), 2.into()]), Value::Int(3)),
        (
            Call::of("sum", "JJ", &[1_i64.into(), 2_i64.into()]),
            Value::Long(3),
        ),
        // Go has one whole number and no type for nil.
        (Call::of("greet", "V", &[Value::Null]), Value::Null),
        (
            Call::of("$echo", "Ljava/lang/Object;", &["OK".into()]),
            Value::from("OK"),
        ),
    ] {
        assert_eq!(connection.ask(&call).await.value(), want, "{}", call.method);
    }
}

#[tokio::test]
async fn a_generic_call_reaches_the_method_that_it_names() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    let types = "Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/Object;";
    let arguments = [
        Value::from("sum"),
        Value::typed_list("[string", ["int", "int"].map(Value::from)),
        Value::typed_list("[object", [1, 2].map(Value::from)),
    ];
    for method in ["$invoke", "$invokeAsync"] {
        let call = Call::of(method, types, &arguments).with("generic", "true");
        assert_eq!(connection.ask(&call).await.value(), Value::Int(3));
    }
}

#[tokio::test]
async fn a_failure_is_an_exception_that_java_knows() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for (how, class, message) in [
        ("business", "java.lang.RuntimeException", "no such name"),
        ("java", "com.x.NoSuchName", "7"),
        ("denied", "org.apache.dubbo.rpc.RpcException", "not you"),
    ] {
        let answer = connection
            .ask(&Call::of("fail", STRING, &[how.into()]))
            .await;
        let Said::Exception {
            class: got,
            message: text,
        } = answer.said
        else {
            panic!("{:?}", answer.said);
        };
        assert_eq!(got, class);
        assert!(text.contains(message), "{text}");
    }
    let panics = connection
        .ask(&Call::of("fail", STRING, &["it".into()]))
        .await;
    assert_eq!(panics.refused(), (70, "the handler panicked".to_owned()));
    let after = connection.ask(&Call::greet("Ada")).await;
    assert_eq!(after.value(), Value::from("hello Ada"), "other calls go on");
}

#[tokio::test]
async fn answers_come_as_they_are_ready_under_the_ids_of_their_calls() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let service = JavaService::new(GREETER)
        .method("wait", move |_: Request<()>| {
            let gate = Arc::clone(&gate);
            async move {
                gate.notified().await;
                Ok("done".to_owned().into())
            }
        })
        .method("now", async |_: Request<()>| Ok(1.into()));
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    connection
        .send(Call::of("wait", "", &[]).frame(i64::MIN))
        .await;
    for id in [7, -1, i64::MAX] {
        connection.send(Call::of("now", "", &[]).frame(id)).await;
        let answer = Answer::of(&connection.frame().await);
        assert_eq!((answer.id, answer.value()), (id, Value::Int(1)));
    }
    opened.notify_one();
    let answer = Answer::of(&connection.frame().await);
    assert_eq!((answer.id, answer.value()), (i64::MIN, Value::from("done")));
}

#[tokio::test]
async fn requests_may_come_in_any_pieces() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    let many: Vec<u8> = (0..100)
        .flat_map(|id| Call::greet("x").frame(id).encode())
        .collect();
    connection.send_bytes(&many).await;
    let mut ids = Vec::new();
    for _ in 0..100 {
        let answer = Answer::of(&connection.frame().await);
        ids.push(answer.id);
        assert_eq!(answer.value(), Value::from("hello x"));
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());

    for byte in Call::greet("y").frame(1).encode() {
        connection.send_bytes(&[byte]).await;
    }
    assert_eq!(
        Answer::of(&connection.frame().await).value(),
        Value::from("hello y")
    );
}

#[tokio::test]
async fn large_values_go_both_ways() {
    let service = JavaService::new(GREETER).method("echo", async |call: Request<(Vec<u8>,)>| {
        Ok(call.into_message().0.into())
    });
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    for len in [0, 1 << 10, 1 << 16, (79 << 20) / 10] {
        let bytes = Value::Bytes(vec![7; len].into());
        let answer = connection
            .ask(&Call::of("echo", "[B", &[bytes]))
            .await
            .value();
        assert_eq!(answer.as_bytes().map(<[u8]>::len), Some(len));
    }
}

#[tokio::test]
async fn a_handler_knows_who_calls() {
    let service = JavaService::new(GREETER).method("who", async |call: Request<()>| {
        let context = call.context();
        let remote = context.remote_address().expect("over a socket");
        Ok(format!("{} {}", remote.ip(), context.service()).into())
    });
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    let answer = connection.ask(&Call::of("who", "", &[])).await;
    assert_eq!(answer.value(), Value::from(format!("127.0.0.1 {GREETER}")));
}

#[tokio::test]
async fn an_answer_to_nothing_is_dropped() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for frame in [
        Frame::ok(5, [0x92]),
        Frame::new(0, 70, 5, *b"\x02no"),
        Frame::answer(&Frame::heartbeat(5), 20, *b"N"),
        Frame::answer(&Frame::heartbeat(5), 20, *b"NN"),
    ] {
        connection.send(frame).await;
    }
    assert_eq!(
        connection.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
}
