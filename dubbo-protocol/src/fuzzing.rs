//! What `fuzz/` reaches into. Not a public interface.

use std::fmt::Debug;

use bytes::{BufMut as _, Bytes, BytesMut};
use dubbo_core::{
    payload::{Codec, Payload},
    status::Status,
};
use dubbo_hessian2::DecodeOptions;
use http::{HeaderMap, HeaderValue};

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
    triple::{
        frame::FrameDecoder,
        headers::{GRPC_MESSAGE, GRPC_STATUS, GRPC_STATUS_DETAILS, PeerKind},
        status_wire::{read_status, write_status},
        wrapper::{self, Wrapper},
    },
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
