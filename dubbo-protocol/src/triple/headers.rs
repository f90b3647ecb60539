//! The header names and values of Triple, and what a request's headers say.
//!
//! Which names are never attachments is [`dubbo_core::attachments::is_reserved`]'s to say.

use dubbo_core::{payload::Codec, service::MethodRef};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_TYPE, USER_AGENT},
};

use super::form::is_wrapped;

/// What the other side of a call is, as far as it changes what may be sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerKind {
    /// dubbo-go, or this framework: knows code 17.
    Dubbo,
    /// Dubbo Java, which names no user agent. Code 17 or a repeated reserved trailer ends its call without a word, and
    /// it percent-decodes the message inside the details once more (`docs/spec/triple.md` §3.3, §13.1).
    Java,
    /// A gRPC client of another make.
    Other,
}

impl PeerKind {
    /// The caller that sent `headers`.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let Some(agent) = headers.get(USER_AGENT) else {
            return Self::Java;
        };
        let agent = agent.as_bytes();
        if KNOW_BUSINESS_CODE.iter().any(|own| agent.starts_with(own)) {
            Self::Dubbo
        } else {
            Self::Other
        }
    }

    /// Whether it can be sent a code that gRPC does not define.
    pub(crate) fn knows_own_codes(self) -> bool {
        self == Self::Dubbo
    }
}

/// A content type of the gRPC dialect (`docs/spec/triple.md` §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrpcContent {
    /// `application/grpc`, protobuf by default.
    Bare,
    /// `application/grpc+hessian2`: what methods without an IDL take, in the same wrapper as under the others.
    Hessian2,
    /// `application/grpc+json`.
    Json,
    /// `application/grpc+json; charset=utf-8`.
    JsonUtf8,
    /// `application/grpc+proto`.
    Proto,
}

impl GrpcContent {
    /// All of them; nearly every peer writes the first.
    pub(crate) const ALL: [Self; 5] = [
        Self::Proto,
        Self::Bare,
        Self::Hessian2,
        Self::Json,
        Self::JsonUtf8,
    ];

    /// The content type that `headers` name; `None` when it is another, or missing.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let raw = headers.get(CONTENT_TYPE)?.as_bytes();
        let known = |raw: &[u8]| {
            Self::ALL
                .into_iter()
                .find(|kind| kind.text().as_bytes() == raw)
        };
        // Nearly every peer writes the canonical form.
        known(raw).or_else(|| known(canonical(std::str::from_utf8(raw).ok()?).as_bytes()))
    }

    /// The form of the messages.
    pub(crate) fn codec(self) -> Codec {
        match self {
            Self::Bare | Self::Proto => Codec::Protobuf,
            Self::Hessian2 => Codec::Hessian2,
            Self::Json | Self::JsonUtf8 => Codec::Json,
        }
    }

    /// Whether messages of `method` can have this form: hessian values have none in JSON, and protobuf none in hessian.
    pub(crate) fn suits(self, method: &MethodRef) -> bool {
        match self {
            Self::Bare | Self::Proto => true,
            Self::Hessian2 => is_wrapped(method),
            Self::Json | Self::JsonUtf8 => !is_wrapped(method),
        }
    }

    /// The header value: a response says what its request said.
    pub(crate) fn value(self) -> HeaderValue {
        HeaderValue::from_static(self.text())
    }

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Bare => "application/grpc",
            Self::Hessian2 => "application/grpc+hessian2",
            Self::Json => "application/grpc+json",
            Self::JsonUtf8 => "application/grpc+json; charset=utf-8",
            Self::Proto => "application/grpc+proto",
        }
    }
}

/// Whether `headers` come from a gRPC caller, who can read nothing but a `grpc-status`.
///
/// gRPC-Web is not meant: its callers cannot read trailers.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    is_of_kind(headers, GRPC, b"+; \t")
}

/// Whether the content type of `headers` is `kind`, alone or with one of `ends` behind it.
pub(crate) fn is_of_kind(headers: &HeaderMap, kind: &str, ends: &[u8]) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        let (named, rest) = value
            .as_bytes()
            .trim_ascii_start()
            .split_at_checked(kind.len())
            .unwrap_or_default();
        let is_over = rest.first().is_none_or(|byte| ends.contains(byte));
        named.eq_ignore_ascii_case(kind.as_bytes()) && is_over
    })
}

/// Lower-cases the type and a charset, and puts one space before it (`docs/spec/triple.md` §2.1).
pub(crate) fn canonical(raw: &str) -> String {
    let (kind, parameters) = raw.split_once(';').unwrap_or((raw, ""));
    let kind = kind.trim_ascii().to_ascii_lowercase();
    let parameters = parameters.trim_ascii();
    match parameters.split_once('=') {
        Some((name, value)) if name.trim_ascii().eq_ignore_ascii_case("charset") => {
            let around = |c: char| c == '"' || c.is_ascii_whitespace();
            let value = value.trim_matches(around).to_ascii_lowercase();
            format!("{kind}; charset={value}")
        }
        None if parameters.is_empty() => kind,
        _ => format!("{kind};{parameters}"),
    }
}

/// Which compressions a peer may use towards us.
pub(crate) const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// How messages with flag 1 are compressed.
pub(crate) const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// The text of an error.
pub(crate) const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// When a call that failed may be tried again, in milliseconds; below zero, never.
pub(crate) const GRPC_RETRY_PUSHBACK: HeaderName =
    HeaderName::from_static("grpc-retry-pushback-ms");
/// The code of the outcome.
pub(crate) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// A `google.rpc.Status`.
pub(crate) const GRPC_STATUS_DETAILS: HeaderName =
    HeaderName::from_static("grpc-status-details-bin");
/// How much longer the caller waits.
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// Not 0 when the application failed the call.
pub(crate) const TRI_EXCEPTION_CODE: HeaderName = HeaderName::from_static("tri-exception-code");
/// The group of the service that is called.
pub(crate) const TRI_SERVICE_GROUP: HeaderName = HeaderName::from_static("tri-service-group");
/// The version of the service that is called.
pub(crate) const TRI_SERVICE_VERSION: HeaderName = HeaderName::from_static("tri-service-version");

/// How this framework names itself to servers.
pub(crate) const OUR_USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("dubbo-rust/", env!("CARGO_PKG_VERSION")));

const GRPC: &str = "application/grpc";

const KNOW_BUSINESS_CODE: [&[u8]; 3] = [b"grpc-go-triple/", b"triple-go/", b"dubbo-rust/"];

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn content_types_are_matched_in_their_canonical_form() {
        for (given, want) in [
            ("application/grpc", Some(GrpcContent::Bare)),
            ("Application/gRPC+Proto", Some(GrpcContent::Proto)),
            ("application/grpc+json", Some(GrpcContent::Json)),
            (
                "application/grpc+json;charset=UTF-8",
                Some(GrpcContent::JsonUtf8),
            ),
            (
                "application/grpc+json ;  charset = utf-8",
                Some(GrpcContent::JsonUtf8),
            ),
            ("application/grpc+json; charset=latin1", None),
            ("application/grpc; x=y", None),
            ("application/grpc-web+proto", None),
            ("application/json", None),
            ("", None),
        ] {
            let got = GrpcContent::of(&with(CONTENT_TYPE, given));
            assert_eq!(got, want, "{given:?}");
        }
        assert_eq!(GrpcContent::of(&HeaderMap::new()), None);
    }

    #[test]
    fn a_canonical_content_type_stays_as_it_is_and_only_blanks_of_http_go() {
        let blanks = ["", " ", "\t", " \t "];
        let quotes = ["", "\"", "\" ", "\t\"", "\"\t\"", "\"\""];
        for blank in blanks {
            for quote in quotes {
                let raw =
                    format!("{blank}A/B{blank};{blank}Charset{blank}={quote}UTF-8{quote}{blank}");
                let once = canonical(&raw);
                assert_eq!(once, "a/b; charset=utf-8", "{raw:?}");
                assert_eq!(canonical(&once), once, "{raw:?}");
            }
            let raw = format!("A/B{blank};{blank}x=y");
            assert_eq!(canonical(&canonical(&raw)), canonical(&raw), "{raw:?}");
        }
        for other in ["\u{a0}application/grpc", "application/grpc\u{2003}"] {
            let value = HeaderValue::from_bytes(other.as_bytes()).expect("legal");
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value)]);
            assert_eq!(GrpcContent::of(&headers), None, "{other:?}");
        }
    }

    #[test]
    fn a_grpc_caller_is_known_by_the_start_of_its_content_type() {
        for (given, want) in [
            ("APPLICATION/GRPC", true),
            ("application/grpc+thrift", true),
            ("application/grpc; x=y", true),
            ("\t application/grpc+json\t", true),
            ("application/grpc\t; x=y", true),
            ("application/grpc-web+proto", false),
            ("application/json", false),
            ("app", false),
        ] {
            assert_eq!(is_grpc(&with(CONTENT_TYPE, given)), want, "{given:?}");
        }
    }

    #[test]
    fn callers_are_told_apart_by_their_user_agent() {
        for (agent, want) in [
            ("grpc-go-triple/0.1.0 (go1.26.8)", PeerKind::Dubbo),
            ("triple-go/0.1.0 (go1.26.8)", PeerKind::Dubbo),
            ("dubbo-rust/9.9.9", PeerKind::Dubbo),
            ("grpc-go/1.80.0", PeerKind::Other),
            ("", PeerKind::Other),
        ] {
            assert_eq!(PeerKind::of(&with(USER_AGENT, agent)), want, "{agent:?}");
        }
        assert_eq!(PeerKind::of(&HeaderMap::new()), PeerKind::Java);
    }
}
