use std::{collections::BTreeMap, fmt, sync::Arc};

use ::tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use bytes::BytesMut;
use dubbo_core::{
    payload::{Codec, CodecError, Message, Payload},
    status::Status,
};
use parking_lot::Mutex;

use super::*;
use crate::filter::tests::rig::{Provider, invocation_of};

/// Remembers the fields of all spans, by their numbers.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<BTreeMap<String, String>>>>);

struct Fields<'f>(&'f mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock();
        let mut fields = BTreeMap::from([("span".to_owned(), span.metadata().name().to_owned())]);
        span.record(&mut Fields(&mut fields));
        spans.push(fields);
        Id::from_u64(u64::try_from(spans.len()).expect("few"))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let index = usize::try_from(span.into_u64()).expect("few") - 1;
        values.record(&mut Fields(&mut self.0.lock()[index]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn a_provider_takes_the_trace_of_its_caller_and_says_how_the_call_ended() {
    let spans = Spans::default();
    let _guard = ::tracing::subscriber::set_default(spans.clone());
    let provider = Provider::answering(vec![Ok(()), Err(Status::not_found("x"))]);
    let chain = provider.chain("tracing", "");
    let mut call = invocation_of("Greet");
    call.attachments.insert("traceparent", PARENT);
    chain.invoke(call).await.expect("works");
    chain
        .invoke(invocation_of("Greet"))
        .await
        .expect_err("fails");
    let spans = spans.0.lock();
    for (span, field, want) in [
        (0, "span", Some("provider")),
        (0, "trace_id", Some("4bf92f3577b34da6a3ce929d0e0e4736")),
        (0, "parent_span_id", Some("00f067aa0ba902b7")),
        (0, "sampled", Some("true")),
        (0, "rpc.system", Some("apache_dubbo")),
        (0, "rpc.service", Some("test.Greeter")),
        (0, "rpc.method", Some("Greet")),
        (0, "otel.status_code", Some("OK")),
        (1, "trace_id", None),
        (1, "otel.status_code", Some("ERROR")),
        (1, "rpc.code", Some("not_found")),
    ] {
        let got = spans[span].get(field).map(String::as_str);
        assert_eq!(got, want, "{field} of {:?}", spans[span]);
    }
}

#[tokio::test]
async fn each_attempt_is_a_span_of_its_own_in_the_trace_of_its_call() {
    let provider = Provider::echoing();
    let chain = provider.behind(vec![Arc::new(AttemptSpan)]);
    let mut base = invocation_of("Greet");
    base.attachments.insert("traceparent", PARENT);
    let mut seen = Vec::new();
    for _ in 0..2 {
        let attempt = base.try_clone().expect("it is no stream");
        chain.invoke(attempt).await.expect("works");
        let sent = provider.last_attachments();
        let sent = TraceParent::of(&sent).expect("it is passed on");
        assert_eq!(sent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        seen.push(sent.span_id());
    }
    assert!(seen[0] != seen[1] && !seen.contains(&"00f067aa0ba902b7".to_owned()));
    assert_eq!(base.attachments.get("traceparent"), Some(PARENT));
    // What came without a trace begins none.
    chain.invoke(invocation_of("Greet")).await.expect("works");
    assert!(!provider.last_attachments().contains("traceparent"));
}

#[tokio::test]
async fn a_generic_call_is_traced_by_the_method_that_it_asks_for() {
    let spans = Spans::default();
    let _guard = ::tracing::subscriber::set_default(spans.clone());
    let provider = Provider::echoing();
    for filter in [Arc::new(CallSpan) as Arc<dyn Filter>, Arc::new(AttemptSpan)] {
        let mut call = invocation_of("Greet");
        call.body = Body::Unary(Payload::typed(Asks));
        let _ = provider.behind(vec![filter]).invoke(call).await;
    }
    let spans = spans.0.lock();
    for span in &*spans {
        assert_eq!(span["rpc.method"], "sayHello", "{span:?}");
        assert_eq!(span["otel.name"], "sayHello", "{span:?}");
    }
    assert_eq!(spans.len(), 2);
}

/// The arguments of a generic call.
#[derive(Debug)]
struct Asks;

impl Message for Asks {
    fn encode(&self, _: Codec, _: &mut BytesMut) -> Result<(), CodecError> {
        Ok(())
    }

    fn asked(&self) -> Option<(&str, usize)> {
        Some(("sayHello", 0))
    }
}
