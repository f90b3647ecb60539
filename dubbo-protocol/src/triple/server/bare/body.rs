//! The body of a request, whole.

use std::{error::Error, future::poll_fn, pin::Pin};

use bytes::{Bytes, BytesMut};
use dubbo_core::status::Status;
use http::StatusCode;
use http_body::Body;

use super::super::{budget::Share, failure::Failure, request::broken_off};
use crate::triple::compression::{Compression, DecompressError};

/// Reads all of `body`, up to `limit` bytes. `share` grows with what has come of it.
///
/// # Errors
///
/// HTTP's 413 for a body beyond the limit, and whatever ends it too early.
pub(super) async fn whole<B>(body: &mut B, limit: usize, mut share: Share) -> Result<Bytes, Failure>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Error + 'static,
{
    let announced = body.size_hint().lower();
    if usize::try_from(announced).map_or(true, |announced| announced > limit) {
        return Err(too_large(limit));
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        // Trailers say nothing in this protocol.
        let Ok(data) = frame.map_err(broken_off)?.into_data() else {
            continue;
        };
        let len = first.len() + all.len() + data.len();
        if len > limit {
            return Err(too_large(limit));
        }
        share.set(len)?;
        if all.is_empty() && first.is_empty() {
            first = data;
        } else {
            // Most bodies are one frame, which is taken as it is.
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// What was compressed to `bytes`, up to `limit` bytes of it.
///
/// # Errors
///
/// HTTP's 413 for more of it, and code 3 for bytes that are no such thing.
pub(super) fn inflated(
    bytes: Bytes,
    compression: Option<Compression>,
    limit: usize,
) -> Result<Bytes, Failure> {
    let Some(compression) = compression else {
        return Ok(bytes);
    };
    let inflated = compression.decompress(&bytes, limit);
    inflated.map(Bytes::from).map_err(|error| {
        let text = error.to_string();
        match error {
            DecompressError::Broken { .. } => {
                Status::invalid_argument(text).with_source(error).into()
            }
            DecompressError::TooLarge { .. } => {
                let status = Status::resource_exhausted(text).with_source(error);
                Failure::of(StatusCode::PAYLOAD_TOO_LARGE, status)
            }
        }
    })
}

fn too_large(limit: usize) -> Failure {
    let status = Status::resource_exhausted(format!(
        "the body is over the limit of {limit} bytes for received messages"
    ));
    Failure::of(StatusCode::PAYLOAD_TOO_LARGE, status)
}
