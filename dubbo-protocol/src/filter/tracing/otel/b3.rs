//! Zipkin's headers: one called `b3`, or several that begin with `x-b3-`. Both are written, as dubbo-go does.

use dubbo_core::attachments::Attachments;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

use crate::filter::tracing::parent::hexadecimal;

/// The span that a call comes from: by `b3`, or else by the others.
pub(super) fn extract(attachments: &Attachments) -> Option<SpanContext> {
    let single = attachments.get(SINGLE).and_then(of_single);
    single.or_else(|| {
        let is_debug = attachments.get(FLAGS) == Some("1");
        let sampled = is_debug || attachments.get(SAMPLED).is_some_and(is_sampled);
        span(
            attachments.get(TRACE_ID)?,
            attachments.get(SPAN_ID)?,
            sampled,
        )
    })
}

/// Names `span`, in place of whatever was named.
pub(super) fn inject(span: &SpanContext, attachments: &mut Attachments) {
    let (trace, id) = (span.trace_id().to_string(), span.span_id().to_string());
    let sampled = if span.is_sampled() { "1" } else { "0" };
    // What the caller of this program said of its own span.
    for stale in [PARENT, FLAGS] {
        attachments.remove(stale);
    }
    attachments.insert(SINGLE, format!("{trace}-{id}-{sampled}"));
    attachments.insert(TRACE_ID, trace);
    attachments.insert(SPAN_ID, id);
    attachments.insert(SAMPLED, sampled);
}

/// `{trace}-{span}`, `{trace}-{span}-{sampled}` or `{trace}-{span}-{sampled}-{parent}`. A bare `0` or `1` names no span.
fn of_single(text: &str) -> Option<SpanContext> {
    let mut parts = text.trim().split('-');
    let (trace, id) = (parts.next()?, parts.next()?);
    let sampled = parts.next().is_some_and(is_sampled);
    span(trace, id, sampled)
}

fn span(trace: &str, id: &str, sampled: bool) -> Option<SpanContext> {
    let (trace, id) = (trace.trim(), id.trim());
    let length = trace.len();
    // Ids of traces had 64 bits once.
    let trace = hexadecimal(trace, length).filter(|_| matches!(length, 16 | 32))?;
    let id = hexadecimal(id, 16).and_then(|id| u64::try_from(id).ok())?;
    let flags = if sampled {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::default()
    };
    let (trace, id) = (TraceId::from(trace), SpanId::from(id));
    let span = SpanContext::new(trace, id, flags, true, TraceState::default());
    span.is_valid().then_some(span)
}

/// `d` is for debugging: it is sampled wherever it comes.
fn is_sampled(text: &str) -> bool {
    matches!(text.trim(), "1" | "d" | "true")
}

const SINGLE: &str = "b3";
const TRACE_ID: &str = "x-b3-traceid";
const SPAN_ID: &str = "x-b3-spanid";
const SAMPLED: &str = "x-b3-sampled";
const PARENT: &str = "x-b3-parentspanid";
const FLAGS: &str = "x-b3-flags";

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn read(attachments: &[(&'static str, String)]) -> Option<(String, String, bool)> {
        let attachments = attachments.iter().cloned().collect();
        let span = extract(&attachments)?;
        let (trace, id) = (span.trace_id().to_string(), span.span_id().to_string());
        Some((trace, id, span.is_sampled()))
    }

    #[test]
    fn both_spellings_are_read_and_what_is_neither_is_no_span() {
        let both = |sampled| Some((TRACE.to_owned(), SPAN.to_owned(), sampled));
        for (single, want) in [
            (format!("{TRACE}-{SPAN}-1"), both(true)),
            (format!("{TRACE}-{SPAN}-d-05e3ac9a4f6e3b90"), both(true)),
            (format!("{TRACE}-{SPAN}-0"), both(false)),
            (format!("{TRACE}-{SPAN}"), both(false)),
            ("0".to_owned(), None),
            (String::new(), None),
            (format!("{}-{SPAN}-1", "0".repeat(32)), None),
            (format!("{TRACE}-{}-1", "0".repeat(16)), None),
            (format!("{}-{SPAN}-1", &TRACE[1..]), None),
            (format!("+{}-{SPAN}-1", &TRACE[1..]), None),
            (format!("é{}-{SPAN}-1", &TRACE[2..]), None),
        ] {
            assert_eq!(read(&[(SINGLE, single.clone())]), want, "{single}");
        }
        let several = |sampled: &str, flags: &str| {
            read(&[
                (TRACE_ID, TRACE.to_owned()),
                (SPAN_ID, SPAN.to_owned()),
                (SAMPLED, sampled.to_owned()),
                (FLAGS, flags.to_owned()),
            ])
        };
        assert_eq!(several("1", "0"), both(true));
        assert_eq!(several("true", ""), both(true));
        assert_eq!(several("0", "1"), both(true), "debugging");
        assert_eq!(several("0", "0"), both(false));
        assert_eq!(read(&[(TRACE_ID, TRACE.to_owned())]), None);
        // An id of 64 bits is one of 128 that begins with zeros.
        let short = read(&[(SINGLE, format!("{}-{SPAN}-1", &TRACE[16..]))]);
        assert_eq!(
            short.expect("a span").0,
            format!("{}{}", "0".repeat(16), &TRACE[16..])
        );
        // One that cannot be read does not hide the others.
        let spoilt = read(&[
            (SINGLE, "?".to_owned()),
            (TRACE_ID, TRACE.to_owned()),
            (SPAN_ID, SPAN.to_owned()),
        ]);
        assert_eq!(spoilt, both(false));
    }

    #[test]
    fn both_spellings_are_written_in_place_of_what_was_there() {
        let before = [(PARENT, "x"), (FLAGS, "1"), (SINGLE, "y")];
        let mut attachments: Attachments = before.into_iter().collect();
        let span = of_single(&format!("{TRACE}-{SPAN}-1")).expect("a span");
        inject(&span, &mut attachments);
        for (name, want) in [
            (SINGLE, Some(format!("{TRACE}-{SPAN}-1"))),
            (TRACE_ID, Some(TRACE.to_owned())),
            (SPAN_ID, Some(SPAN.to_owned())),
            (SAMPLED, Some("1".to_owned())),
            (PARENT, None),
            (FLAGS, None),
        ] {
            assert_eq!(attachments.get(name), want.as_deref(), "{name}");
        }
    }
}
