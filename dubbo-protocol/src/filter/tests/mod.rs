//! What holds for every filter, whatever it does.

pub(super) mod rig;

use std::{sync::Arc, task::Poll};

use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    extension::Extensions,
    filter::{ClusterFilter, Filter},
    invocation::{Body, Invocation, LateTrailers, PayloadStream, Reply},
    payload::{Adapter as _, Codec, Payload},
    stream,
};
use dubbo_hessian2::Value;
use futures_util::StreamExt as _;

use self::rig::{Provider, invocation, invocation_of, url};
use crate::java::{Args, Ret};

/// With these they have something to do, and let calls through.
const PARAMS: &str = "side=provider&token=t&accesslog=true&tps.limiter=default&tps.limit.rate=1000&\
    tps.limit.interval=1000&execute.limit=1000&actives=1000&deprecated=true&application=shop&auth=true&\
    .accessKeyId=ak&.secretAccessKey=sk&param.sign=false&auth.max-skew=0";

/// Every filter that is linked, by name.
fn all() -> Vec<(String, Arc<dyn Filter>)> {
    let linked = Extensions::linked().expect("no duplicates");
    let of = |params: &str| {
        let url = url(params);
        let names = linked.names::<dyn Filter>().into_iter();
        let linked = &linked;
        let made = names.map(move |name| {
            let filter = linked.create::<dyn Filter>(name, &url);
            (
                name.to_owned(),
                filter.unwrap_or_else(|error| panic!("{name}: {error}")),
            )
        });
        made.collect::<Vec<_>>()
    };
    let mut all = of(PARAMS);
    all.extend(of(&PARAMS.replace("side=provider", "side=consumer")));
    for name in linked.names::<dyn ClusterFilter>() {
        let filter = linked.create::<dyn ClusterFilter>(name, &url(PARAMS));
        all.push((format!("cluster filter {name}"), filter.expect(name)));
    }
    all
}

/// A call that has what every filter asks for.
fn allowed(method: &str, signed: &Attachments) -> Invocation {
    let mut call = invocation_of(method);
    call.attachments = signed.clone();
    call.attachments.insert("token", "t");
    call
}

/// What a signed call of `method` carries.
async fn signed(method: &str) -> Attachments {
    let provider = Provider::echoing();
    let mut call = invocation_of(method);
    if method == "Chat" {
        call.body = Body::Stream(PayloadStream::new(stream::iter([])));
    }
    let _ = provider.chain_of("sign", PARAMS).invoke(call).await;
    provider.last_attachments()
}

#[test]
fn the_names_of_dubbo_go_and_dubbo_java_lead_to_them() {
    let linked = Extensions::linked().expect("no duplicates");
    for (name, aliases) in [
        ("accesslog", &[][..]),
        ("active", &["active-limit", "activelimit"]),
        ("adaptive-load", &[]),
        ("auth", &["providerauth"]),
        ("context", &[]),
        ("cshutdown", &[]),
        ("deprecated", &[]),
        ("echo", &[]),
        ("exception", &[]),
        ("execute", &["ExecuteLimit"]),
        ("generic", &["generic_service", "genericimpl"]),
        ("metrics", &[]),
        ("padasvc", &[]),
        ("pshutdown", &[]),
        ("sign", &["consumersign"]),
        ("timeout", &[]),
        ("token", &[]),
        ("tps", &[]),
        ("tracing", &["otelServerTrace", "otelClientTrace"]),
    ] {
        for known in aliases.iter().chain([&name]) {
            assert_eq!(
                linked.canonical::<dyn Filter>(known).ok(),
                Some(name),
                "{known}"
            );
        }
    }
    for (name, aliases) in [
        ("consumercontext", &["context"][..]),
        ("metrics", &[]),
        ("tracing", &["otelClientTrace"]),
    ] {
        for known in aliases.iter().chain([&name]) {
            assert_eq!(
                linked.canonical::<dyn ClusterFilter>(known).ok(),
                Some(name),
                "{known}"
            );
        }
    }
}

#[tokio::test]
async fn streams_pass_through_untouched_both_ways() {
    let message =
        |text: &'static str| Payload::encoded(Codec::Protobuf, Bytes::from_static(text.as_bytes()));
    let signed = signed("Chat").await;
    for (name, filter) in all() {
        let provider = Provider::new(|invocation| {
            let Body::Stream(items) = invocation.body else {
                panic!("it was a stream");
            };
            let trailers = LateTrailers::expected();
            trailers.set(Attachments::from_iter([("End", "1")]));
            Ok(Reply::new(Body::Stream(PayloadStream::with_trailers(
                items, trailers,
            ))))
        });
        let mut call = allowed("Chat", &signed);
        let items = ["a", "b", "c"].map(|text| Ok(message(text)));
        call.body = Body::Stream(PayloadStream::new(stream::iter(items)));
        let reply = provider.behind(vec![filter]).invoke(call).await;
        let reply = reply.unwrap_or_else(|status| panic!("{name}: {status}"));
        let Body::Stream(stream) = reply.body else {
            panic!("{name}: it is no stream any more");
        };
        let trailers = stream.trailers();
        assert_eq!(
            trailers.get().and_then(|all| all.get("end")),
            Some("1"),
            "{name}"
        );
        let got: Vec<_> = stream
            .map(|item| format!("{:?}", item.expect("a message")))
            .collect()
            .await;
        assert_eq!(got, ["1 bytes of protobuf"; 3], "{name}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_behind() {
    let signed = signed("Greet").await;
    for (name, filter) in all() {
        let provider = Provider::hanging();
        let before = Arc::strong_count(&filter);
        let chain = provider.behind(vec![Arc::clone(&filter)]);
        for round in 1..=3 {
            let mut call = chain.invoke(allowed("Greet", &signed));
            assert!(futures_util::poll!(call.as_mut()).is_pending(), "{name}");
            assert_eq!(provider.calls(), round, "{name}");
        }
        drop(chain);
        assert_eq!(Arc::strong_count(&filter), before, "{name}");
    }
}

#[tokio::test]
async fn attachments_of_applications_keep_their_case_and_their_values() {
    let signed = signed("Greet").await;
    for (name, filter) in all() {
        let provider = Provider::echoing();
        let mut call = allowed("Greet", &signed);
        call.attachments.append("userId", "7");
        call.attachments.append("userId", "8");
        call.attachments
            .append("Blob", Bytes::from_static(&[0, 0xff]));
        provider
            .behind(vec![filter])
            .invoke(call)
            .await
            .expect(&name);
        let arrived = provider.last_attachments();
        let names: Vec<_> = arrived.iter().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(
            names.iter().filter(|one| *one == "userId").count(),
            2,
            "{name}: {names:?}"
        );
        assert!(names.contains(&"Blob".to_owned()), "{name}: {names:?}");
        assert_eq!(
            arrived.all("userid").collect::<Vec<_>>(),
            ["7", "8"],
            "{name}"
        );
        assert_eq!(
            arrived.get_bin("blob"),
            Some(Bytes::from_static(&[0, 0xff])),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn odd_attachments_are_no_reason_to_panic() {
    let odd = [
        "",
        " ",
        "-1",
        "99999999999999999999",
        "é",
        "00-zz-é-1",
        "true,true",
        "=====",
        "\u{0}",
    ];
    let names = [
        "_TO",
        "token",
        "signature",
        "timestamp",
        "ak",
        "consumer",
        "traceparent",
        "dubbo-attempt",
        "adaptive-service.enabled",
        "closing",
        "dubbo-reject",
    ];
    for (name, filter) in all() {
        let chain = Provider::echoing().behind(vec![filter]);
        for attachment in names {
            for value in odd {
                let mut call = invocation();
                call.attachments.append(attachment, value);
                call.attachments.append(attachment, value);
                let _ = chain.invoke(call).await;
                let mut call = invocation();
                call.attachments
                    .append(attachment, Bytes::from_static(&[0xff, 0]));
                let _ = chain.invoke(call).await;
            }
        }
        assert!(
            matches!(futures_util::poll!(chain.close()), Poll::Ready(())),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_echo_is_answered_by_itself_with_its_attachments() {
    let provider = Provider::hanging();
    let chain = provider.chain("echo", "");
    let mut call = invocation_of("$echo");
    call.attachments.insert("userId", "7");
    call.body = Body::Unary(Payload::typed(Args::wrap((Value::from("ping"),))));
    let reply = chain.invoke(call).await.expect("answers");
    assert_eq!(reply.trailers.get("userid"), Some("7"));
    let Body::Unary(payload) = reply.body else {
        panic!("it is a stream");
    };
    let echoed = payload.decode::<Ret<Value>>().expect("a value").unwrap();
    assert_eq!(echoed, Value::from("ping"));
    assert_eq!(provider.calls(), 0);
    let wrong = chain
        .invoke(invocation_of("$echo"))
        .await
        .expect_err("no hessian value");
    assert!(
        wrong.message().contains("`$echo` takes one value"),
        "{wrong}"
    );
}
