//! W3C `traceparent`: which trace a call belongs to.

use std::fmt;

use dubbo_core::attachments::Attachments;

/// The attachment.
pub(super) const NAME: &str = "traceparent";

/// What a `traceparent` says: `00-<trace id>-<span id>-<flags>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceParent {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

impl TraceParent {
    /// That of a call, if it has one that can be read.
    pub(super) fn of(attachments: &Attachments) -> Option<Self> {
        Self::parse(attachments.get(NAME)?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let version = hexadecimal(parts.next()?, 2)?;
        let trace_id = hexadecimal(parts.next()?, 32)?;
        let span_id = u64::try_from(hexadecimal(parts.next()?, 16)?).ok()?;
        let flags = hexadecimal(parts.next()?, 2)?;
        // Later versions may have more to say; this one has not.
        let is_known = version != 0xff && (version > 0 || parts.next().is_none());
        (is_known && trace_id != 0 && span_id != 0).then(|| Self {
            trace_id,
            span_id,
            flags: u8::try_from(flags).unwrap_or_default(),
        })
    }

    /// What is below it in the same trace: another span.
    pub(super) fn child(&self, random: &mut fastrand::Rng) -> Self {
        Self {
            span_id: random.u64(1..),
            ..self.clone()
        }
    }

    /// As 32 hexadecimal digits.
    pub(super) fn trace_id(&self) -> String {
        format!("{:032x}", self.trace_id)
    }

    /// As 16 hexadecimal digits.
    pub(super) fn span_id(&self) -> String {
        format!("{:016x}", self.span_id)
    }

    /// The trace, and the span in it. Neither is 0.
    #[cfg(feature = "otel")]
    pub(super) fn ids(&self) -> (u128, u64) {
        (self.trace_id, self.span_id)
    }

    /// Whether the caller records the trace.
    pub(super) fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{:032x}-{:016x}-{:02x}",
            self.trace_id, self.span_id, self.flags
        )
    }
}

/// A number of `len` digits, lower-case hexadecimal.
pub(super) fn hexadecimal(text: &str, len: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == len && text.bytes().all(is_digit))
        .then(|| u128::from_str_radix(text, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn what_is_no_traceparent_is_none() {
        let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let parent = TraceParent::parse(&good).expect("valid");
        assert_eq!(parent.to_string(), good);
        assert_eq!(
            (parent.trace_id().as_str(), parent.span_id().as_str()),
            (TRACE, "00f067aa0ba902b7")
        );
        assert!(parent.is_sampled());
        for bad in [
            String::new(),
            "00".to_owned(),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{TRACE}-00f067aa0ba902b7-01-x"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-00f067aa0ba902b7-1"),
            format!("00-+{}-00f067aa0ba902b7-01", &TRACE[1..]),
            format!("00-é{}-00f067aa0ba902b7-01", &TRACE[2..]),
        ] {
            assert_eq!(TraceParent::parse(&bad), None, "{bad}");
        }
        let later = format!("01-{TRACE}-00f067aa0ba902b7-00-more");
        assert!(
            !TraceParent::parse(&later)
                .expect("of a later version")
                .is_sampled()
        );
    }

    #[test]
    fn a_child_is_of_the_same_trace_and_another_span() {
        let parent = TraceParent::parse(&format!("00-{TRACE}-00f067aa0ba902b7-01")).expect("valid");
        let mut random = fastrand::Rng::with_seed(42);
        let (one, two) = (parent.child(&mut random), parent.child(&mut random));
        assert_eq!((one.trace_id().as_str(), one.is_sampled()), (TRACE, true));
        assert!(one.span_id() != parent.span_id() && one.span_id() != two.span_id());
        assert_eq!(TraceParent::parse(&one.to_string()), Some(one));
    }
}
