//! Calls with GET: the message is in the query, as Connect has it (`docs/spec/triple.md` §5.1).

use std::borrow::Cow;

use base64::{
    Engine as _,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use dubbo_core::{service::MethodRef, status::Status};
use http::StatusCode;
use percent_encoding::percent_decode;

use super::{super::failure::Failure, Content};
use crate::triple::compression::Compression;

/// A message in a query.
pub(in crate::triple::server) struct Query {
    pub(super) content: Content,
    /// That of the message.
    pub(super) compression: Option<Compression>,
    pub(in crate::triple::server) message: Bytes,
}

impl Query {
    /// Reads `query` for a call of `method`: `message`, `encoding`, and maybe `base64=1`, `compression` and `connect=v1`.
    ///
    /// # Errors
    ///
    /// The parameter that is missing or of no use.
    pub(in crate::triple::server) fn read(
        query: &str,
        method: &MethodRef,
    ) -> Result<Self, Failure> {
        let parameter = |wanted: &str| {
            let mut pairs = query.split('&');
            pairs.find_map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decoded(name) == wanted.as_bytes()).then(|| decoded(value))
            })
        };
        let unusable = |name: &str, value: &[u8], why: &str| {
            Status::invalid_argument(format!(
                "`{name}={}` in the query is of no use: {why}",
                String::from_utf8_lossy(value)
            ))
        };
        let missing = |name: &str| {
            Status::invalid_argument(format!(
                "a call of {method:?} with GET has its message in the query, \
                 as `?encoding=json&message=...`: there is no `{name}`"
            ))
        };
        let content = match parameter("encoding").as_deref() {
            Some(b"json") => Content::Json,
            Some(b"proto") => Content::Proto,
            None => return Err(missing("encoding").into()),
            Some(other) => {
                let status = unusable("encoding", other, "there are json and proto");
                return Err(Failure::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, status));
            }
        };
        if let Some(other) = parameter("connect").filter(|version| **version != *b"v1") {
            return Err(unusable("connect", &other, "v1 is what there is").into());
        }
        let compression = parameter("compression").unwrap_or_default();
        let compression = Compression::read(&compression)
            .map_err(|error| Status::unimplemented(error.to_string()).with_source(error))?;
        let message = parameter("message").ok_or_else(|| missing("message"))?;
        let message = match parameter("base64").as_deref() {
            None | Some(b"0") => Bytes::from(message.into_owned()),
            Some(b"1") => from_base64(&message).map_err(|error| {
                unusable("message", &message, &format!("it is no base64: {error}"))
            })?,
            Some(other) => return Err(unusable("base64", other, "there are 0 and 1").into()),
        };
        Ok(Self {
            content,
            compression,
            message,
        })
    }
}

/// A name or a value as it was before it was put into a query.
fn decoded(text: &str) -> Cow<'_, [u8]> {
    if text.contains(['+', '%']) {
        let spaced = text.replace('+', " ");
        Cow::Owned(percent_decode(spaced.as_bytes()).collect())
    } else {
        Cow::Borrowed(text.as_bytes())
    }
}

/// Reads either alphabet, with and without padding.
fn from_base64(text: &[u8]) -> Result<Bytes, base64::DecodeError> {
    let url_safe = text.iter().map(|byte| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => *other,
    });
    let url_safe: Vec<u8> = url_safe.collect();
    BASE64.decode(url_safe).map(Bytes::from)
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::{
        context::ReplyContext,
        service::{CallKind, MethodDescriptor, ServiceDescriptor},
    };

    use super::*;
    use crate::triple::headers::PeerKind;

    fn read(query: &str) -> Result<(Content, Bytes), u16> {
        let methods = vec![MethodDescriptor::new("Get", CallKind::Unary)];
        let method = MethodRef::new(Arc::new(ServiceDescriptor::new("x.S", methods)), 0);
        match Query::read(query, &method) {
            Ok(query) => Ok((query.content, query.message)),
            Err(failure) => {
                let answer = failure.answer(PeerKind::Other, &ReplyContext::default());
                Err(answer.status().as_u16())
            }
        }
    }

    #[test]
    fn a_message_is_text_or_base64_of_either_alphabet() {
        let json = Content::Json;
        for (query, content, message) in [
            ("encoding=json&message=%7B%7D", json, &b"{}"[..]),
            (
                "message=%7b%22a%22:%22x+y%22%7d&encoding=json&connect=v1",
                json,
                b"{\"a\":\"x y\"}",
            ),
            ("encoding=proto&message=", Content::Proto, b""),
            (
                "encoding=proto&base64=1&message=-_8",
                Content::Proto,
                b"\xfb\xff",
            ),
            (
                "encoding=proto&base64=1&message=-_8%3D",
                Content::Proto,
                b"\xfb\xff",
            ),
            (
                "encoding=proto&base64=1&message=%2B%2F8=",
                Content::Proto,
                b"\xfb\xff",
            ),
            (
                "encoding=json&base64=0&message=e30&compression=identity",
                json,
                b"e30",
            ),
            ("x=%zz&&encoding=json&message=1&message=2", json, b"1"),
        ] {
            assert_eq!(
                read(query),
                Ok((content, Bytes::from_static(message))),
                "{query}"
            );
        }
    }

    #[test]
    fn a_query_of_no_use_is_refused() {
        for (query, want) in [
            ("", 400),
            ("encoding=json", 400),
            ("message=%7B%7D", 400),
            ("encoding=xml&message=", 415),
            ("encoding=json&message=%7B%7D&connect=v2", 400),
            ("encoding=json&message=%7B%7D&base64=2", 400),
            ("encoding=json&message=%7B%7D&base64=1", 400),
            ("encoding=json&message=%7B%7D&compression=lzma", 404),
        ] {
            assert_eq!(read(query), Err(want), "{query}");
        }
    }
}
