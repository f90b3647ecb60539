//! What travels beside arguments and results.

use std::sync::Arc;

use dubbo_core::{
    attachments::AttachmentValue,
    provider::Service,
    request::{Request, Response},
    status::Status,
};
use dubbo_hessian2::Value;
use dubbo_protocol::java::{Args, JavaService, MethodSpec, Ret, descriptor};
use dubbo_test::peer::dubbo::{Answer, Call, Said};

use crate::provider::{GREETER, Provider};

/// Answers with the names and values of the attachments that the handler sees.
fn mirror() -> JavaService {
    JavaService::new(GREETER).method("seen", async |call: Request<()>| {
        let mut seen: Vec<_> = call
            .attachments()
            .iter()
            .map(|(name, value)| match value {
                AttachmentValue::Text(text) => format!("{name}={text}"),
                AttachmentValue::Binary(bytes) => format!("{name}:{bytes:?}"),
                other => format!("{name}?{other:?}"),
            })
            .collect();
        seen.sort();
        Ok(seen.join(" ").into())
    })
}

#[tokio::test]
async fn a_handler_sees_what_was_not_for_the_protocol() {
    let provider = Provider::of(mirror()).await;
    let mut connection = provider.connect().await;
    let own = Call::of("seen", "", &[])
        .with("interface", GREETER)
        .with("version", "0.0.0")
        .with("group", "")
        .with("dubbo", "2.0.2")
        .with("timeout", "3000")
        .with("_TO", 2999)
        .with("async", "false");
    assert_eq!(connection.ask(&own).await.value(), Value::from(""));
    let users = own
        .with("TraceId", "abc")
        .with("city", "上海")
        .with("token", "secret")
        .with("n", 3)
        .with("flag", true)
        .with("half", 0.5)
        .with("bytes", Value::Bytes(b"\x01\x02".as_slice().into()))
        .with("list", Value::list(["a".into(), "b".into()]));
    assert_eq!(
        connection.ask(&users).await.value(),
        Value::from(
            "TraceId=abc bytes:b\"\\x01\\x02\" city=上海 flag=true half=0.5 list=a list=b n=3 token=secret"
        )
    );
}

#[tokio::test]
async fn attachments_may_be_absent_null_or_empty() {
    let provider = Provider::of(mirror()).await;
    let mut connection = provider.connect().await;
    let mut call = Call::of("seen", "", &[]);
    call.attachments = None;
    let bare = call.body();
    for end in [&b""[..], b"N", b"\0", b"HZ", b"M\x01aZ", b"HZ\xff\xff"] {
        let body = [&bare[..], end].concat();
        connection
            .send(dubbo_test::peer::dubbo::Frame::call(1, body))
            .await;
        let answer = Answer::of(&connection.frame().await);
        assert_eq!(answer.value(), Value::from(""), "{end:?}");
    }
}

/// Adds headers and trailers in all ways that there are, and fails if told to.
fn generous() -> Service {
    let method = MethodSpec::new("give")
        .parameters_as(["boolean"])
        .returns("java.lang.String");
    let descriptor = Arc::new(descriptor(GREETER, None, None, vec![method]));
    let give = async |call: Request<(bool,)>| {
        call.context()
            .reply()
            .header("early", "1")
            .expect("in time");
        call.context().reply().trailer("late", "2");
        if call.message().0 {
            let mut status = Status::business("no");
            status.attachments_mut().insert("beside", "3");
            return Err(status);
        }
        Ok(Response::new("here".to_owned()).header("beside", "3"))
    };
    Service::builder(descriptor, "Generous")
        .unary::<Args<(bool,)>, Ret<String>, _, _>(0, give)
        .build()
}

#[tokio::test]
async fn an_answer_carries_headers_and_trailers_behind_the_protocol_version() {
    let provider = Provider::of(generous()).await;
    let mut connection = provider.connect().await;
    for fails in [false, true] {
        let answer = connection
            .ask(&Call::of("give", "Z", &[fails.into()]))
            .await;
        assert_eq!(matches!(answer.said, Said::Exception { .. }), fails);
        let mut beside = answer.attachments.expect("with attachments");
        assert_eq!(beside.remove(0), ("dubbo".to_owned(), Value::from("2.0.2")));
        beside.sort_by(|a, b| a.0.cmp(&b.0));
        let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
        let want = [text("beside", "3"), text("early", "1"), text("late", "2")];
        assert_eq!(beside, want);
    }
}

/// Passes on, in all ways that there are, what a provider behind it said of itself.
fn relaying() -> Service {
    const FOREIGN: [(&str, &str); 4] = [
        ("closing", "true"),
        ("Dubbo", "9"),
        ("dubbo-go-graceful-shutdown-provider-counted", "true"),
        ("k", "v"),
    ];
    let relay = async |call: Request<(i32,)>| {
        let reply = call.context().reply();
        let mut response = Response::new("here".to_owned());
        let mut status = Status::business("no");
        for (name, value) in FOREIGN {
            match call.message().0 {
                0 => reply.header(name, value).expect("in time"),
                1 => reply.trailer(name, value),
                2 => response = response.header(name, value),
                3 => response = response.trailer(name, value),
                _ => status.attachments_mut().insert(name, value),
            }
        }
        if call.message().0 == 4 {
            return Err(status);
        }
        Ok(response)
    };
    let method = MethodSpec::new("relay")
        .parameters_as(["int"])
        .returns("java.lang.String");
    let descriptor = Arc::new(descriptor(GREETER, None, None, vec![method]));
    Service::builder(descriptor, "Relaying")
        .unary::<Args<(i32,)>, Ret<String>, _, _>(0, relay)
        .build()
}

#[tokio::test]
async fn only_the_server_that_leaves_says_closing() {
    let provider = Provider::of(relaying()).await;
    let mut connection = provider.connect().await;
    let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
    for way in 0..5 {
        let answer = connection.ask(&Call::of("relay", "I", &[way.into()])).await;
        let want = vec![text("dubbo", "2.0.2"), text("k", "v")];
        assert_eq!(answer.attachments, Some(want), "{way}");
    }
}

#[tokio::test]
async fn only_callers_of_some_protocol_versions_are_sent_attachments() {
    let provider = Provider::of(generous()).await;
    let mut connection = provider.connect().await;
    for (protocol, want) in [
        ("2.0.2", true),
        ("2.0.10", true),
        ("2.0.99", true),
        ("2.0.0", false),
        ("2.0.1", false),
        ("2.6.2", false),
        ("2.7.3", false),
        ("3.0.0", false),
        ("", false),
        ("abc", false),
    ] {
        for fails in [false, true] {
            let mut call = Call::of("give", "Z", &[fails.into()]);
            call.protocol = protocol;
            let answer = connection.ask(&call).await;
            assert_eq!(answer.attachments.is_some(), want, "{protocol:?}");
        }
    }
}
