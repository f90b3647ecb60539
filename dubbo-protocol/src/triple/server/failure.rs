//! Failures as callers without gRPC read them: a status of HTTP and a body of JSON (`docs/spec/triple.md` §5.2, §5.3).

use base64::{Engine as _, prelude::BASE64_STANDARD_NO_PAD};
use bytes::Bytes;
use dubbo_core::{
    context::ReplyContext,
    service::MethodRef,
    status::{Code, Status},
};
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER},
};
use serde::Serialize;

use super::reply::{BIZ_EXCEPTION, ReplyBody, respond, write_attachments, write_trailers};
use crate::triple::{
    compression::Compression,
    headers::{PeerKind, TRI_EXCEPTION_CODE},
    status_wire::wire_code,
};

/// A request that was not answered as it was meant.
#[derive(Debug)]
pub(super) struct Failure {
    /// In place of what the code has.
    http: Option<StatusCode>,
    status: Status,
}

impl Failure {
    /// One that HTTP has a status of its own for.
    pub(super) fn of(http: StatusCode, status: Status) -> Self {
        Self {
            http: Some(http),
            status,
        }
    }

    /// Says that the handler had done its work when it happened: another try would do it again.
    pub(super) fn done(self) -> Self {
        let status = self.status.done();
        Self { status, ..self }
    }

    /// Says which call met a limit: many have one in common.
    pub(super) fn of_method(self, method: &MethodRef) -> Self {
        if self.status.code() != Code::ResourceExhausted {
            return self;
        }
        let status = self
            .status
            .context(format_args!("the request of {method:?}"));
        Self { status, ..self }
    }

    /// The answer. Attachments that HTTP cannot carry stay behind: the status is what counts.
    pub(super) fn answer(&self, peer: PeerKind, reply: &ReplyContext) -> Response<ReplyBody> {
        let mut headers = HeaderMap::with_capacity(2);
        let status = &self.status;
        let (before, after) = (reply.take_headers(), reply.take_trailers());
        for written in [
            write_attachments(&before, peer, &mut headers),
            write_attachments(status.attachments(), peer, &mut headers),
            write_trailers(&[&after], peer, &mut headers),
        ] {
            if let Err(error) = written {
                tracing::warn!(%error, "attachments of a failed call are left out");
            }
        }
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT_ENCODING, Compression::OFFER);
        if status.code() == Code::Business && !peer.knows_own_codes() {
            // Beside `unknown` this tells business from accident, as it does in gRPC.
            headers.insert(TRI_EXCEPTION_CODE, BIZ_EXCEPTION);
        }
        if let Some(wait) = status.pushback() {
            let seconds = wait.as_millis().div_ceil(1_000);
            let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        let mut response = respond(headers, ReplyBody::Plain(body(status, peer)));
        *response.status_mut() = self.http.unwrap_or_else(|| http_status(status.code()));
        response
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { http: None, status }
    }
}

/// `status` as JSON.
pub(super) fn body(status: &Status, peer: PeerKind) -> Bytes {
    let details = status.details().iter().map(|detail| Detail {
        name: detail
            .type_url
            .strip_prefix(TYPE_PREFIX)
            .unwrap_or(&detail.type_url),
        value: BASE64_STANDARD_NO_PAD.encode(&detail.value),
    });
    let body = Body {
        code: Code::from_number(wire_code(status.code(), peer)).to_string(),
        message: status.message(),
        details: details.collect(),
    };
    let json = serde_json::to_vec(&body);
    json.expect("invariant: texts are JSON").into()
}

/// What HTTP has for a code: dubbo-go's table, for all callers.
fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Canceled | Code::DeadlineExceeded => StatusCode::REQUEST_TIMEOUT,
        Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::NotFound | Code::Unimplemented => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::FailedPrecondition => StatusCode::PRECONDITION_FAILED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[derive(Serialize)]
struct Body<'s> {
    code: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'s str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail<'s>>,
}

#[derive(Serialize)]
struct Detail<'s> {
    #[serde(rename = "type")]
    name: &'s str,
    value: String,
}

/// The content type of every failure, whatever the request's was.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const TYPE_PREFIX: &str = "type.googleapis.com/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_status_that_dubbo_go_gives_it() {
        let table = [
            (1, "canceled", 408),
            (2, "unknown", 500),
            (3, "invalid_argument", 400),
            (4, "deadline_exceeded", 408),
            (5, "not_found", 404),
            (6, "already_exists", 409),
            (7, "permission_denied", 403),
            (8, "resource_exhausted", 429),
            (9, "failed_precondition", 412),
            (10, "aborted", 409),
            (11, "out_of_range", 400),
            (12, "unimplemented", 404),
            (13, "internal", 500),
            (14, "unavailable", 503),
            (15, "data_loss", 500),
            (16, "unauthenticated", 401),
            (17, "code_17", 500),
            (99, "code_99", 500),
        ];
        for (number, name, http) in table {
            let failure = Failure::from(Status::new(Code::from_number(number), "why"));
            let answer = failure.answer(PeerKind::Dubbo, &ReplyContext::default());
            assert_eq!(answer.status().as_u16(), http, "{name}");
            assert_eq!(answer.headers()[CONTENT_TYPE], "application/json");
            let text = body(&failure.status, PeerKind::Dubbo);
            assert_eq!(text, format!("{{\"code\":\"{name}\",\"message\":\"why\"}}"));
        }
    }

    #[test]
    fn code_17_goes_to_those_who_know_it_and_the_others_are_told_that_it_was_no_accident() {
        let failure = Failure::from(Status::business("boom"));
        for (peer, code, header) in [
            (PeerKind::Dubbo, "code_17", None),
            (PeerKind::Java, "unknown", Some("3")),
            (PeerKind::Other, "unknown", Some("3")),
        ] {
            let text = body(&failure.status, peer);
            assert_eq!(
                text,
                format!("{{\"code\":\"{code}\",\"message\":\"boom\"}}")
            );
            let answer = failure.answer(peer, &ReplyContext::default());
            let got = answer.headers().get(TRI_EXCEPTION_CODE);
            assert_eq!(got.and_then(|value| value.to_str().ok()), header);
        }
    }

    #[test]
    fn details_have_their_short_name_and_no_padding() {
        let status = Status::invalid_argument("").with_details(vec![
            dubbo_core::status::Detail {
                type_url: "type.googleapis.com/google.rpc.BadRequest".to_owned(),
                value: Bytes::from_static(b"\x0a\x0d\x0a\x04name\x12\x05empty"),
            },
            dubbo_core::status::Detail {
                type_url: "example.com/x.Y".to_owned(),
                value: Bytes::from_static(b"\0"),
            },
        ]);
        assert_eq!(
            body(&status, PeerKind::Other),
            "{\"code\":\"invalid_argument\",\"details\":[\
             {\"type\":\"google.rpc.BadRequest\",\"value\":\"Cg0KBG5hbWUSBWVtcHR5\"},\
             {\"type\":\"example.com/x.Y\",\"value\":\"AA\"}]}"
        );
    }

    #[test]
    fn what_was_set_before_the_failure_goes_along() {
        let reply = ReplyContext::default();
        reply.header("x-a", "1").expect("in time");
        reply.trailer("x-b", "2");
        let mut status = Status::resource_exhausted("too many")
            .with_pushback(std::time::Duration::from_millis(1_001));
        status.attachments_mut().insert("x-c", "3");
        let answer = Failure::from(status).answer(PeerKind::Other, &reply);
        for (name, value) in [
            ("x-a", "1"),
            ("trailer-x-b", "2"),
            ("x-c", "3"),
            ("retry-after", "2"),
        ] {
            assert_eq!(answer.headers()[name], value, "{name}");
        }
    }
}
