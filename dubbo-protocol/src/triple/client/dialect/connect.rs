//! An answer of Connect to a unary call: the body is the message, or the error (`docs/spec/triple.md` §5.1).

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    status::{Code, Origin, Status},
};
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
    response::Parts,
};

use super::error;
use crate::{
    reject,
    triple::{
        compression::{Compression, DecompressError},
        headers::canonical,
    },
};

/// The content types of messages.
pub(super) const PROTO: &str = "application/proto";
pub(super) const JSON: &str = "application/json";

/// An answer whose headers have come.
pub(in crate::triple::client) struct Unary {
    http: StatusCode,
    /// The headers of an error, which the caller finds in it.
    of_error: HeaderMap,
    trailers: Attachments,
    compression: Option<Compression>,
    limit: usize,
    body: BytesMut,
}

impl Unary {
    /// Reads the head of an answer that is in JSON if `is_json`, and whose message may have `limit` bytes. The headers are
    /// those of a success, without what they have of trailers.
    ///
    /// # Errors
    ///
    /// It is a success in a form that was not asked for.
    pub(super) fn begin(
        head: Parts,
        is_json: bool,
        limit: usize,
    ) -> Result<(HeaderMap, Self), Status> {
        let (http, headers) = (head.status, head.headers);
        let is_error = http != StatusCode::OK;
        if !is_error {
            check_content(&headers, is_json)?;
        }
        let compression =
            Compression::announced(&headers, &CONTENT_ENCODING).map_err(|unknown| {
                broken(format!(
                    "the answer is compressed as {:?}; only gzip, deflate and zstd were offered",
                    unknown.name()
                ))
            })?;
        let (headers, trailers) = split(headers);
        let (headers, of_error) = if is_error {
            (HeaderMap::new(), headers)
        } else {
            (headers, HeaderMap::new())
        };
        let answer = Self {
            http,
            of_error,
            trailers: Attachments::from_headers(trailers),
            compression,
            limit: if is_error { MAX_ERROR } else { limit },
            body: BytesMut::new(),
        };
        Ok((headers, answer))
    }

    /// Takes in more of the body.
    ///
    /// # Errors
    ///
    /// There is more of it than the limit.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<(), Status> {
        let len = self.body.len() + chunk.len();
        if len > self.limit {
            return Err(self.or_http(Status::resource_exhausted(format!(
                "the message has {len} bytes or more, over the limit of {} bytes for received messages",
                self.limit
            ))));
        }
        self.body.extend_from_slice(chunk);
        Ok(())
    }

    /// The message, when the body is over.
    ///
    /// # Errors
    ///
    /// The failure that it tells instead, and what keeps it from being read.
    pub(super) fn end(&mut self) -> Result<Bytes, Status> {
        let body = self.body.split().freeze();
        let body = match self.compression {
            Some(compression) if !body.is_empty() => {
                let inflated = compression.decompress(&body, self.limit);
                inflated.map(Bytes::from).map_err(|error| {
                    let text = error.to_string();
                    self.or_http(match error {
                        DecompressError::Broken { .. } => Status::internal(text),
                        DecompressError::TooLarge { .. } => Status::resource_exhausted(text),
                    })
                })?
            }
            _ => body,
        };
        if self.http == StatusCode::OK {
            return Ok(body);
        }
        let status = error::read(self.http, &self.of_error, &body);
        Err(reject::read(status.with_attachments(self.attachments())))
    }

    /// The trailers, once.
    pub(super) fn take_trailers(&mut self) -> Attachments {
        std::mem::take(&mut self.trailers)
    }

    /// What an error says beside its body.
    fn attachments(&self) -> Attachments {
        let mut all = Attachments::from_headers(self.of_error.clone());
        all.extend(&self.trailers);
        all
    }

    /// `problem` with a message; with an error, what HTTP says of it.
    fn or_http(&self, problem: Status) -> Status {
        if self.http == StatusCode::OK {
            return problem.with_origin(Origin::Transport).done();
        }
        error::unknown(self.http, &self.of_error)
            .with_source(problem)
            .with_attachments(self.attachments())
    }
}

/// Refuses a success that is no message in the form that was asked for.
fn check_content(headers: &HeaderMap, is_json: bool) -> Result<(), Status> {
    let wanted = if is_json { JSON } else { PROTO };
    let given = headers.get(CONTENT_TYPE);
    let given = given.and_then(|value| value.to_str().ok());
    let kind = canonical(given.unwrap_or_default());
    if kind == wanted || is_json && kind == "application/json; charset=utf-8" {
        return Ok(());
    }
    // What is a message in another form comes from a peer of Connect, and anything else from somebody else.
    let code = if [JSON, PROTO].contains(&&*kind) {
        Code::Internal
    } else {
        Code::Unknown
    };
    Err(Status::new(
        code,
        format!(
            "the peer answered HTTP 200 with {}, where {wanted} was asked for",
            given.map_or_else(
                || "no content type".to_owned(),
                |given| format!("content type {given:?}")
            )
        ),
    )
    .with_origin(Origin::Transport))
}

/// Headers, and those that are trailers by their names.
fn split(all: HeaderMap) -> (HeaderMap, HeaderMap) {
    let is_trailer = |name: &HeaderName| name.as_str().starts_with(TRAILER);
    if !all.keys().any(is_trailer) {
        return (all, HeaderMap::new());
    }
    let (mut headers, mut trailers) = (HeaderMap::new(), HeaderMap::new());
    for (name, value) in &all {
        let plain = name.as_str().strip_prefix(TRAILER);
        match plain.and_then(|plain| HeaderName::from_bytes(plain.as_bytes()).ok()) {
            Some(plain) => trailers.append(plain, value.clone()),
            None => headers.append(name.clone(), value.clone()),
        };
    }
    (headers, trailers)
}

fn broken(text: String) -> Status {
    Status::internal(text).with_origin(Origin::Transport)
}

const TRAILER: &str = "trailer-";

/// What an error may have: room for long details.
const MAX_ERROR: usize = 1024 * 1024;
