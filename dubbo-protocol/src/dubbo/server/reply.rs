//! Answers as frames.

use std::fmt;

use bytes::BytesMut;
use dubbo_core::{
    attachments::Attachments,
    payload::{CodecError, Payload},
    service::MethodRef,
    status::{Code, Origin, Status},
};

use crate::{
    dubbo::{
        body::response::{write_exception, write_text, write_value},
        frame::{FrameWriteError, HESSIAN2, Header},
        status::{BAD_REQUEST, BAD_RESPONSE, OK, SERIALIZATION_ERROR},
    },
    java::to_throwable,
};

/// Why a call has no answer of its own: a status other than 20, and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u8,
    pub(super) text: String,
}

impl Refusal {
    pub(super) fn new(status: u8, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { status, text }
    }

    /// The request cannot be read, or is for nothing that is here.
    pub(super) fn undecodable(why: &dyn fmt::Display) -> Self {
        Self::new(BAD_REQUEST, format!("Fail to decode request due to: {why}"))
    }

    /// A body of `len` bytes, where `limit` is allowed: `what` it is of.
    pub(super) fn too_large(status: u8, len: usize, limit: usize, what: &dyn fmt::Display) -> Self {
        Self::new(
            status,
            format!(
                "Data length too large: {len}, max payload: {limit}. These are the bytes {what}; the provider allows more \
                 with {}",
                setting("payload")
            ),
        )
    }

    /// The answer that says so to `request`. It is in hessian2 even if the request was not: nothing else is spoken here.
    pub(super) fn answer(&self, request: Header) -> BytesMut {
        let header = Header {
            serialization: HESSIAN2,
            ..request.answer(self.status)
        };
        header.short(|body| write_text(&self.text, body))
    }
}

/// Where a provider sets `parameter`, for texts.
pub(super) fn setting(parameter: &str) -> String {
    format!(
        "`{parameter}` in `dubbo.provider.services.<name>.params` or `dubbo.protocols.<id>.params`"
    )
}

/// The answer to a call of `method` that was done. `attachments` are `None` for a caller that would not read them.
///
/// # Errors
///
/// It cannot be encoded, or is longer than `limit`.
pub(super) fn answer(
    request: Header,
    result: Result<&Payload, &Status>,
    attachments: Option<&Attachments>,
    limit: usize,
    method: &MethodRef,
) -> Result<BytesMut, Refusal> {
    let mut frame = BytesMut::new();
    let written = request
        .answer(OK)
        .write(limit, &mut frame, |dst| match result {
            Ok(payload) => write_value(payload, attachments, dst),
            Err(status) => write_exception(&to_throwable(status), attachments, dst),
        });
    match written {
        Ok(()) => Ok(frame),
        Err(FrameWriteError::Body(error)) => {
            let text = format!("Failed to send response: {error}; it is of {method:?}");
            Err(Refusal::new(BAD_RESPONSE, text))
        }
        Err(FrameWriteError::TooLarge { len, limit }) => {
            let what = format_args!("of the answer of {method:?}");
            Err(Refusal::too_large(SERIALIZATION_ERROR, len, limit, &what))
        }
    }
}

/// What a status is that no handler has made: its arguments could not be read.
pub(super) fn unreadable_arguments(status: &Status) -> Option<Refusal> {
    let source = std::error::Error::source(status)?;
    let unread = status.code() == Code::InvalidArgument
        && status.origin() == Origin::Framework
        && source.is::<CodecError>();
    unread.then(|| Refusal::undecodable(&status.message()))
}
