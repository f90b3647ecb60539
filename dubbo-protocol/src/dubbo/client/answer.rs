//! What a response is to the caller (`docs/spec/dubbo-protocol.md` §5 and §14.2).

use dubbo_core::{
    attachments::Attachments,
    invocation::{Body, Reply, RpcResult},
    payload::{Codec, Payload},
    status::{Origin, Status},
};

use super::super::{
    body::response::{Outcome, Response, read_text},
    frame::{Frame, HESSIAN2, Received},
    status::{self, OK},
};
use crate::{endpoint::Place, java::from_throwable};

/// Reads a response to a call at `place`, whose body may have `limit` bytes.
///
/// # Errors
///
/// The handler threw, the provider refused the call, or the response is none.
pub(super) fn read(received: Received, limit: usize, place: &Place) -> RpcResult {
    let frame = match received {
        Received::Frame(frame) => frame,
        Received::Oversize(header) => {
            let text = format!(
                "the response has {} bytes, more than the limit of {limit} (parameter `payload`)",
                header.len
            );
            // Like a provider that finds its result too large: it would be elsewhere, too.
            return Err(place.name(Status::out_of_range(text)));
        }
    };
    let header = frame.header;
    if header.status != OK {
        // The text is the peer's, and says nothing of where it was.
        return Err(place.name_always(refusal(&frame)));
    }
    if header.serialization != HESSIAN2 {
        return Err(place.name(broken(format!(
            "the response is in serialization {}, and the request was in {HESSIAN2} (hessian2)",
            header.serialization
        ))));
    }
    let response = Response::read(&frame.body).map_err(|error| {
        let text = format!("the response cannot be read: {error}");
        place.name(broken(text).with_source(error))
    })?;
    match response.outcome {
        Outcome::Value(value) => {
            let mut reply = Reply::new(Body::Unary(Payload::encoded(Codec::Hessian2, value)));
            reply.trailers = response.attachments;
            Ok(reply)
        }
        Outcome::Exception(thrown) => {
            Err(from_throwable(thrown).with_attachments(response.attachments))
        }
    }
}

/// The reply to a call that no response is expected to: Java's null.
pub(super) fn nothing() -> Reply {
    Reply::new(Body::Unary(Payload::encoded(
        Codec::Hessian2,
        bytes::Bytes::from_static(NULL),
    )))
}

/// Whether the provider says that it is about to end.
pub(super) fn says_closing(result: &RpcResult) -> bool {
    let attachments: &Attachments = match result {
        Ok(reply) => &reply.trailers,
        Err(status) => status.attachments(),
    };
    attachments.get(CLOSING) == Some("true")
}

fn refusal(frame: &Frame) -> Status {
    let status = frame.header.status;
    match read_text(&frame.body) {
        Ok(text) => status::refusal(status, text.as_deref()),
        Err(error) => {
            let text = format!("its text cannot be read: {error}");
            status::refusal(status, Some(&text)).with_source(error)
        }
    }
}

/// A response that no provider should send.
fn broken(text: String) -> Status {
    Status::internal(text).with_origin(Origin::Transport)
}

const CLOSING: &str = "closing";
const NULL: &[u8] = b"N";
