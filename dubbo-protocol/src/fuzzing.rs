//! What `fuzz/` reaches into. Not a public interface.

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock},
    time::Duration,
};

use bytes::{BufMut as _, Bytes, BytesMut};
use dubbo_core::{
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor},
    status::Status,
};
use dubbo_hessian2::DecodeOptions;
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_TYPE},
};

use crate::{
    Compression,
    dubbo::{
        body::{
            event::Event,
            request::{self, Request},
            response::{Response, read_text},
        },
        frame::{self as dubbo_frame, Received},
    },
    java::read_json_arguments,
    triple::{
        compression::Offers,
        frame::FrameDecoder,
        headers::{self, GRPC_MESSAGE, GRPC_STATUS, GRPC_STATUS_DETAILS, GrpcContent, PeerKind},
        status_wire::{read_status, write_status},
        timeout,
        wrapper::{self, Wrapper},
    },
};

pub use crate::{
    qos::fuzzing::*,
    triple::{client::dialect::fuzzing::*, server::fuzzing::*},
};

/// The messages in `bytes`, pushed `chunk` at a time, and how the stream ends.
pub fn messages(
    limit: usize,
    compression: Option<Compression>,
    bytes: &[u8],
    chunk: usize,
) -> (Vec<Bytes>, Result<(), Status>) {
    let mut decoder = FrameDecoder::new(limit, compression);
    let mut messages = Vec::new();
    for chunk in bytes.chunks(chunk.max(1)) {
        decoder.push(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(status) => return (messages, Err(status)),
            }
        }
    }
    let end = decoder.finish();
    (messages, end)
}

/// `message` in an envelope that says that it is compressed, and whether it is: not if that would make it longer.
pub fn envelope(compression: Compression, message: &[u8]) -> (Vec<u8>, bool) {
    let packed = compression.compress(message);
    let message = packed.as_deref().unwrap_or(message);
    let mut envelope = vec![1];
    envelope.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    envelope.put_slice(message);
    (envelope, packed.is_some())
}

/// Reads Triple's wrapper from `bytes`, and what is written of it again; `None` when it is none.
pub fn wrapper(bytes: &[u8]) -> Option<(impl Debug, impl Debug)> {
    let read = Wrapper::read(Bytes::copy_from_slice(bytes)).ok()?;
    let serialize_type = std::str::from_utf8(&read.serialize_type).ok()?;
    let types: Option<Vec<&str>> = read
        .types
        .iter()
        .map(|name| std::str::from_utf8(name).ok())
        .collect();
    let values = read.values.iter().map(|value| &value[..]);
    let mut written = BytesMut::new();
    wrapper::write(serialize_type, values, types?, &mut written);
    let again = Wrapper::read(written.freeze());
    Some((Some(read), again.ok()))
}

/// Reads a status from the values of its three headers, and what is written of it again; `None` for bytes that cannot
/// be in a header, and for a success.
pub fn status(code: &[u8], message: &[u8], details: &[u8]) -> Option<(Status, Status)> {
    let headers = [
        (GRPC_STATUS, code),
        (GRPC_MESSAGE, message),
        (GRPC_STATUS_DETAILS, details),
    ];
    let headers = headers
        .into_iter()
        .map(|(name, value)| Some((name, HeaderValue::from_bytes(value).ok()?)))
        .collect::<Option<HeaderMap>>()?;
    let first = read_status(&headers)?.err()?;
    let mut written = HeaderMap::new();
    write_status(Err(&first), PeerKind::Dubbo, &mut written);
    let second = read_status(&written)?.err()?;
    Some((first, second))
}

/// Reads a `grpc-timeout`, and what is written of it again; `None` for none.
pub fn grpc_timeout(value: &[u8]) -> Option<(Duration, Duration)> {
    let first = timeout::parse(value).ok()?;
    let written = timeout::format(first);
    Some((first, timeout::parse(written.as_bytes()).ok()?))
}

/// A failure with `message` as headers, and the text that a client reads in them.
pub fn grpc_message(message: &str) -> (HeaderMap, Option<String>) {
    let mut written = HeaderMap::new();
    let status = Status::unknown(message.to_owned());
    write_status(Err(&status), PeerKind::Dubbo, &mut written);
    let read = read_status(&written).and_then(Result::err);
    (written, read.map(|status| status.message().to_owned()))
}

/// The canonical form of a content type.
pub fn canonical(content_type: &str) -> String {
    headers::canonical(content_type)
}

/// What of gRPC a content type names, as it is written, and whether its sender is a gRPC caller.
pub fn grpc_content(value: &HeaderValue) -> (Option<&'static str>, bool) {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, value.clone())]);
    let content = GrpcContent::of(&headers);
    (content.map(GrpcContent::text), headers::is_grpc(&headers))
}

/// What a server that has every compression chooses for the callers who sent these as `accept-encoding`.
pub fn chosen_compression(accepted: &[HeaderValue]) -> Option<Compression> {
    static ALL: LazyLock<Offers> = LazyLock::new(|| {
        let url = "tri://h:1/x.Y?.compression.send=gzip,deflate,zstd".parse();
        let url = url.expect("invariant: it is a URL");
        Offers::of_server(&url).expect("invariant: these are names")
    });
    let headers = accepted.iter().cloned();
    let headers: HeaderMap = headers.map(|value| (ACCEPT_ENCODING, value)).collect();
    let packing = ALL.choose(&headers, &ACCEPT_ENCODING)?;
    Some(packing.compression)
}

/// The arguments in the JSON `body`, each as hessian, of a method that has one, two or a list of them, and the number of
/// those that it takes.
pub fn json_arguments(method: usize, body: &[u8]) -> Option<(Vec<Bytes>, usize)> {
    static SERVICE: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
        let method = |name, parameters: &[&'static str]| {
            let parameters = parameters.iter().copied();
            MethodDescriptor::java(name, CallKind::Unary, parameters, "java.lang.String")
        };
        let methods = vec![
            method("one", &["java.lang.String"]),
            method("two", &["java.lang.String", "int"]),
            method("list", &["java.util.List"]),
            method("none", &[]),
            method("several", &["int"]),
            method("several", &["java.lang.String"]),
            method("several", &["java.util.Map", "long"]),
        ];
        Arc::new(ServiceDescriptor::new("x.S", methods))
    });
    let method = MethodRef::new(Arc::clone(&SERVICE), method % SERVICE.methods().len());
    let (method, payload) = read_json_arguments(&method, body).ok()?;
    let wanted = method.descriptor().java.as_ref()?.parameters().len();
    let values = payload.encode_values(Codec::Hessian2).ok()?;
    Some((values, wanted))
}

/// The frames of the classic protocol in `bytes`, pushed `chunk` at a time, each written again and with whether it was
/// over the limit, and whether the stream is of any use after them.
pub fn dubbo_frames(limit: usize, bytes: &[u8], chunk: usize) -> (Vec<(Bytes, bool)>, bool) {
    let mut decoder = dubbo_frame::FrameDecoder::new(limit);
    let mut frames = Vec::new();
    for chunk in bytes.chunks(chunk.max(1)) {
        decoder.room().put_slice(chunk);
        loop {
            let (header, body) = match decoder.next() {
                Ok(Some(Received::Frame(frame))) => (frame.header, Some(frame.body)),
                Ok(Some(Received::Oversize(header))) => (header, None),
                Ok(None) => break,
                Err(_) => return (frames, false),
            };
            let mut written = BytesMut::new();
            let ok = header.write(usize::MAX, &mut written, |dst| {
                dst.put_slice(body.as_deref().unwrap_or_default());
                Ok(())
            });
            debug_assert!(ok.is_ok(), "what was read is written: {ok:?}");
            frames.push((written.freeze(), body.is_none()));
        }
    }
    (frames, true)
}

/// Reads `body` as everything that a frame of the classic protocol can carry. What is read as a request and written again
/// is read as the same: both texts, of its parts, for requests that can be read.
pub fn dubbo_body(body: &[u8]) -> Option<(String, String)> {
    let body = Bytes::copy_from_slice(body);
    let _ = (
        Event::read(&body),
        Response::read(&body, &OPTIONS).is_ok(),
        read_text(&body).is_ok(),
    );
    let parts = |request: &Request<'_>| {
        // Several values under one name come back together, under one spelling.
        let mut beside: Vec<_> = request
            .attachments
            .iter()
            .map(|(name, value)| format!("{}={value:?}", name.to_ascii_lowercase()))
            .collect();
        beside.sort();
        let Request {
            path,
            version,
            method,
            descriptor,
            arguments,
            ..
        } = request;
        format!("{path:?} {version:?} {method:?} {descriptor:?} {arguments:?} {beside:?}")
    };
    let first = Request::read(&body, &OPTIONS).ok()?;
    let head = request::head(
        &first.path,
        Some(&first.version),
        &first.method,
        &first.descriptor,
    );
    let arguments = Payload::encoded(Codec::Hessian2, first.arguments.clone());
    let mut written = BytesMut::new();
    request::write(&head, &arguments, &[], &first.attachments, &mut written).ok()?;
    let written = written.freeze();
    let second = Request::read(&written, &OPTIONS).ok()?;
    Some((parts(&first), parts(&second)))
}

static OPTIONS: DecodeOptions = DecodeOptions::DEFAULT;
