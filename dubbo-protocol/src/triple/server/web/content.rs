//! The content types of gRPC-Web.

use dubbo_core::{payload::Codec, service::MethodRef};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

use crate::triple::headers::{GrpcContent, canonical, is_of_kind};

/// One of `application/grpc-web` and `application/grpc-web-text`, with what gRPC has behind `application/grpc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WebContent {
    /// In base64.
    pub(super) text: bool,
    /// What it is in gRPC.
    pub(super) content: GrpcContent,
}

impl WebContent {
    /// Who names none that is known is told so in this.
    pub(super) const BARE: Self = Self {
        text: false,
        content: GrpcContent::Bare,
    };

    /// All of them, for who names another.
    pub(super) const LIST: &'static str = "application/grpc-web, application/grpc-web+json, \
        application/grpc-web+proto, application/grpc-web-text, application/grpc-web-text+json, \
        application/grpc-web-text+proto";

    /// The content type of a request; `None` for another one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::read(headers.get(CONTENT_TYPE)?)
    }

    /// That of the answer: whether it is text is for `accept` to say, if it speaks of gRPC-Web at all.
    pub(super) fn of_answer(self, headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(ACCEPT).iter();
        let accepted = accepted.filter_map(|value| value.to_str().ok());
        let kinds = accepted.flat_map(|value| value.split(','));
        let kinds = kinds.filter_map(|kind| {
            let kind = kind.split(';').next().unwrap_or_default();
            Self::read(&HeaderValue::from_str(kind.trim()).ok()?)
        });
        let text = kinds.map(|kind| kind.text).next().unwrap_or(self.text);
        Self { text, ..self }
    }

    /// The header value.
    pub(super) fn value(self) -> HeaderValue {
        HeaderValue::try_from(self.name())
            .expect("invariant: both parts are constants of visible characters")
    }

    fn name(self) -> String {
        let text = self.content.text();
        let suffix = text.strip_prefix(GRPC).unwrap_or_default();
        let base = if self.text { TEXT } else { BINARY };
        format!("{base}{suffix}")
    }

    fn read(value: &HeaderValue) -> Option<Self> {
        let kind = canonical(value.to_str().ok()?);
        let (text, suffix) = match kind.strip_prefix(TEXT) {
            Some(suffix) => (true, suffix),
            None => (false, kind.strip_prefix(BINARY)?),
        };
        let mut known = known();
        let content = known.find(|kind| kind.text().strip_prefix(GRPC) == Some(suffix))?;
        Some(Self { text, content })
    }
}

/// The content types that calls of `method` may have.
pub(in crate::triple::server) fn accepted(method: &MethodRef) -> impl Iterator<Item = String> {
    let contents = known().filter(|content| content.suits(method));
    contents.flat_map(|content| [false, true].map(|text| WebContent { text, content }.name()))
}

/// What may be within. No browser has values of hessian.
fn known() -> impl Iterator<Item = GrpcContent> {
    let all = GrpcContent::ALL.into_iter();
    all.filter(|content| content.codec() != Codec::Hessian2)
}

/// Whether `headers` come from a caller of gRPC-Web, whatever its messages are.
pub(in crate::triple::server) fn is_web(headers: &HeaderMap) -> bool {
    is_of_kind(headers, BINARY, b"+-; \t")
}

const GRPC: &str = "application/grpc";
const BINARY: &str = "application/grpc-web";
const TEXT: &str = "application/grpc-web-text";

#[cfg(test)]
mod tests {
    use super::*;

    fn with(headers: &[(http::HeaderName, &'static str)]) -> HeaderMap {
        let headers = headers.iter().cloned();
        headers
            .map(|(name, value)| (name, HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn content_types_of_grpc_web_are_those_of_grpc_in_two_forms() {
        for (given, want) in [
            ("application/grpc-web", Some((false, GrpcContent::Bare))),
            (
                "application/grpc-web+proto",
                Some((false, GrpcContent::Proto)),
            ),
            (
                "Application/GRPC-Web+JSON",
                Some((false, GrpcContent::Json)),
            ),
            ("application/grpc-web-text", Some((true, GrpcContent::Bare))),
            (
                "application/grpc-web-text+proto",
                Some((true, GrpcContent::Proto)),
            ),
            (
                "application/grpc-web-text+json;charset=utf-8",
                Some((true, GrpcContent::JsonUtf8)),
            ),
            ("application/grpc-web+thrift", None),
            ("application/grpc-web+hessian2", None),
            ("application/grpc-webs", None),
            ("application/grpc", None),
        ] {
            let headers = with(&[(CONTENT_TYPE, given)]);
            let got = WebContent::of(&headers);
            assert_eq!(got.map(|got| (got.text, got.content)), want, "{given}");
            let ours = given.to_ascii_lowercase().starts_with(BINARY);
            assert_eq!(is_web(&headers), ours && !given.ends_with('s'), "{given}");
            if let Some(got) = got {
                let again = HeaderMap::from_iter([(CONTENT_TYPE, got.value())]);
                assert_eq!(WebContent::of(&again), Some(got));
            }
        }
        assert!(!is_web(&HeaderMap::new()));
    }

    #[test]
    fn a_caller_that_wants_text_gets_text() {
        for (content, accept, want) in [
            ("application/grpc-web-text", "", "application/grpc-web-text"),
            (
                "application/grpc-web-text",
                "*/*",
                "application/grpc-web-text",
            ),
            (
                "application/grpc-web-text",
                "application/grpc-web-text;q=1",
                "application/grpc-web-text",
            ),
            (
                "application/grpc-web-text",
                "application/grpc-web",
                "application/grpc-web",
            ),
            (
                "application/grpc-web+proto",
                "text/html, application/grpc-web-text",
                "application/grpc-web-text+proto",
            ),
            (
                "application/grpc-web+proto",
                "application/json",
                "application/grpc-web+proto",
            ),
        ] {
            let headers = with(&[(CONTENT_TYPE, content), (ACCEPT, accept)]);
            let asked = WebContent::of(&headers).expect(content);
            assert_eq!(
                asked.of_answer(&headers).value(),
                want,
                "{content}: {accept}"
            );
        }
    }
}
