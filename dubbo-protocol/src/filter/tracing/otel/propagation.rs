//! How a trace travels with a call: in its attachments, which are headers on Triple.

use std::str::FromStr as _;

use dubbo_core::attachments::Attachments;
use opentelemetry::{
    Context,
    propagation::{Extractor, Injector, TextMapPropagator as _},
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::propagation::BaggagePropagator;

use super::b3;
use crate::filter::tracing::parent::{self, TraceParent};

/// The headers that a trace travels in, each way with W3C's `baggage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// Zipkin's: `b3` and `x-b3-…` are both written, and either is read.
    B3,
    /// W3C's: `traceparent` and `tracestate`.
    W3c,
}

impl Propagation {
    /// `within`, below the span that `attachments` name, if they name one.
    pub(super) fn extract(self, attachments: &Attachments, within: Context) -> Context {
        let span = match self {
            Self::B3 => b3::extract(attachments),
            Self::W3c => TraceParent::of(attachments).map(|parent| w3c(&parent, attachments)),
        };
        let cx = match span {
            Some(span) => within.with_remote_span_context(span),
            None => within,
        };
        if attachments.contains(BAGGAGE) {
            BaggagePropagator::new().extract_with_context(&cx, &Carried(attachments))
        } else {
            cx
        }
    }

    /// Has `attachments` name the span of `cx`, in place of whatever they named.
    pub(super) fn inject(self, cx: &Context, attachments: &mut Attachments) {
        let span = cx.span();
        let span = span.span_context();
        if !span.is_valid() {
            return;
        }
        match self {
            Self::B3 => b3::inject(span, attachments),
            Self::W3c => {
                attachments.insert(parent::NAME, traceparent(span));
                attachments.remove(TRACESTATE);
                let state = span.trace_state().header();
                if !state.is_empty() {
                    attachments.insert(TRACESTATE, state);
                }
            }
        }
        BaggagePropagator::new().inject_context(cx, &mut Carrying(attachments));
    }
}

/// How `span` is named: digit by digit, since each attempt has one.
fn traceparent(span: &SpanContext) -> String {
    let mut text = String::with_capacity(55);
    text.push_str("00-");
    push_digits(&mut text, &span.trace_id().to_bytes());
    text.push('-');
    push_digits(&mut text, &span.span_id().to_bytes());
    text.push_str(if span.is_sampled() { "-01" } else { "-00" });
    text
}

fn push_digits(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for half in [byte >> 4, byte & 0xf] {
            text.push(char::from(DIGITS[usize::from(half)]));
        }
    }
}

/// The span that a `traceparent` names.
fn w3c(parent: &TraceParent, attachments: &Attachments) -> SpanContext {
    let state = attachments.get(TRACESTATE).unwrap_or_default();
    let (trace, id) = parent.ids();
    SpanContext::new(
        TraceId::from(trace),
        SpanId::from(id),
        if parent.is_sampled() {
            TraceFlags::SAMPLED
        } else {
            TraceFlags::default()
        },
        true,
        // Of a state that cannot be read nothing is known, and the trace goes on without it.
        TraceState::from_str(state).unwrap_or_default(),
    )
}

struct Carried<'a>(&'a Attachments);

impl Extractor for Carried<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    fn keys(&self) -> Vec<&str> {
        vec![BAGGAGE]
    }
}

struct Carrying<'a>(&'a mut Attachments);

impl Injector for Carrying<'_> {
    fn set(&mut self, key: &str, value: String) {
        self.0.insert(key.to_owned(), value);
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

const BAGGAGE: &str = "baggage";

const TRACESTATE: &str = "tracestate";
