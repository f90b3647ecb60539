//! What a reference speaks: how its requests say what they are, and how answers are read (`docs/spec/triple.md` §2.3).
//!
//! | file | what |
//! |---|---|
//! | `mod` | which there are, and the heads of their requests |
//! | `messages` | the messages in an answer, whatever they are in |
//! | `web` | gRPC-Web's trailers |
//! | `connect`, `error` | answers of Connect: one message, or an error in JSON |

mod connect;
mod error;
pub(crate) mod fuzzing;
mod messages;
mod web;

use std::{fmt, str::FromStr, time::Duration};

use bytes::Bytes;
use dubbo_core::{
    service::CallKind,
    url::{Key, Url, UrlError, UrlValue},
};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, TE},
};

pub(super) use self::messages::{Messages, Rest};
use super::super::{
    compression::Compression,
    headers::{GRPC_ACCEPT_ENCODING, GRPC_ENCODING, GRPC_TIMEOUT, GrpcContent},
    timeout,
};

/// How a reference of Triple talks to its providers: its parameter `triple.dialect`.
///
/// All of them call the same methods with the same attachments, errors and deadlines. What is between the two ends may
/// understand one and not the other: few proxies pass gRPC's trailers on, and every one passes a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TripleDialect {
    /// `connect`: Connect's unary calls, whose body is the message. Streams are refused.
    Connect,
    /// `grpc`: gRPC, the default. It needs HTTP/2.
    #[default]
    Grpc,
    /// `grpc-web`: gRPC with the trailers in the body, in binary.
    GrpcWeb,
}

impl TripleDialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Grpc, Self::GrpcWeb, Self::Connect];

    /// Its name in URLs and in YAML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Grpc => "grpc",
            Self::GrpcWeb => "grpc-web",
        }
    }

    /// What `url` says.
    ///
    /// # Errors
    ///
    /// It is none of them.
    pub(super) fn read(url: &Url) -> Result<Self, UrlError> {
        url.get(&DIALECT)
    }

    /// Whether it has calls of that kind.
    pub(super) fn has(self, kind: CallKind) -> bool {
        self != Self::Connect || kind == CallKind::Unary
    }

    /// Whether its messages are in envelopes, each of which says whether it is compressed.
    pub(super) fn has_envelopes(self) -> bool {
        self != Self::Connect
    }

    /// Writes the headers of a request that say what it is, how its messages are written, and how long its caller waits.
    pub(super) fn describe(
        self,
        is_json: bool,
        compression: Option<Compression>,
        remaining: Option<Duration>,
        headers: &mut HeaderMap,
    ) {
        headers.insert(CONTENT_TYPE, self.content(is_json));
        let (offer, announcement) = self.encodings();
        headers.insert(offer, Compression::OFFER);
        if let Some(compression) = compression {
            headers.insert(announcement, compression.header());
        }
        match self {
            Self::Connect => headers.insert(CONNECT_VERSION, HeaderValue::from_static("1")),
            Self::Grpc => headers.insert(TE, HeaderValue::from_static("trailers")),
            Self::GrpcWeb => headers.insert(X_GRPC_WEB, HeaderValue::from_static("1")),
        };
        let Some(remaining) = remaining else {
            return;
        };
        let text = match self {
            Self::Connect => millis(remaining),
            Self::Grpc | Self::GrpcWeb => timeout::format(remaining),
        };
        // Digits and a letter: always legal.
        let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(text)) else {
            return;
        };
        if self == Self::Connect {
            // The one is for Connect's servers, the other for dubbo-go's, which read it in the same calls.
            headers.insert(CONNECT_TIMEOUT, value.clone());
            headers.insert(TRIPLE_TIMEOUT, value);
        } else {
            headers.insert(GRPC_TIMEOUT, value);
        }
    }

    /// The headers that say which compressions may be used, and which one is.
    fn encodings(self) -> (HeaderName, HeaderName) {
        if self.has_envelopes() {
            (GRPC_ACCEPT_ENCODING, GRPC_ENCODING)
        } else {
            (ACCEPT_ENCODING, CONTENT_ENCODING)
        }
    }

    fn content(self, is_json: bool) -> HeaderValue {
        match (self, is_json) {
            (Self::Connect, false) => HeaderValue::from_static(connect::PROTO),
            (Self::Connect, true) => HeaderValue::from_static(connect::JSON),
            (Self::Grpc, false) => GrpcContent::Proto.value(),
            (Self::Grpc, true) => GrpcContent::Json.value(),
            (Self::GrpcWeb, false) => HeaderValue::from_static("application/grpc-web+proto"),
            (Self::GrpcWeb, true) => HeaderValue::from_static("application/grpc-web+json"),
        }
    }
}

impl fmt::Display for TripleDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TripleDialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        let mut named = Self::ALL.into_iter();
        named
            .find(|dialect| text.eq_ignore_ascii_case(dialect.name()))
            .ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}

impl UrlValue for TripleDialect {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|error: UnknownDialect| error.to_string())
    }
}

/// A name that is none of [`TripleDialect`]'s.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Triple has no dialect {0:?}; use one of grpc, grpc-web and connect")]
pub struct UnknownDialect(String);

/// Rounded up, so that what is left never becomes the 0 that is over, and no longer than Connect can say.
fn millis(remaining: Duration) -> String {
    let millis = remaining.as_nanos().div_ceil(NANOS_PER_MILLI);
    millis.min(MOST_MILLIS).to_string()
}

const DIALECT: Key<TripleDialect> = Key {
    name: "triple.dialect",
    default: TripleDialect::default,
};

const CONNECT_TIMEOUT: HeaderName = HeaderName::from_static("connect-timeout-ms");
const CONNECT_VERSION: HeaderName = HeaderName::from_static("connect-protocol-version");
const TRIPLE_TIMEOUT: HeaderName = HeaderName::from_static("triple-timeout-ms");
const X_GRPC_WEB: HeaderName = HeaderName::from_static("x-grpc-web");

const NANOS_PER_MILLI: u128 = 1_000_000;
/// Ten digits.
const MOST_MILLIS: u128 = 9_999_999_999;

#[cfg(test)]
mod tests {
    use super::*;

    fn described(dialect: TripleDialect, is_json: bool, packed: bool) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        let compression = packed.then_some(Compression::Gzip);
        let remaining = packed.then_some(Duration::from_micros(1_500));
        dialect.describe(is_json, compression, remaining, &mut headers);
        let text = |value: &HeaderValue| value.to_str().expect("ASCII").to_owned();
        let headers = headers.iter();
        let mut all: Vec<_> = headers
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn each_dialect_has_its_own_words() {
        let offer = "gzip,deflate,zstd";
        for (dialect, is_json, packed, want) in [
            (
                TripleDialect::Connect,
                true,
                true,
                &[
                    ("accept-encoding", offer),
                    ("connect-protocol-version", "1"),
                    ("connect-timeout-ms", "2"),
                    ("content-encoding", "gzip"),
                    ("content-type", "application/json"),
                    ("triple-timeout-ms", "2"),
                ][..],
            ),
            (
                TripleDialect::Connect,
                false,
                false,
                &[
                    ("accept-encoding", offer),
                    ("connect-protocol-version", "1"),
                    ("content-type", "application/proto"),
                ],
            ),
            (
                TripleDialect::GrpcWeb,
                true,
                true,
                &[
                    ("content-type", "application/grpc-web+json"),
                    ("grpc-accept-encoding", offer),
                    ("grpc-encoding", "gzip"),
                    ("grpc-timeout", "1500000n"),
                    ("x-grpc-web", "1"),
                ],
            ),
            (
                TripleDialect::GrpcWeb,
                false,
                false,
                &[
                    ("content-type", "application/grpc-web+proto"),
                    ("grpc-accept-encoding", offer),
                    ("x-grpc-web", "1"),
                ],
            ),
            (
                TripleDialect::Grpc,
                false,
                false,
                &[
                    ("content-type", "application/grpc+proto"),
                    ("grpc-accept-encoding", offer),
                    ("te", "trailers"),
                ],
            ),
        ] {
            let want: Vec<_> = want
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(described(dialect, is_json, packed), want, "{dialect}");
        }
    }

    #[test]
    fn time_left_is_never_written_as_time_that_is_over() {
        for (remaining, want) in [
            (Duration::from_nanos(1), "1"),
            (Duration::from_millis(2), "2"),
            (Duration::ZERO, "0"),
            (Duration::MAX, "9999999999"),
        ] {
            assert_eq!(millis(remaining), want);
        }
    }

    #[test]
    fn dialects_are_read_by_their_names() {
        let read = |query: &str| {
            let url: Url = format!("tri://h:1/x.Y?{query}").parse().expect(query);
            TripleDialect::read(&url)
        };
        assert_eq!(read(""), Ok(TripleDialect::Grpc));
        for dialect in TripleDialect::ALL {
            assert_eq!(read(&format!("triple.dialect={dialect}")), Ok(dialect));
        }
        let error = read("triple.dialect=grpcweb").expect_err("none");
        assert!(
            error.reason.contains("grpc, grpc-web and connect"),
            "{error}"
        );
    }
}
