use std::{sync::LazyLock, time::Duration};

use dubbo_core::{
    payload::{Codec, CodecError, Message},
    service::{CallKind, MethodDescriptor},
    status::{Code, Retry},
};

use super::*;

static ECHO: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = vec![MethodDescriptor::new("Echo", CallKind::Unary)];
    Arc::new(ServiceDescriptor::new("x.Echo", methods))
});

/// A message that no codec knows.
#[derive(Debug)]
struct Uncoded;

impl Message for Uncoded {
    fn encode(&self, _: Codec, _: &mut bytes::BytesMut) -> Result<(), CodecError> {
        panic!("nothing is encoded within the process")
    }
}

/// Answers what `answer` says.
struct Answering(Url, fn(Invocation) -> RpcResult);

#[async_trait]
impl Invoker for Answering {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        (self.1)(invocation)
    }
}

fn invocation() -> Invocation {
    Invocation::new(
        Arc::new(ServiceKey::new("x.Echo")),
        MethodRef::new(Arc::clone(&ECHO), 0),
        Body::Unary(Payload::typed(Uncoded)),
    )
}

async fn reference(
    answer: fn(Invocation) -> RpcResult,
) -> (Injvm, Box<dyn Exporter>, Arc<dyn Invoker>) {
    let (injvm, url) = (Injvm::default(), Url::new("injvm", "h").with_path("x.Echo"));
    let service = Arc::new(Answering(url.clone(), answer));
    let exported = injvm.export(&url, Arc::clone(&ECHO), service).await;
    let reference = injvm.refer(&url, Arc::clone(&ECHO)).await;
    (injvm, exported.expect("free"), reference.expect("good"))
}

#[tokio::test]
async fn the_message_is_handed_over_and_what_filters_keep_is_not() {
    let (_injvm, _exporter, reference) = reference(|invocation| {
        assert!(invocation.extensions.is_empty());
        assert_eq!(invocation.attachments.get("K"), Some("v"));
        assert!(invocation.peer.is_none());
        Ok(Reply::new(invocation.body))
    })
    .await;
    let mut call = invocation();
    call.extensions.insert(7_u32);
    call.attachments.append("k", "v");
    let reply = reference.invoke(call).await.expect("it works");
    assert!(matches!(reply.body, Body::Unary(payload) if format!("{payload:?}") == "Uncoded"));
}

#[tokio::test]
async fn a_method_is_found_by_its_name_in_the_description_of_the_callee() {
    let (_injvm, _exporter, reference) = reference(|invocation| {
        assert!(Arc::ptr_eq(invocation.method.service(), &ECHO));
        Ok(Reply::new(invocation.body))
    })
    .await;
    for (name, found) in [("Echo", true), ("echo", true), ("Other", false)] {
        let methods = ["First", name].map(|name| MethodDescriptor::new(name, CallKind::Unary));
        let callers = Arc::new(ServiceDescriptor::new("x.Echo", methods.to_vec()));
        let mut call = invocation();
        call.method = MethodRef::new(callers, 1);
        let answer = reference.invoke(call).await;
        assert_eq!(answer.is_ok(), found, "{name}: {answer:?}");
        if let Err(status) = answer {
            assert_eq!(status.code(), Code::Unimplemented);
            assert!(status.message().contains("x.Echo/Other"), "{status}");
        }
    }
}

#[tokio::test]
async fn an_unknown_service_is_told_with_those_that_are_known() {
    let (_injvm, exporter, reference) = reference(|_| panic!("not reached")).await;
    let mut call = invocation();
    call.service = Arc::new("g/x.Other:1.0".parse().expect("a key"));
    let status = reference.invoke(call).await.expect_err("unknown");
    assert_eq!(status.code(), Code::Unimplemented);
    for part in ["x.Echo/Echo", "`g/x.Other:1.0`", "exported: x.Echo"] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
    assert!(reference.is_available());
    exporter.unexport().await;
    assert!(!reference.is_available());
}

#[tokio::test]
async fn a_handlers_failed_call_is_not_taken_for_one_that_was_not_processed() {
    let (_injvm, _exporter, reference) = reference(|_| {
        Err(Status::unavailable("no provider further on")
            .with_detail(&1_i32)
            .not_processed())
    })
    .await;
    let status = reference.invoke(invocation()).await.expect_err("it fails");
    assert_eq!(status.message(), "no provider further on");
    assert_eq!(status.details().len(), 1);
    assert_eq!(
        (status.origin(), status.retry()),
        (Origin::Remote, Retry::Ambiguous)
    );
}

#[tokio::test]
async fn a_caller_that_tries_again_for_ever_leaves_time_for_others() {
    let (_injvm, exporter, reference) = reference(|_| Err(Status::internal("no"))).await;
    let try_for_ever = async || {
        let tries = async { while reference.invoke(invocation()).await.is_err() {} };
        let given_up = tokio::time::timeout(Duration::from_millis(20), tries).await;
        given_up.expect_err("no call works");
    };
    try_for_ever().await;
    exporter.unexport().await;
    try_for_ever().await;
}

#[tokio::test]
async fn a_call_whose_time_is_over_does_not_reach_the_handler() {
    let (_injvm, _exporter, reference) = reference(|_| panic!("not reached")).await;
    let mut call = invocation();
    call.timeout = Some(Duration::ZERO);
    let status = reference.invoke(call).await.expect_err("too late");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::DeadlineExceeded, Retry::Safe)
    );
    assert_eq!(reference.in_flight(), 0);
}
