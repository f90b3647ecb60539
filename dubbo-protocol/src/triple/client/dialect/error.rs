//! Errors of Connect: a body of JSON beside a status of HTTP (`docs/spec/triple.md` §5.2, §5.3).

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use dubbo_core::status::{Code, Detail, Origin, Status};
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use serde::Deserialize;

use crate::{
    pushback,
    triple::{
        headers::canonical,
        status_wire::{code_of_http, names_exception},
    },
};

/// The failure that `body` tells, which came with `http` and `headers`, without attachments. An answer of somebody who does
/// not speak Connect is one, too.
pub(super) fn read(http: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    let told: Option<Told> = is_json(headers)
        .then(|| serde_json::from_slice(body).ok())
        .flatten();
    let Some(told) = told else {
        return unknown(http, headers);
    };
    let code = told.code.as_deref().and_then(code_named);
    let code = code.unwrap_or_else(|| code_of_http(http));
    let details = told.details.unwrap_or_default();
    let origin = if code == Code::Business || names_exception(headers) {
        Origin::Business
    } else {
        Origin::Remote
    };
    let status = Status::new(code, told.message.unwrap_or_default())
        .with_origin(origin)
        .with_details(details.into_iter().filter_map(Told::detail).collect());
    pushback::read(status, wait(headers).as_deref())
}

/// An answer that no peer of Connect gives.
pub(super) fn unknown(http: StatusCode, headers: &HeaderMap) -> Status {
    let content = match headers.get(CONTENT_TYPE) {
        Some(value) => format!("content type {value:?}"),
        None => "no content type".to_owned(),
    };
    Status::new(
        code_of_http(http),
        format!("the peer answered HTTP {http} with {content}, which is no answer of Connect"),
    )
    .with_origin(Origin::Transport)
}

/// Whether the content type is JSON, with or without its charset.
fn is_json(headers: &HeaderMap) -> bool {
    let content = headers.get(CONTENT_TYPE);
    let content = content.and_then(|value| value.to_str().ok());
    content.is_some_and(|text| {
        let kind = canonical(text);
        kind == "application/json" || kind == "application/json; charset=utf-8"
    })
}

/// The code that bodies call `name`: `code_17` for one that has none. `ok` is no code of a failure.
fn code_named(name: &str) -> Option<Code> {
    let number = name.strip_prefix("code_").and_then(|n| n.parse().ok());
    let code = match number {
        Some(number) => Code::from_number(number),
        None => (1..=LAST_NAMED)
            .map(Code::from_number)
            .find(|code| code.to_string() == name)?,
    };
    (code != Code::Ok).then_some(code)
}

/// `retry-after` in milliseconds, if it is a number of seconds. A date is for people.
fn wait(headers: &HeaderMap) -> Option<String> {
    let seconds: u64 = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(seconds.saturating_mul(1_000).to_string())
}

/// The body. What is null is not there, and what is unknown says nothing.
#[derive(Deserialize)]
struct Told {
    code: Option<String>,
    message: Option<String>,
    details: Option<Vec<ToldDetail>>,
}

#[derive(Deserialize)]
struct ToldDetail {
    #[serde(rename = "type")]
    name: String,
    value: String,
}

impl Told {
    /// `None` for what does not decode, as with gRPC.
    fn detail(told: ToldDetail) -> Option<Detail> {
        let value = BASE64.decode(told.value).ok()?;
        let type_url = if told.name.contains('/') {
            told.name
        } else {
            format!("{TYPE_PREFIX}{}", told.name)
        };
        Some(Detail {
            type_url,
            value: value.into(),
        })
    }
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const TYPE_PREFIX: &str = "type.googleapis.com/";

/// The last code with a name: 16, `unauthenticated`.
const LAST_NAMED: u32 = 16;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    fn told(http: u16, body: &str) -> Status {
        let http = StatusCode::from_u16(http).expect("a status");
        let headers = headers(&[("content-type", "application/json")]);
        read(http, &headers, body.as_bytes())
    }

    #[test]
    fn the_body_counts_more_than_the_status_of_http() {
        for (http, body, code, message) in [
            (
                404,
                r#"{"code":"not_found","message":"no <user>"}"#,
                Code::NotFound,
                "no <user>",
            ),
            (
                500,
                r#"{"code":"code_17","message":"x"}"#,
                Code::Business,
                "x",
            ),
            (500, r#"{"code":"code_99"}"#, Code::Other(99), ""),
            // What nobody has heard of is what HTTP says.
            (
                503,
                r#"{"code":"odd","message":"x"}"#,
                Code::Unavailable,
                "x",
            ),
            (
                404,
                r#"{"message":null,"code":null,"x":[1]}"#,
                Code::Unimplemented,
                "",
            ),
            (400, r#"{"code":"ok"}"#, Code::Internal, ""),
            (400, r#"{"code":"code_0"}"#, Code::Internal, ""),
        ] {
            let status = told(http, body);
            assert_eq!((status.code(), status.message()), (code, message), "{body}");
        }
    }

    #[test]
    fn every_code_is_known_by_its_name() {
        for number in 1..=20 {
            let code = Code::from_number(number);
            assert_eq!(code_named(&code.to_string()), Some(code));
        }
        for name in ["ok", "", "CANCELED", "code_", "code_-1"] {
            assert_eq!(code_named(name), None, "{name}");
        }
    }

    #[test]
    fn details_are_read_with_and_without_padding_and_prefix() {
        let status = told(
            400,
            r#"{"code":"internal","details":[
                {"type":"google.rpc.BadRequest","value":"AAE","debug":{"a":1}},
                {"type":"example.com/x.Y","value":"AA=="},
                {"type":"x.Z","value":"no base64!"}]}"#,
        );
        let details: Vec<_> = status
            .details()
            .iter()
            .map(|detail| (&*detail.type_url, &*detail.value))
            .collect();
        assert_eq!(
            details,
            [
                ("type.googleapis.com/google.rpc.BadRequest", &[0_u8, 1][..]),
                ("example.com/x.Y", &[0]),
            ]
        );
    }

    #[test]
    fn what_is_no_error_of_connect_is_judged_by_http_and_shown() {
        for (http, content, body, code) in [
            (502, Some("text/html"), "<html>", Code::Unavailable),
            (404, None, "", Code::Unimplemented),
            (500, Some("application/json"), "[1]", Code::Unknown),
            (429, Some("application/json"), "{", Code::Unavailable),
            (
                401,
                Some("application/json; charset=latin1"),
                "{}",
                Code::Unauthenticated,
            ),
        ] {
            let headers: HeaderMap = content
                .map(|content| (CONTENT_TYPE, HeaderValue::from_static(content)))
                .into_iter()
                .collect();
            let http = StatusCode::from_u16(http).expect("a status");
            let status = read(http, &headers, body.as_bytes());
            assert_eq!(status.code(), code, "{status}");
            assert!(status.message().contains(&http.to_string()), "{status}");
            assert_eq!(status.origin(), Origin::Transport);
        }
    }

    #[test]
    fn waits_and_exceptions_are_in_headers() {
        for (value, want) in [
            ("2", Some(Duration::from_secs(2))),
            ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ] {
            let headers = headers(&[
                ("content-type", "application/json"),
                ("retry-after", value),
                ("tri-exception-code", "3"),
            ]);
            let status = read(StatusCode::BAD_REQUEST, &headers, b"{}");
            assert_eq!(status.pushback(), want);
            assert_eq!(status.origin(), Origin::Business);
        }
    }
}
