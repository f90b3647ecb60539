//! A call's outcome on the wire: `grpc-status`, its text and its details, and the other ways in which HTTP/2 says that a
//! call failed (`docs/spec/triple.md` §3.2, §3.3, §5.3).

use std::borrow::Cow;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use dubbo_core::status::{Code, Detail, Origin, Status};
use h2::Reason;
use http::{HeaderMap, HeaderValue, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, utf8_percent_encode};
use prost::Message as _;

use super::headers::{
    GRPC_MESSAGE, GRPC_RETRY_PUSHBACK, GRPC_STATUS, GRPC_STATUS_DETAILS, PeerKind,
    TRI_EXCEPTION_CODE,
};
use crate::pushback;

/// Adds `outcome` to `headers`, in a form that `peer` understands.
///
/// A code that gRPC does not define goes out as 2 to a peer that would choke on it. Text beyond [`MAX_MESSAGE`] is cut
/// and details beyond [`MAX_DETAILS`] stay behind, because a header block over the peer's limit would cost the caller
/// the whole status.
pub(crate) fn write_status(outcome: Result<(), &Status>, peer: PeerKind, headers: &mut HeaderMap) {
    let Err(status) = outcome else {
        headers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
        return;
    };
    let code = wire_code(status.code(), peer);
    headers.insert(GRPC_STATUS, HeaderValue::from(code));
    let message = shortened(status.message());
    if !message.is_empty() {
        let encoded = Cow::from(utf8_percent_encode(message, ESCAPED));
        // Only visible ASCII and spaces are left.
        if let Ok(value) = HeaderValue::from_str(&encoded) {
            headers.insert(GRPC_MESSAGE, value);
        }
    }
    if let Some(details) = details(status, code, message, peer) {
        headers.insert(GRPC_STATUS_DETAILS, details);
    }
    if let Some(wait) = pushback::written(status) {
        headers.insert(GRPC_RETRY_PUSHBACK, HeaderValue::from(wait));
    }
}

/// What `headers` say about the outcome; `None` without a `grpc-status`.
///
/// An error's attachments are the caller's to add: it owns the block. Code and text inside the details count more than
/// those beside them, as they do for every Dubbo peer; details that do not decode are left out.
pub(crate) fn read_status(headers: &HeaderMap) -> Option<Result<(), Status>> {
    let raw = headers.get(GRPC_STATUS)?;
    let number = raw.to_str().ok().and_then(|text| text.trim().parse().ok());
    if number == Some(0) {
        return Some(Ok(()));
    }
    let message = headers.get(GRPC_MESSAGE).map(decode_message);
    let Some(number) = number else {
        let text = format!(
            "the peer sent {raw:?} as grpc-status, which is no code; its message is {:?}",
            message.unwrap_or_default()
        );
        return Some(Err(Status::unknown(text).with_origin(Origin::Remote)));
    };
    let mut code = Code::from_number(number);
    let mut message = message.unwrap_or_default();
    let mut details = Vec::new();
    if let Some(inner) = headers.get(GRPC_STATUS_DETAILS).and_then(decode_details) {
        match u32::try_from(inner.code) {
            Ok(number) if number != 0 => code = Code::from_number(number),
            _ => {}
        }
        if !inner.message.is_empty() {
            message = inner.message;
        }
        details = inner.details.into_iter().map(Detail::from).collect();
    }
    let origin = if code == Code::Business || names_exception(headers) {
        Origin::Business
    } else {
        Origin::Remote
    };
    let status = Status::new(code, message)
        .with_origin(origin)
        .with_details(details);
    let wait = headers.get(GRPC_RETRY_PUSHBACK);
    let wait = wait.map(|value| value.to_str().unwrap_or_default());
    Some(Err(pushback::read(status, wait)))
}

/// Whether response headers say that the application failed the call, as Dubbo Java does beside code 2.
pub(crate) fn names_exception(headers: &HeaderMap) -> bool {
    headers
        .get(TRI_EXCEPTION_CODE)
        .is_some_and(|value| value.as_bytes() != b"0")
}

/// An answer without any `grpc-status`: not a gRPC server, or something in front of one.
pub(crate) fn from_http_status(status: StatusCode, content_type: Option<&HeaderValue>) -> Status {
    let content = match content_type {
        Some(value) => format!("content type {value:?}"),
        None => "no content type".to_owned(),
    };
    Status::new(
        code_of_http(status),
        format!("the peer answered HTTP {status} with {content} and no grpc-status"),
    )
    .with_origin(Origin::Remote)
}

/// What a status of HTTP means where nothing else says how a call went.
pub(crate) fn code_of_http(status: StatusCode) -> Code {
    match status.as_u16() {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502..=504 => Code::Unavailable,
        _ => Code::Unknown,
    }
}

/// A stream that ended with `RST_STREAM`, or a connection with `GOAWAY`.
pub(crate) fn from_reset(reason: Reason) -> Status {
    let code = match reason {
        Reason::CANCEL => Code::Canceled,
        Reason::ENHANCE_YOUR_CALM => Code::ResourceExhausted,
        Reason::INADEQUATE_SECURITY => Code::PermissionDenied,
        Reason::REFUSED_STREAM => Code::Unavailable,
        _ => Code::Internal,
    };
    let status = Status::new(
        code,
        format!("the peer reset the stream: {reason:?} ({reason})"),
    )
    .with_origin(Origin::Transport);
    if reason == Reason::REFUSED_STREAM {
        status.not_processed()
    } else {
        status
    }
}

/// The number of `code` that `peer` understands.
pub(crate) fn wire_code(code: Code, peer: PeerKind) -> u32 {
    match code {
        // An error is never a success, whatever its code says.
        Code::Ok => Code::Unknown.number(),
        Code::Business | Code::Other(_) if !peer.knows_own_codes() => Code::Unknown.number(),
        code => code.number(),
    }
}

/// As much of `message` as fits, even if all of it has to be escaped.
fn shortened(message: &str) -> &str {
    &message[..message.floor_char_boundary(MAX_MESSAGE)]
}

fn details(status: &Status, code: u32, message: &str, peer: PeerKind) -> Option<HeaderValue> {
    if status.details().is_empty() {
        return None;
    }
    // Dubbo Java decodes this text a second time.
    let message = match peer {
        PeerKind::Java => utf8_percent_encode(message, DOUBLY_DECODED).to_string(),
        PeerKind::Dubbo | PeerKind::Other => message.to_owned(),
    };
    let encoded = RpcStatus {
        code: i32::try_from(code).unwrap_or(i32::MAX),
        message,
        details: status.details().iter().cloned().map(Any::from).collect(),
    }
    .encode_to_vec();
    if encoded.len() > MAX_DETAILS {
        tracing::warn!(
            bytes = encoded.len(),
            limit = MAX_DETAILS,
            status = %status,
            "the details of an error are left out: no peer takes headers of that size"
        );
        return None;
    }
    HeaderValue::from_maybe_shared(Bytes::from(BASE64.encode(encoded))).ok()
}

fn decode_details(value: &HeaderValue) -> Option<RpcStatus> {
    let decoded = BASE64
        .decode(value.as_bytes())
        .map_err(|error| error.to_string())
        .and_then(|bytes| RpcStatus::decode(&bytes[..]).map_err(|error| error.to_string()));
    decoded
        .inspect_err(|error| tracing::warn!(%error, "the details of an error cannot be read"))
        .ok()
}

/// Reads text that may be percent-encoded badly or not at all; Dubbo Java sends raw Latin-1.
fn decode_message(value: &HeaderValue) -> String {
    let bytes: Vec<u8> = percent_decode(value.as_bytes()).collect();
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect())
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

impl From<Any> for Detail {
    fn from(any: Any) -> Self {
        Self {
            type_url: any.type_url,
            value: any.value,
        }
    }
}

impl From<Detail> for Any {
    fn from(detail: Detail) -> Self {
        Self {
            type_url: detail.type_url,
            value: detail.value,
        }
    }
}

/// Peers take header blocks of 8 KiB (C++), 16 KiB (hyper) or 32 KiB (Dubbo Java) and more. With every character
/// escaped this is three times as much.
const MAX_MESSAGE: usize = 1_024;

/// In bytes before base64.
const MAX_DETAILS: usize = 6_144;

/// Beside controls and non-ASCII: `+` would be a space to Dubbo Java, and `%` an escape to everyone.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'+');

const DOUBLY_DECODED: &AsciiSet = &AsciiSet::EMPTY.add(b'%').add(b'+');

/// Written without padding, read with and without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Clone, PartialEq, prost::Message)]
    struct BadRequest {
        #[prost(bytes = "vec", tag = "1")]
        field_violation: Vec<u8>,
    }

    impl prost::Name for BadRequest {
        const NAME: &'static str = "BadRequest";
        const PACKAGE: &'static str = "google.rpc";
    }

    fn written(status: &Status, peer: PeerKind) -> HeaderMap {
        let mut headers = HeaderMap::new();
        write_status(Err(status), peer, &mut headers);
        headers
    }

    fn read(pairs: &[(&'static str, &[u8])]) -> Status {
        let headers = pairs
            .iter()
            .map(|(name, value)| {
                let name = http::HeaderName::from_static(name);
                (name, HeaderValue::from_bytes(value).expect("legal"))
            })
            .collect();
        read_status(&headers)
            .expect("has a status")
            .expect_err("an error")
    }

    #[test]
    fn a_call_that_was_done_says_so() {
        let done = Status::internal("its answer cannot be written").done();
        let mut headers = HeaderMap::new();
        write_status(Err(&done), PeerKind::Other, &mut headers);
        assert_eq!(headers[GRPC_RETRY_PUSHBACK], "-1");
        let read = read_status(&headers)
            .expect("a status")
            .expect_err("an error");
        assert!(read.is_done());
        headers.insert(GRPC_RETRY_PUSHBACK, HeaderValue::from_static("100"));
        let read = read_status(&headers)
            .expect("a status")
            .expect_err("an error");
        assert!(!read.is_done());
    }

    #[test]
    fn a_refusal_says_how_long_to_wait() {
        let wait = Duration::from_millis(3);
        let mut headers = HeaderMap::new();
        let refused = Status::resource_exhausted("too many").with_pushback(wait);
        write_status(Err(&refused), PeerKind::Other, &mut headers);
        assert_eq!(headers[GRPC_RETRY_PUSHBACK], "3");
        for (value, want, is_done) in [
            (&b"3"[..], Some(wait), false),
            (b"-1", None, true),
            (b"soon", None, true),
            (b"\xff", None, true),
        ] {
            let pairs = [
                ("grpc-status", &b"8"[..]),
                ("grpc-retry-pushback-ms", value),
            ];
            let read = read(&pairs);
            assert_eq!(
                (read.pushback(), read.is_done()),
                (want, is_done),
                "{value:?}"
            );
        }
    }

    #[test]
    fn success_is_a_zero_and_nothing_else() {
        let mut headers = HeaderMap::new();
        write_status(Ok(()), PeerKind::Other, &mut headers);
        assert_eq!(
            (headers.len(), &headers["grpc-status"]),
            (1, &"0".parse().expect("ok"))
        );
        assert!(matches!(read_status(&headers), Some(Ok(()))));
        assert!(read_status(&HeaderMap::new()).is_none());
    }

    #[test]
    fn an_error_with_details_has_the_bytes_of_dubbo_go() {
        let violation = b"\x0a\x04name\x12\x05empty".to_vec();
        let status = Status::invalid_argument("bad name").with_detail(&BadRequest {
            field_violation: violation,
        });
        let headers = written(&status, PeerKind::Dubbo);
        assert_eq!(headers["grpc-status"], "3");
        assert_eq!(headers["grpc-message"], "bad name");
        assert_eq!(
            headers["grpc-status-details-bin"],
            "CAMSCGJhZCBuYW1lGjwKKXR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5CYWRSZXF1ZXN0Eg8KDQoEbmFtZRIFZW1wdHk"
        );
        let back = read_status(&headers)
            .expect("has one")
            .expect_err("an error");
        assert_eq!(back.details(), status.details());
        assert_eq!(back.origin(), Origin::Remote);
    }

    #[test]
    fn code_17_goes_to_those_who_know_it() {
        let status = Status::business("boom");
        for (peer, want) in [
            (PeerKind::Dubbo, "17"),
            (PeerKind::Java, "2"),
            (PeerKind::Other, "2"),
        ] {
            assert_eq!(written(&status, peer)["grpc-status"], want, "{peer:?}");
        }
        let odd = Status::new(Code::Other(99), "x");
        assert_eq!(written(&odd, PeerKind::Dubbo)["grpc-status"], "99");
        assert_eq!(written(&odd, PeerKind::Java)["grpc-status"], "2");
        let not_ok = Status::new(Code::Ok, "x");
        assert_eq!(written(&not_ok, PeerKind::Dubbo)["grpc-status"], "2");

        let back = read(&[("grpc-status", b"17"), ("grpc-message", b"boom")]);
        assert_eq!(
            (back.code(), back.origin()),
            (Code::Business, Origin::Business)
        );
        let back = read(&[("grpc-status", b"2"), ("tri-exception-code", b"3")]);
        assert_eq!(
            (back.code(), back.origin()),
            (Code::Unknown, Origin::Business)
        );
    }

    #[test]
    fn text_is_escaped_so_that_every_peer_reads_the_same() {
        for (text, want) in [
            ("50% \u{e9}", "50%25 %C3%A9"),
            ("a+b", "a%2Bb"),
            ("line\nbreak\u{7f}", "line%0Abreak%7F"),
            ("~ \"'<>", "~ \"'<>"),
        ] {
            let headers = written(&Status::internal(text), PeerKind::Java);
            assert_eq!(headers["grpc-message"], want);
            let back = read_status(&headers)
                .expect("has one")
                .expect_err("an error");
            assert_eq!(back.message(), text);
        }
        assert!(!written(&Status::internal(""), PeerKind::Java).contains_key("grpc-message"));
    }

    #[test]
    fn badly_escaped_or_raw_text_survives() {
        for (raw, want) in [
            (&b"50% +x"[..], "50% +x"),
            (b"%zz%4", "%zz%4"),
            (b"caf\xe9", "caf\u{e9}"),
            (b"caf\xc3\xa9", "caf\u{e9}"),
            (b"%E4%B8%AD", "\u{4e2d}"),
        ] {
            let status = read(&[("grpc-status", b"5"), ("grpc-message", raw)]);
            assert_eq!(status.message(), want);
        }
    }

    #[test]
    fn details_override_what_stands_beside_them_and_broken_ones_do_not() {
        let padded = b"CBESBGJvb20=";
        let status = read(&[
            ("grpc-status", b"2"),
            ("grpc-message", b"x"),
            ("grpc-status-details-bin", padded),
        ]);
        assert_eq!((status.code(), status.message()), (Code::Business, "boom"));
        for broken in [&b"!"[..], b"AAAA", b"CA"] {
            let status = read(&[
                ("grpc-status", b"5"),
                ("grpc-message", b"x"),
                ("grpc-status-details-bin", broken),
            ]);
            assert_eq!((status.code(), status.message()), (Code::NotFound, "x"));
        }
    }

    #[test]
    fn a_java_peer_decodes_the_inner_text_twice() {
        let status = Status::not_found("50% +x").with_detail(&7_i32);
        let inner = |peer| {
            let headers = written(&status, peer);
            decode_details(&headers[GRPC_STATUS_DETAILS])
                .expect("decodes")
                .message
        };
        assert_eq!(inner(PeerKind::Java), "50%25 %2Bx");
        assert_eq!(inner(PeerKind::Dubbo), "50% +x");
    }

    #[test]
    fn a_status_never_outgrows_what_peers_accept() {
        let long = "\u{e9}".repeat(5_000);
        let huge = String::from_utf8(vec![b'x'; 100_000]).expect("ASCII");
        let status = Status::internal(long).with_detail(&huge);
        let headers = written(&status, PeerKind::Dubbo);
        let size: usize = headers.iter().map(|(_, value)| value.len()).sum();
        assert!(size <= 3 * MAX_MESSAGE + 10, "{size}");
        assert!(!headers.contains_key("grpc-status-details-bin"));
        assert_eq!(headers["grpc-status"], "13");
    }

    #[test]
    fn a_status_that_is_no_number_is_unknown_and_quoted() {
        let status = read(&[("grpc-status", b"abc"), ("grpc-message", b"why")]);
        assert_eq!(status.code(), Code::Unknown);
        assert!(
            status.message().contains("abc") && status.message().contains("why"),
            "{status}"
        );
    }

    #[test]
    fn http_statuses_become_codes() {
        for (status, want) in [
            (400, 13),
            (401, 16),
            (403, 7),
            (404, 12),
            (429, 14),
            (502, 14),
            (503, 14),
            (504, 14),
            (200, 2),
            (500, 2),
            (302, 2),
        ] {
            let http = StatusCode::from_u16(status).expect("legal");
            assert_eq!(
                from_http_status(http, None).code().number(),
                want,
                "{status}"
            );
        }
        let html = HeaderValue::from_static("text/html");
        let status = from_http_status(StatusCode::BAD_GATEWAY, Some(&html));
        assert!(status.message().contains("502") && status.message().contains("text/html"));
    }

    #[test]
    fn resets_become_codes_and_a_refused_stream_was_not_processed() {
        for (reason, want) in [
            (Reason::NO_ERROR, 13),
            (Reason::PROTOCOL_ERROR, 13),
            (Reason::INTERNAL_ERROR, 13),
            (Reason::FLOW_CONTROL_ERROR, 13),
            (Reason::REFUSED_STREAM, 14),
            (Reason::CANCEL, 1),
            (Reason::ENHANCE_YOUR_CALM, 8),
            (Reason::INADEQUATE_SECURITY, 7),
        ] {
            let status = from_reset(reason);
            assert_eq!(status.code().number(), want, "{reason:?}");
            assert_eq!(status.is_not_processed(), want == 14, "{reason:?}");
        }
    }
}
