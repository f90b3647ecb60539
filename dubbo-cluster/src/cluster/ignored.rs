//! The answer to a call that failed and whose caller is told of success.

use bytes::Bytes;
use dubbo_core::{
    invocation::{Body, PayloadStream, Reply},
    payload::{Codec, Payload},
    service::MethodRef,
    status::Status,
};

/// The name of the response attachment by which a caller sees that an answer is none: `failsafe: …` and `failback: …` are
/// followed by what became of the call, and why.
///
/// It is there without a provider having sent it, and on no other answer.
pub const IGNORED: &str = "dubbo-ignored";

/// An empty answer of `method`, that of `cluster` to a call that failed with `status`; `instead` says what was done about it.
///
/// Empty is null for methods without an IDL, the message with nothing set for those of a proto file, and for a stream its
/// end.
pub(super) fn reply(method: &MethodRef, cluster: &str, instead: &str, status: &Status) -> Reply {
    let mut reply = Reply::new(empty(method));
    let text = format!("{cluster}: {instead}: {status}");
    reply.trailers.insert(IGNORED, text);
    reply
}

fn empty(method: &MethodRef) -> Body {
    if method.kind().streams_responses() {
        return Body::Stream(PayloadStream::new(futures_util::stream::empty()));
    }
    let (codec, bytes) = match method.descriptor().java {
        Some(_) => (Codec::Hessian2, &b"N"[..]),
        None => (Codec::Protobuf, &b""[..]),
    };
    Body::Unary(Payload::encoded(codec, Bytes::from_static(bytes)))
}
