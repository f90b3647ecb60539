//! What a response is to the caller (`docs/spec/dubbo-protocol.md` §5 and §14.2).

use dubbo_core::{
    invocation::{Body, Reply, RpcResult},
    payload::{Codec, Payload, Rules},
    status::{Origin, Status},
};

use super::super::{
    body::response::{Outcome, PUSHBACK, Response, read_text, take_own},
    frame::{Frame, HESSIAN2, Received},
    parameters::RAISE_PAYLOAD,
    status::{self, OK},
};
use crate::{
    endpoint::Place,
    java::{from_throwable, options},
    pushback, reject,
};

/// A response, as the caller sees it.
pub(super) struct Answer {
    pub(super) result: RpcResult,
    /// The provider says that it is about to end.
    pub(super) is_closing: bool,
}

impl Answer {
    /// Reads a response to a call at `place`, whose body may have `limit` bytes, by `rules`.
    ///
    /// Where it cannot be read, the call has been done, and would end the same again: its error is of a code that is never
    /// retried, 15 (`DATA_LOSS`), and 11 (`OUT_OF_RANGE`) where it is too large.
    pub(super) fn read(received: Received, limit: usize, rules: &Rules, place: &Place) -> Self {
        let mut response = match read(received, limit, rules, place) {
            Ok(response) => response,
            Err(status) => {
                let (result, is_closing) = (Err(status), false);
                return Self { result, is_closing };
            }
        };
        let wait = response.attachments.get(PUSHBACK).map(str::to_owned);
        let is_closing = take_own(&mut response.attachments);
        let result = match response.outcome {
            Outcome::Value(value) => {
                let value = Payload::encoded(Codec::Hessian2, value);
                let mut reply = Reply::new(Body::Unary(value.with_rules(rules.clone())));
                reply.trailers = response.attachments;
                Ok(reply)
            }
            Outcome::Exception(thrown) => {
                let status = from_throwable(thrown).with_attachments(response.attachments);
                Err(reject::read(pushback::read(status, wait.as_deref())))
            }
        };
        Self { result, is_closing }
    }
}

/// The reply to a call that no response is expected to: Java's null.
pub(super) fn nothing() -> Reply {
    Reply::new(Body::Unary(Payload::encoded(
        Codec::Hessian2,
        bytes::Bytes::from_static(NULL),
    )))
}

fn read(
    received: Received,
    limit: usize,
    rules: &Rules,
    place: &Place,
) -> Result<Response, Status> {
    let frame = match received {
        Received::Frame(frame) => frame,
        Received::Oversize(header) => {
            let text = format!(
                "the response has {} bytes, more than the limit of {limit}; {RAISE_PAYLOAD}",
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
    Response::read(&frame.body, options(rules)).map_err(|error| {
        let text = format!("the response cannot be read: {error}");
        place.name(broken(text).with_source(error))
    })
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

/// A response that no provider should send, or that goes beyond a limit of ours.
fn broken(text: String) -> Status {
    Status::data_loss(text).with_origin(Origin::Transport)
}

const NULL: &[u8] = b"N";
