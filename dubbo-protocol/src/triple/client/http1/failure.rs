//! What it means for a call when HTTP/1.1 fails under it.

use std::{error::Error as _, io};

use dubbo_core::status::{Origin, Status};

use super::body::Upload;
use crate::{endpoint::Place, triple::client::failure::CLOSED};

/// What `error` means for a call to `place` of which something was sent. When the caller's own stream failed, it is what
/// that says.
pub(super) fn lost(error: hyper::Error, upload: Option<&Upload>, place: &Place) -> Status {
    if let Some(status) = upload.and_then(Upload::fault) {
        return status.clone();
    }
    let why = describe(&error);
    let status = if error.is_parse_too_large() {
        Status::resource_exhausted(format!("the head of the answer is too large: {why}"))
    } else if error.is_parse() {
        Status::internal(format!("the peer broke the rules of HTTP/1.1: {why}"))
    } else {
        Status::unavailable(format!("the connection was lost: {why}"))
    };
    place.name(status.with_origin(Origin::Transport).with_source(error))
}

/// What happened, in words.
pub(super) fn describe(error: &hyper::Error) -> String {
    if error.is_incomplete_message() {
        return format!("{CLOSED} before the answer was whole");
    }
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    match io {
        Some(io) if io.kind() == io::ErrorKind::UnexpectedEof => {
            format!("{CLOSED} in the middle of the answer")
        }
        Some(io) => io.to_string(),
        None => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
