//! Spans (`docs/spec/cluster.md` §6.3): one per call at a provider, and at a consumer one per call with one per attempt in it.
//!
//! They are of the level `DEBUG` and the target `dubbo::rpc`, so a program that only logs pays nothing for them; whoever
//! exports them asks for them. An instance that traces for OpenTelemetry makes its spans there, and none of these.

#[cfg(feature = "otel")]
pub(in crate::filter) mod otel;
mod parent;

use std::sync::Arc;

use ::tracing::{Instrument as _, Level, Span, field::Empty, span};
use dubbo_core::{
    extension,
    filter::{ClusterFilter, Filter, Next},
    invocation::{Body, Invocation},
};

use self::parent::TraceParent;
use super::{
    Calling, is_provider,
    watch::{End, Watch},
};

/// A provider: the caller's `traceparent` becomes fields of the span.
struct ServerSpan;

/// A consumer's call.
struct CallSpan;

/// An attempt. Where the call has a `traceparent`, each attempt passes on one of its own, a child of it.
struct AttemptSpan;

impl Filter for ServerSpan {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let span = span!(
            target: TARGET, Level::DEBUG, "provider",
            otel.kind = "server",
            otel.name = invocation.method.name(),
            otel.status_code = Empty,
            rpc.system = SYSTEM,
            rpc.service = %invocation.service,
            rpc.method = invocation.method.name(),
            rpc.code = Empty,
            network.peer.address = Empty,
            trace_id = Empty,
            parent_span_id = Empty,
            sampled = Empty,
        );
        if span.is_disabled() {
            return next.run(invocation);
        }
        if let Some(peer) = &invocation.peer {
            span.record(
                "network.peer.address",
                ::tracing::field::display(peer.remote),
            );
        }
        if let Some(parent) = TraceParent::of(&invocation.attachments) {
            span.record("trace_id", parent.trace_id().as_str());
            span.record("parent_span_id", parent.span_id().as_str());
            span.record("sampled", parent.is_sampled());
        }
        within(span, invocation, next)
    }
}

impl Filter for CallSpan {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let span = span!(
            target: TARGET, Level::DEBUG, "consumer",
            otel.kind = "client",
            otel.name = asked(&invocation),
            otel.status_code = Empty,
            rpc.system = SYSTEM,
            rpc.service = %invocation.service,
            rpc.method = asked(&invocation),
            rpc.code = Empty,
            dubbo.cluster = next.url().param("cluster").unwrap_or("failover"),
        );
        if span.is_disabled() {
            return next.run(invocation);
        }
        within(span, invocation, next)
    }
}

impl ClusterFilter for CallSpan {}

impl Filter for AttemptSpan {
    fn invoke<'a, 'n, 'c>(&'a self, mut invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let parent = TraceParent::of(&invocation.attachments);
        let own = parent.map(|parent| parent.child(&mut fastrand::Rng::new()));
        if let Some(own) = &own {
            // This attempt has its own attachments: no other one sees it.
            invocation.attachments.insert(parent::NAME, own.to_string());
        }
        let span = span!(
            target: TARGET, Level::DEBUG, "attempt",
            otel.kind = "client",
            otel.name = asked(&invocation),
            otel.status_code = Empty,
            rpc.system = SYSTEM,
            rpc.service = %invocation.service,
            rpc.method = asked(&invocation),
            rpc.code = Empty,
            server.address = next.url().address(),
            dubbo.attempt = invocation.attachments.get("dubbo-attempt").unwrap_or("1"),
            trace_id = Empty,
            span_id = Empty,
        );
        if span.is_disabled() {
            return next.run(invocation);
        }
        if let Some(own) = &own {
            span.record("trace_id", own.trace_id().as_str());
            span.record("span_id", own.span_id().as_str());
        }
        within(span, invocation, next)
    }
}

/// The method of a call, and of a generic one that which it asks for.
fn asked(invocation: &Invocation) -> &str {
    let asked = match &invocation.body {
        Body::Unary(payload) => payload.asked(),
        Body::Stream(_) => None,
    };
    asked.map_or_else(|| invocation.method.name(), |(method, _)| method)
}

/// Does the rest within `span`, which is told how it ended.
fn within(span: Span, invocation: Invocation, next: Next<'_>) -> Calling<'_> {
    let told = span.clone();
    let watch = Watch::new(move |end: End<'_>| {
        let (outcome, code) = match end {
            End::Done => ("OK", "ok".to_owned()),
            End::Failed(status) => ("ERROR", status.code().to_string()),
            End::GivenUp => ("ERROR", "canceled".to_owned()),
        };
        told.record("otel.status_code", outcome);
        told.record("rpc.code", code);
    });
    // What comes next does its first steps when it is asked for its future, not when that is polled.
    let call = span.in_scope(|| next.run(invocation));
    Box::pin(async move { watch.settle(call.await) }.instrument(span))
}

extension!(dyn ClusterFilter, "tracing" | "otelClientTrace", |cx| {
    #[cfg(feature = "otel")]
    if let Some(traced) = otel::OtelSpan::of(cx, otel::Place::Call) {
        return Ok(Arc::new(traced));
    }
    let _ = cx;
    Ok(Arc::new(CallSpan))
});

extension!(
    dyn Filter,
    "tracing" | "otelServerTrace" | "otelClientTrace",
    |cx| {
        let is_provider = is_provider(cx.url);
        #[cfg(feature = "otel")]
        {
            let place = if is_provider {
                otel::Place::Provider
            } else {
                otel::Place::Attempt
            };
            if let Some(traced) = otel::OtelSpan::of(cx, place) {
                return Ok(Arc::new(traced));
            }
        }
        Ok(if is_provider {
            Arc::new(ServerSpan)
        } else {
            Arc::new(AttemptSpan)
        })
    }
);

/// The trace that a call being served belongs to, as 32 hexadecimal digits, if it is in one.
pub(super) fn trace_id(invocation: &Invocation) -> Option<String> {
    #[cfg(feature = "otel")]
    if let Some(id) = otel::current_trace_id() {
        return Some(id);
    }
    let parent = TraceParent::of(&invocation.attachments)?;
    Some(parent.trace_id())
}

const TARGET: &str = "dubbo::rpc";

/// What OpenTelemetry calls Dubbo.
const SYSTEM: &str = "apache_dubbo";

#[cfg(test)]
mod tests;
