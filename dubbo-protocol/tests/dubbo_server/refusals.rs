//! Calls that reach no handler, and answers that cannot be sent: a status and a text.

use dubbo_core::{
    request::{Request, Response},
    streaming::Streaming,
};
use dubbo_hessian2::Value;
use dubbo_protocol::java::JavaService;
use dubbo_test::peer::dubbo::{Answer, Call, Frame};

use crate::provider::{GREETER, Provider, STRING, export, greeter, url};

#[tokio::test]
async fn a_service_that_is_not_there_is_refused_with_what_is() {
    let mut provider = Provider::of(greeter()).await;
    let at = url()
        .with_port(provider.address.port())
        .with_param("group", "g")
        .with_param("version", "1.0.0");
    let exporter = export(&provider.protocol, &at, greeter()).await;
    provider.exporters.push(exporter.expect("another key"));
    let mut connection = provider.connect().await;

    let direct = Call::greet("x")
        .with("interface", GREETER)
        .with("group", "g")
        .with("version", "1.0.0");
    let answer = connection.ask(&direct).await;
    assert_eq!(answer.value(), Value::from("hello x"));

    let other_version = Call::greet("x").with("group", "g").with("version", "2.0.0");
    let (status, text) = connection.ask(&other_version).await.refused();
    assert_eq!(status, 40);
    for part in [
        "`g/org.apache.dubbo.sample.Greeter:2.0.0`",
        "`g/org.apache.dubbo.sample.Greeter:1.0.0`",
    ] {
        assert!(text.contains(part), "{text}");
    }

    let mut other = Call::greet("x");
    other.attachments = Some(vec![("path", "x.Other".into())]);
    let (status, text) = connection.ask(&other).await.refused();
    assert_eq!(status, 40);
    assert!(
        text.starts_with("Not found exported service: `x.Other`"),
        "{text}"
    );
    assert!(text.contains("`org.apache.dubbo.sample.Greeter`"), "{text}");
}

#[tokio::test]
async fn a_method_that_is_not_there_is_refused_with_those_that_are() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for (method, types, arguments, part) in [
        ("nope", "", &[][..], "there are greet, sum, rest, fail"),
        ("sum", "V", &[Value::Null], "sum(int, int), sum(long, long)"),
        (
            "sum",
            "VV",
            &[Value::Null, Value::Null],
            "sum(int, int), sum(long, long)",
        ),
        ("greet", "nonsense", &[], "no list of JVM type descriptors"),
    ] {
        let (status, text) = connection
            .ask(&Call::of(method, types, arguments))
            .await
            .refused();
        assert_eq!(status, 40);
        assert!(
            text.starts_with("Fail to decode request due to: "),
            "{text}"
        );
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_refused_and_the_next_one_served() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    let good = Call::greet("x").body();
    for (body, part) in [
        (vec![], "the protocol version"),
        (b"E".to_vec(), "the protocol version"),
        (vec![0x91], "the protocol version"),
        (good[..good.len() / 4].to_vec(), "the service path"),
        // A list that claims two thousand million items, and a string that claims as many bytes as there are.
        (
            body_then(Call::of("greet", STRING, &[]), b"X\x49\x7f\xff\xff\xff"),
            "the arguments",
        ),
        (
            body_then(Call::of("greet", STRING, &[]), b"S\xff\xffab"),
            "the arguments",
        ),
        (
            body_then(Call::of("rest", "", &[]), b"\x91"),
            "the attachments",
        ),
        // Read by its types, and not by what the method takes.
        (
            Call::of("sum", "II", &["a".into(), "b".into()]).body(),
            "argument 1",
        ),
        (
            Call::of("greet", STRING, &[Value::list([])]).body(),
            "argument 1",
        ),
    ] {
        connection.send(Frame::call(5, body.clone())).await;
        let answer = Answer::of(&connection.frame().await);
        assert_eq!(answer.id, 5);
        let (status, text) = answer.refused();
        assert_eq!(status, 40, "{body:?}: {text}");
        assert!(
            text.starts_with("Fail to decode request due to: "),
            "{text}"
        );
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(
        connection.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
}

/// The body of `call` up to the arguments, and then `rest`.
fn body_then(call: Call, rest: &[u8]) -> Vec<u8> {
    let call = Call {
        attachments: None,
        ..call
    };
    [&call.body(), rest].concat()
}

#[tokio::test]
async fn another_serialization_is_refused_in_hessian() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for serialization in [0, 3, 21, 23, 31] {
        let mut frame = Call::greet("x").frame(1);
        frame.flags = 0xc0 | serialization;
        connection.send(frame).await;
        let answer = connection.frame().await;
        assert_eq!(answer.flags, 2);
        let (status, text) = Answer::of(&answer).refused();
        assert_eq!(status, 40);
        assert!(text.contains(&format!("id {serialization} ")), "{text}");
    }
}

#[tokio::test]
async fn a_callback_is_refused() {
    let service = JavaService::new(GREETER)
        .method("notify", async |_: Request<(String, Option<Value>)>| {
            Ok(().into())
        });
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    let types = "Ljava/lang/String;Ljava/lang/Object;";
    let plain = Call::of("notify", types, &["x".into(), Value::Null]);
    assert_eq!(connection.ask(&plain).await.value(), Value::Null);
    let callback = plain.with("sys_callback_arg-1", "1234");
    let (status, text) = connection.ask(&callback).await.refused();
    assert_eq!(status, 40);
    assert!(
        text.contains("argument 1 of `notify` is a callback"),
        "{text}"
    );
}

#[tokio::test]
async fn a_method_that_streams_is_refused() {
    let service = JavaService::new(GREETER).server_stream("many", async |_: Request<()>| {
        let none = futures_util::stream::empty();
        Ok(Response::<Streaming<String>>::stream(none))
    });
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    let (status, text) = connection.ask(&Call::of("many", "", &[])).await.refused();
    assert_eq!(status, 40);
    assert!(text.contains("streams") && text.contains("`tri`"), "{text}");
}

#[tokio::test]
async fn a_result_that_cannot_be_sent_is_an_error_and_not_silence() {
    /// Nests deeper than hessian goes.
    fn deep() -> Value {
        (0..2000).fold(Value::Null, |inner, _| Value::list([inner]))
    }
    let service = JavaService::new(GREETER)
        .method("deep", async |_: Request<()>| Ok(deep().into()))
        .method("large", async |call: Request<(i32,)>| {
            let len = usize::try_from(call.message().0).expect("a length");
            Ok("x".repeat(len).into())
        })
        .method("laden", async |call: Request<(bool,)>| {
            call.context().reply().trailer("big", "x".repeat(70_000));
            if call.message().0 {
                return Ok(1.into());
            }
            Err::<Response<i32>, _>(dubbo_core::status::Status::business("no"))
        })
        .method("largeError", async |_: Request<()>| {
            Err::<Response<()>, _>(dubbo_core::status::Status::business("x".repeat(5000)))
        });
    let provider = Provider::at(&url().with_param("payload", "1000"), service).await;
    let mut connection = provider.connect().await;
    let (status, text) = connection.ask(&Call::of("deep", "", &[])).await.refused();
    assert_eq!(status, 50);
    assert!(text.starts_with("Failed to send response: "), "{text}");
    assert!(text.ends_with(&format!("of {GREETER}/deep")), "{text}");
    for succeeds in [true, false] {
        let call = Call::of("laden", "Z", &[succeeds.into()]);
        let (status, text) = connection.ask(&call).await.refused();
        assert_eq!(status, 50, "callers never repeat it");
        for part in [
            "`big` with 70000 bytes",
            "1024 with 65536",
            "it is of",
            "/laden",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
    for call in [
        Call::of("large", "I", &[1000.into()]),
        Call::of("largeError", "", &[]),
    ] {
        let (status, text) = connection.ask(&call).await.refused();
        assert_eq!(status, 25);
        let of = format!("of the answer of {GREETER}/{}", call.method);
        assert!(text.contains(&of), "{text}");
        assert!(text.starts_with("Data length too large: "), "{text}");
        assert!(text.contains(", max payload: 1000"), "{text}");
    }
    let answer = connection.ask(&Call::of("large", "I", &[10.into()])).await;
    assert_eq!(answer.value(), Value::from("xxxxxxxxxx"));
}

#[tokio::test]
async fn a_request_over_the_limit_is_refused_and_read_over() {
    let provider = Provider::at(&url().with_param("payload", "1000"), greeter()).await;
    let mut connection = provider.connect().await;
    let large = Call::greet(&"x".repeat(1200));
    let len = large.body().len();
    let (status, text) = connection.ask(&large).await.refused();
    assert_eq!(status, 40);
    for part in [
        format!("Data length too large: {len}, max payload: 1000. "),
        "`payload` in `dubbo.provider.services.<name>.params` or `dubbo.protocols.<id>.params`"
            .to_owned(),
    ] {
        assert!(text.contains(&part), "{text}");
    }
    assert_eq!(
        connection.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );

    let mut endless = Call::greet("x").frame(9);
    endless.claimed = Some(i32::MAX);
    connection.send(endless).await;
    let answer = Answer::of(&connection.frame().await);
    assert_eq!((answer.id, answer.refused().0), (9, 40));
    connection.closed().await;
}

#[tokio::test]
async fn each_service_has_its_own_limit() {
    let mut provider = Provider::at(&url().with_param("payload", "1000"), greeter()).await;
    let at = url()
        .with_port(provider.address.port())
        .with_param("version", "2");
    let exporter = export(&provider.protocol, &at, greeter()).await;
    provider.exporters.push(exporter.expect("another key"));
    let mut connection = provider.connect().await;
    let large = Call::greet(&"x".repeat(5000));
    let (status, text) = connection.ask(&large).await.refused();
    assert_eq!(status, 40);
    assert!(text.contains("max payload: 1000"), "{text}");
    let of = format!("of the request to {GREETER}/greet");
    assert!(text.contains(&of), "{text}");
    let other = large.with("version", "2");
    assert!(matches!(
        connection.ask(&other).await.value(),
        Value::String(_)
    ));
}
