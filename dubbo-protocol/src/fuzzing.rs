//! What `fuzz/` reaches into. Not a public interface.

use bytes::Bytes;
use dubbo_core::status::Status;
use http::{HeaderMap, HeaderValue};

use crate::triple::{
    frame::{Encoding, FrameDecoder},
    headers::{GRPC_MESSAGE, GRPC_STATUS, GRPC_STATUS_DETAILS, PeerKind},
    status_wire::{read_status, write_status},
};

/// The messages in `bytes`, pushed `chunk` at a time, and how the stream ends.
pub fn messages(
    limit: usize,
    gzip: bool,
    bytes: &[u8],
    chunk: usize,
) -> (Vec<Bytes>, Result<(), Status>) {
    let mut decoder = FrameDecoder::new(limit, gzip.then_some(Encoding::Gzip));
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
