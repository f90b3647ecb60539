//! Spans for OpenTelemetry (`docs/spec/config.md` §5.3): one per call at a provider, and at a consumer one per call with one
//! per attempt in it. What a handler calls is in the trace of the call that it serves.

mod b3;
mod propagation;

use std::sync::Arc;

use ::tracing::{Instrument as _, Level, Span, span};
use dubbo_core::{
    extension::ExtensionContext,
    filter::{ClusterFilter, Filter, Next},
    invocation::Invocation,
    status::Status,
};
use opentelemetry::{
    Context, KeyValue, StringValue,
    trace::{
        FutureExt as _, Span as _, SpanBuilder, SpanKind, SpanRef, Status as Outcome,
        TraceContextExt as _, Tracer as _,
    },
};
use opentelemetry_sdk::trace::{SdkTracer, Span as Recorded};

pub use self::propagation::Propagation;
use super::{SYSTEM, TARGET, asked};
use crate::filter::{
    Calling,
    watch::{End, Watch},
};

/// What the filters `tracing` of an instance make their spans with; none by default, then they are of the crate `tracing`.
#[derive(Debug, Default)]
pub struct Traces(Option<Arc<With>>);

#[derive(Debug)]
struct With {
    tracer: SdkTracer,
    propagation: Propagation,
}

impl Traces {
    /// Spans of `tracer`, in traces that travel with calls by `propagation`.
    ///
    /// For the crate `dubbo` alone, which makes the tracer: its type is no promise.
    #[doc(hidden)]
    pub fn new(tracer: SdkTracer, propagation: Propagation) -> Self {
        Self(Some(Arc::new(With {
            tracer,
            propagation,
        })))
    }
}

/// One of the three places where a call is seen.
pub(super) struct OtelSpan {
    with: Arc<With>,
    place: Place,
}

#[derive(Clone, Copy)]
pub(super) enum Place {
    /// At a consumer, once per attempt.
    Attempt,
    /// At a consumer, once per call.
    Call,
    Provider,
}

impl OtelSpan {
    /// A filter for `place`, if the instance traces for OpenTelemetry.
    pub(super) fn of(cx: &ExtensionContext<'_>, place: Place) -> Option<Self> {
        let with = cx.shared::<Traces>().0.clone()?;
        Some(Self { with, place })
    }

    /// What the new span is below: at a provider what the caller says, elsewhere what goes on here.
    fn parent(&self, invocation: &Invocation) -> Context {
        let current = Context::current();
        let is_within = current.span().span_context().is_valid();
        match self.place {
            Place::Attempt | Place::Call if is_within => current,
            // The application may have been told of a trace in another way, and has put it there.
            Place::Attempt | Place::Call | Place::Provider => {
                let propagation = self.with.propagation;
                propagation.extract(&invocation.attachments, current)
            }
        }
    }

    /// What tells lines of a log which trace they belong to; nothing where nobody asks.
    fn span_of_logs(&self, cx: &Context, invocation: &Invocation) -> Span {
        macro_rules! within {
            ($name:literal) => {
                span!(
                    target: TARGET, Level::DEBUG, $name,
                    rpc.service = %invocation.service,
                    rpc.method = asked(invocation),
                    trace_id = %cx.span().span_context().trace_id(),
                    span_id = %cx.span().span_context().span_id(),
                    sampled = cx.span().span_context().is_sampled(),
                )
            };
        }
        match self.place {
            Place::Attempt => within!("attempt"),
            Place::Call => within!("consumer"),
            Place::Provider => within!("provider"),
        }
    }

    /// Says what call `span` is of. It is nobody else's yet, so nothing has to be locked for each attribute.
    fn describe(&self, span: &mut Recorded, invocation: &Invocation, next: Next<'_>) {
        let method = asked(invocation);
        span.update_name(method.to_owned());
        span.set_attributes([
            KeyValue::new("rpc.system", SYSTEM),
            KeyValue::new("rpc.service", invocation.service.to_string()),
            KeyValue::new("rpc.method", method.to_owned()),
        ]);
        match self.place {
            Place::Call => {
                let cluster = next.url().param("cluster").unwrap_or("failover");
                span.set_attribute(KeyValue::new("dubbo.cluster", cluster.to_owned()));
            }
            Place::Attempt => {
                let url = next.url();
                let attempt = invocation.attachments.get("dubbo-attempt");
                let attempt = attempt
                    .and_then(|number| number.parse().ok())
                    .unwrap_or(1_i64);
                span.set_attributes([
                    KeyValue::new("server.address", url.host().to_owned()),
                    KeyValue::new("server.port", i64::from(url.port().unwrap_or_default())),
                    KeyValue::new("network.peer.address", url.host().to_owned()),
                    KeyValue::new("dubbo.attempt", attempt),
                ]);
            }
            Place::Provider => {
                if let Some(peer) = &invocation.peer {
                    span.set_attributes([
                        KeyValue::new("server.address", peer.local.ip().to_string()),
                        KeyValue::new("server.port", i64::from(peer.local.port())),
                        KeyValue::new("network.peer.address", peer.remote.ip().to_string()),
                        KeyValue::new("network.peer.port", i64::from(peer.remote.port())),
                    ]);
                }
            }
        }
    }
}

impl Filter for OtelSpan {
    fn invoke<'a, 'n, 'c>(&'a self, mut invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let kind = match self.place {
            Place::Attempt => SpanKind::Client,
            // The attempts are what goes out.
            Place::Call => SpanKind::Internal,
            Place::Provider => SpanKind::Server,
        };
        // It gets its name with its attributes: no sampler looks at it, and most spans are not recorded.
        let builder = SpanBuilder::from_name("").with_kind(kind);
        let parent = self.parent(&invocation);
        let mut span = self.with.tracer.build_with_context(builder, &parent);
        let is_recorded = span.is_recording();
        let cx = if is_recorded {
            self.describe(&mut span, &invocation, next);
            parent.with_span(span)
        } else {
            // Nothing is told to it: that it has its place in the trace is all.
            parent.with_remote_span_context(span.span_context().clone())
        };
        if let Place::Attempt = self.place {
            // This attempt has its own attachments: no other one sees it.
            let propagation = self.with.propagation;
            propagation.inject(&cx, &mut invocation.attachments);
        }
        let of_logs = self.span_of_logs(&cx, &invocation);
        let watch = is_recorded.then(|| {
            let told = cx.clone();
            Watch::new(move |end: End<'_>| tell(&told.span(), &end))
        });
        // What comes next does its first steps when it is asked for its future, not when that is polled.
        let call = {
            let _within = cx.clone().attach();
            of_logs.in_scope(|| next.run(invocation))
        };
        let Some(watch) = watch else {
            return Box::pin(call.instrument(of_logs).with_context(cx));
        };
        let call = async move { watch.settle(call.await) };
        Box::pin(call.instrument(of_logs).with_context(cx))
    }
}

impl ClusterFilter for OtelSpan {}

/// Ends a span as its call has ended.
fn tell(span: &SpanRef<'_>, end: &End<'_>) {
    if span.is_recording() {
        let (outcome, code) = match end {
            End::Done => (Outcome::Ok, StringValue::from("ok")),
            End::Failed(status) => (failed(status), status.code().to_string().into()),
            End::GivenUp => (
                Outcome::error("nobody waited for the end"),
                StringValue::from("canceled"),
            ),
        };
        span.set_status(outcome);
        span.set_attribute(KeyValue::new("rpc.code", code));
    }
    span.end();
}

fn failed(status: &Status) -> Outcome {
    Outcome::error(status.message().to_owned())
}

/// The trace that the code that asks is in, as 32 hexadecimal digits.
pub(in crate::filter) fn current_trace_id() -> Option<String> {
    Context::map_current(|cx| {
        let span = cx.span();
        let context = span.span_context();
        context.is_valid().then(|| context.trace_id().to_string())
    })
}

#[cfg(test)]
mod tests;
