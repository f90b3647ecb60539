//! What `fuzz/` reaches into of the server. Not a public interface.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use bytes::Bytes;
use dubbo_core::{
    service::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor},
    status::Status,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use prost::Message as _;
use tokio::time::Instant;

use super::{
    bare::{deadline, query::Query},
    cors::origin::{self, Pattern},
    failure,
    reflection::{index::Index, service::Answers},
    web::{reply, text},
};
use crate::{
    generated::{
        health::HEALTH_DESCRIPTOR,
        reflection::{SERVER_REFLECTION_DESCRIPTOR, ServerReflectionRequest, v1alpha},
    },
    triple::headers::PeerKind,
};

/// The bytes in the base64 `text` of gRPC-Web, which comes `chunk` characters at a time; `None` for none.
pub fn web_text(text: &[u8], chunk: usize) -> Option<Vec<u8>> {
    let mut decoder = text::TextDecoder::default();
    let mut bytes = Vec::new();
    for part in text.chunks(chunk.max(1)) {
        bytes.extend_from_slice(&decoder.push(part).ok()?);
    }
    decoder.finish().ok()?;
    Some(bytes)
}

/// `bytes` as text of gRPC-Web.
pub fn web_encoded(bytes: &[u8]) -> Bytes {
    text::encode(bytes)
}

/// `trailers` as the last envelope of gRPC-Web.
pub fn web_trailers(trailers: &HeaderMap) -> Bytes {
    reply::envelope(trailers)
}

/// Whether a page of `origin` may call where `pattern` is allowed; `None` for no pattern.
pub fn origin_is_allowed(pattern: &str, origin: &str) -> Option<bool> {
    Pattern::read(pattern)
        .ok()
        .map(|pattern| pattern.has(origin))
}

/// Whether a page of `origin` comes from the server that is called `authority`.
pub fn origin_is_same(origin: &str, authority: &str) -> bool {
    origin::is_same(origin, authority)
}

/// The message in the query of a call with GET.
pub fn query(query: &str) -> Option<Bytes> {
    let query = Query::read(query, &METHOD).ok()?;
    Some(query.message)
}

/// How long the caller waits who sent `value` as `triple-timeout-ms`; `None` for a value that is refused.
pub fn triple_timeout(value: &[u8]) -> Option<Duration> {
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static("triple-timeout-ms"),
        HeaderValue::from_bytes(value).ok()?,
    )]);
    let before = Instant::now();
    let deadline = deadline::read(&headers, &METHOD).ok()??;
    Some(deadline - before)
}

/// `status` as the body of an answer over plain HTTP.
pub fn json_error(status: &Status) -> Bytes {
    failure::body(status, PeerKind::Dubbo)
}

/// What reflection answers on one stream to those of `requests` that can be read.
pub fn reflected(requests: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut answers = Answers::default();
    let requests = requests.iter();
    let requests = requests.filter_map(|bytes| ServerReflectionRequest::decode(*bytes).ok());
    requests
        .map(|request| answers.next(&INDEX, request).encode_to_vec())
        .collect()
}

static METHOD: LazyLock<MethodRef> = LazyLock::new(|| {
    let methods = vec![MethodDescriptor::new("Get", CallKind::Unary)];
    MethodRef::new(Arc::new(ServiceDescriptor::new("x.S", methods)), 0)
});

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    Index::of([
        &**HEALTH_DESCRIPTOR,
        &**SERVER_REFLECTION_DESCRIPTOR,
        &**v1alpha::SERVER_REFLECTION_DESCRIPTOR,
    ])
});
