//! The body of an answer: messages, then trailers in an envelope of their own.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{BufMut as _, Bytes, BytesMut};
use dubbo_core::extension::BoxError;
use http::HeaderMap;
use http_body::{Body, Frame};

use super::text;
use crate::triple::server::reply::ReplyBody;

/// An answer of gRPC, with its trailers in the body, in base64 or not.
pub(in crate::triple::server) struct WebReply {
    reply: ReplyBody,
    text: bool,
}

impl WebReply {
    /// What `reply` is to a browser; `text` is whether it wants base64.
    pub(super) fn new(reply: ReplyBody, text: bool) -> Self {
        Self { reply, text }
    }
}

impl Body for WebReply {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(frame) = ready!(Pin::new(&mut self.reply).poll_frame(cx)?) else {
            return Poll::Ready(None);
        };
        let bytes = match frame.into_data().map_err(Frame::into_trailers) {
            Ok(data) => data,
            Err(Ok(trailers)) => envelope(&trailers),
            // A frame is one of both.
            Err(Err(_)) => return Poll::Ready(None),
        };
        let bytes = if self.text {
            text::encode(&bytes)
        } else {
            bytes
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.reply.is_end_stream()
    }
}

/// `trailers` as the last envelope of a body: a line for each, as HTTP/1.1 writes them.
pub(in crate::triple::server) fn envelope(trailers: &HeaderMap) -> Bytes {
    let lines = trailers.iter();
    let len = lines.map(|(name, value)| name.as_str().len() + value.len() + 4);
    let len: usize = len.sum();
    let mut bytes = BytesMut::with_capacity(5 + len);
    bytes.put_u8(TRAILERS);
    bytes.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
    for (name, value) in trailers {
        bytes.put_slice(name.as_str().as_bytes());
        bytes.put_slice(b": ");
        bytes.put_slice(value.as_bytes());
        bytes.put_slice(b"\r\n");
    }
    bytes.freeze()
}

/// The flag of the envelope that has no message.
const TRAILERS: u8 = 0x80;

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn trailers_are_lines_in_an_envelope_with_a_flag_of_its_own() {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        trailers.append("x-a", HeaderValue::from_static("1"));
        trailers.append("x-a", HeaderValue::from_static(""));
        assert_eq!(
            envelope(&trailers),
            &b"\x80\0\0\0\x1fgrpc-status: 0\r\nx-a: 1\r\nx-a: \r\n"[..]
        );
        assert_eq!(envelope(&HeaderMap::new()), &b"\x80\0\0\0\0"[..]);
    }
}
