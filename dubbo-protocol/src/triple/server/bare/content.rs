//! In which form a message is that stands alone.

use dubbo_core::{
    payload::Codec,
    service::{CallKind, MethodRef},
};
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};

use crate::triple::{form::is_wrapped, headers::canonical};

/// A content type of calls over plain HTTP (`docs/spec/triple.md` §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Content {
    /// `application/hessian2`: the values of a method without an IDL, in the wrapper that gRPC carries them in.
    Hessian2,
    /// `application/json`.
    Json,
    /// `application/json; charset=utf-8`.
    JsonUtf8,
    /// `application/proto`: a message of a proto file, or the wrapper.
    Proto,
}

impl Content {
    /// All of them.
    pub(in super::super) const ALL: [Self; 4] =
        [Self::Json, Self::JsonUtf8, Self::Proto, Self::Hessian2];

    /// The content type that `headers` name; `None` when it is another, or missing.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let raw = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let known = |text: &str| Self::ALL.into_iter().find(|kind| kind.text() == text);
        known(raw).or_else(|| known(&canonical(raw)))
    }

    /// The form of the message.
    pub(super) fn codec(self) -> Codec {
        match self {
            Self::Hessian2 => Codec::Hessian2,
            Self::Json | Self::JsonUtf8 => Codec::Json,
            Self::Proto => Codec::Protobuf,
        }
    }

    /// Whether calls of `method` can have this form. Streams of answers go out as events, which are JSON; for streams of
    /// requests there is none.
    pub(in super::super) fn suits(self, method: &MethodRef) -> bool {
        let is_json = self.codec() == Codec::Json;
        match method.kind() {
            CallKind::Unary => self != Self::Hessian2 || is_wrapped(method),
            CallKind::ServerStream => is_json,
            CallKind::ClientStream | CallKind::BidiStream => false,
        }
    }

    /// The header value: a response says what its request said.
    pub(super) fn value(self) -> HeaderValue {
        HeaderValue::from_static(self.text())
    }

    pub(in super::super) const fn text(self) -> &'static str {
        match self {
            Self::Hessian2 => "application/hessian2",
            Self::Json => "application/json",
            Self::JsonUtf8 => "application/json; charset=utf-8",
            Self::Proto => "application/proto",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_matched_in_their_canonical_form() {
        for (given, want) in [
            ("application/json", Some(Content::Json)),
            ("Application/JSON", Some(Content::Json)),
            ("application/json;charset=UTF-8", Some(Content::JsonUtf8)),
            (
                "application/json ; charset=\"utf-8\"",
                Some(Content::JsonUtf8),
            ),
            ("application/json; charset=latin1", None),
            ("application/json; x=y", None),
            ("application/proto", Some(Content::Proto)),
            ("application/hessian2", Some(Content::Hessian2)),
            ("application/msgpack", None),
            ("application/x-protobuf", None),
            ("application/grpc", None),
            ("text/xml", None),
            ("", None),
        ] {
            let value = HeaderValue::from_static(given);
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value)]);
            assert_eq!(Content::of(&headers), want, "{given:?}");
        }
        assert_eq!(Content::of(&HeaderMap::new()), None);
    }
}
