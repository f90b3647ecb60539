//! Failsafe on scripted providers.

use std::sync::Arc;

use dubbo_core::{
    invocation::Body,
    payload::Codec,
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::{Code, Origin, Status},
};
use dubbo_test::metrics::Numbers;
use futures_util::StreamExt as _;

use super::*;
use crate::{
    cluster::IGNORED,
    testing::{Answer, Fixed, Scripted, asking, asking_of, invocation, invocation_of, join},
};

fn failing(status: Status) -> Arc<Scripted> {
    Scripted::with(1, [Answer::Fail(status)])
}

#[tokio::test(start_paused = true)]
async fn cluster_t20_a_failed_call_is_an_empty_success_that_says_so() {
    let numbers = Numbers::default();
    let _local = metrics::set_default_local_recorder(&numbers);
    for status in [
        Status::unavailable("refused").with_origin(Origin::Transport),
        Status::internal("broken").with_origin(Origin::Remote),
        Status::invalid_argument("what?").with_origin(Origin::Remote),
        Status::deadline_exceeded("too slow"),
    ] {
        let text = status.to_string();
        let provider = failing(status);
        let reference = join(&Failsafe, Fixed::of(&[Arc::clone(&provider)]), asking(&[]));
        let reply = reference.invoke(invocation()).await.expect("goes on");
        assert_eq!(provider.calls().len(), 1, "one attempt");
        let ignored = reply.trailers.get(IGNORED).expect("it says so");
        assert!(
            ignored.starts_with("failsafe: the call failed: "),
            "{ignored}"
        );
        assert!(ignored.contains(&text), "{ignored}");
        let Body::Unary(empty) = reply.body else {
            panic!("one answer");
        };
        assert_eq!(empty.encoded_len(Codec::Protobuf), Some(0));
    }
    let name = "dubbo_failsafe_suppressed_total{method=First,service=a.B}";
    assert!((numbers.get(name) - 4.0).abs() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_application_is_the_callers() {
    let provider = failing(Status::business("sold out"));
    let reference = join(&Failsafe, Fixed::of(&[provider]), asking(&[]));
    let status = reference.invoke(invocation()).await.expect_err("an answer");
    assert_eq!(
        (status.code(), status.message()),
        (Code::Business, "sold out")
    );

    let reference = join(&Failsafe, Fixed::of(&[Scripted::at(1)]), asking(&[]));
    let reply = reference.invoke(invocation()).await.expect("is answered");
    assert_eq!(
        reply.trailers.get(IGNORED),
        None,
        "a real answer is none of these"
    );
}

#[tokio::test(start_paused = true)]
async fn that_nobody_is_there_is_an_error_but_for_go() {
    let reference = join(&Failsafe, Fixed::of(&[]), asking(&[]));
    let status = reference
        .invoke(invocation())
        .await
        .expect_err("as in Java");
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unavailable, "nobody is there")
    );

    let go = asking(&[("compat.go-failsafe-empty", "true")]);
    let reference = join(&Failsafe, Fixed::of(&[]), go);
    let reply = reference.invoke(invocation()).await.expect("as in Go");
    let ignored = reply.trailers.get(IGNORED).expect("it says so");
    assert!(ignored.contains("nobody is there"), "{ignored}");

    let bad = asking(&[("compat.go-failsafe-empty", "perhaps")]);
    let error = Failsafe.join(Fixed::of(&[]), bad).err().expect("no switch");
    assert!(
        error.to_string().contains("compat.go-failsafe-empty"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn empty_is_null_for_java_and_the_end_for_a_stream() {
    let method = MethodDescriptor::java("get", CallKind::Unary, ["int"], "java.lang.String");
    let java = Arc::new(ServiceDescriptor::new("a.Java", vec![method]));
    let refused = || Status::unavailable("refused");
    let directory = Fixed::of(&[failing(refused())]);
    let reference = join(&Failsafe, directory, asking_of(&java, &[]));
    let mut call = invocation();
    call.method = java.find("get").expect("is there");
    call.service = Arc::new(ServiceKey::new("a.Java"));
    let reply = reference.invoke(call).await.expect("goes on");
    let Body::Unary(null) = reply.body else {
        panic!("one answer");
    };
    let mut bytes = bytes::BytesMut::new();
    null.encode(Codec::Hessian2, &mut bytes)
        .expect("is hessian2");
    assert_eq!(&*bytes, b"N");

    let directory = Fixed::of(&[failing(refused())]);
    let reference = join(&Failsafe, directory, asking(&[]));
    let reply = reference.invoke(invocation_of("Download")).await;
    let Body::Stream(mut none) = reply.expect("goes on").body else {
        panic!("a stream");
    };
    assert!(none.next().await.is_none());
    let reply = reference.invoke(invocation_of("Upload")).await;
    let Body::Unary(empty) = reply.expect("goes on").body else {
        panic!("one answer");
    };
    let message = empty.decode::<dubbo_core::codegen::Proto<String>>();
    let message = dubbo_core::payload::Adapter::unwrap(message.expect("a message"));
    assert_eq!(message, "", "nothing is set in it");
}
