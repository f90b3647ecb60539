//! One stream: a request is answered, and the answer sent.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::{Reason, SendStream, server::SendResponse};
use http::{
    HeaderMap, HeaderValue, Response,
    header::{CONNECTION, CONTENT_LENGTH, TE, TRANSFER_ENCODING, UPGRADE},
};
use http_body::Body as _;
use tokio::task::coop::poll_proceed;

use crate::triple::{room::poll_room, server::reply::ReplyBody};

/// Sends what `answering` makes. A caller that resets the stream has it dropped.
pub(in crate::triple::server) async fn exchange(
    answering: impl Future<Output = Response<ReplyBody>>,
    mut stream: SendResponse<Bytes>,
) {
    let mut answering = pin!(answering);
    let answer = poll_fn(|cx| match answering.as_mut().poll(cx) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => stream.poll_reset(cx).map(|_| None),
    })
    .await;
    let Some(answer) = answer else {
        return;
    };
    // It fails when the stream is over by now: there is nobody to tell.
    match send(answer, &mut stream) {
        Ok(None) => {}
        Ok(Some(download)) => download.run().await,
        Err(error) if error.is_io() || error.is_reset() || error.is_go_away() => {}
        Err(error) => {
            tracing::debug!(%error, "an answer cannot be sent");
            stream.send_reset(Reason::INTERNAL_ERROR);
        }
    }
}

/// Sends `answer`; what is left is one that comes in parts.
fn send(
    answer: Response<ReplyBody>,
    stream: &mut SendResponse<Bytes>,
) -> Result<Option<Download>, h2::Error> {
    let (mut head, body) = answer.into_parts();
    match body {
        ReplyBody::One {
            envelope: Some(envelope),
            trailers: Some(trailers),
        } => {
            let mut stream = stream.send_response(Response::from_parts(head, ()), false)?;
            stream.send_data(envelope, false)?;
            stream.send_trailers(trailers)?;
            Ok(None)
        }
        body => {
            let ends = body.is_end_stream();
            if let (false, Some(length)) = (ends, body.size_hint().exact()) {
                let length = || HeaderValue::from(length);
                head.headers.entry(CONTENT_LENGTH).or_insert_with(length);
            }
            if let ReplyBody::Http(_) = body {
                forget_connection(&mut head.headers);
            }
            let stream = stream.send_response(Response::from_parts(head, ()), ends)?;
            Ok((!ends).then(|| Download {
                body,
                stream,
                held: None,
            }))
        }
    }
}

/// What HTTP/1 says of connections is an error here.
fn forget_connection(headers: &mut HeaderMap) {
    for name in [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

/// The body of an answer. A part is asked for when there is room for the one before.
struct Download {
    body: ReplyBody,
    stream: SendStream<Bytes>,
    /// A part that waits for room.
    held: Option<Bytes>,
}

impl Download {
    /// Sends it to its end, or for as long as somebody takes it.
    async fn run(mut self) {
        let sent = poll_fn(|cx| self.poll(cx)).await;
        if let Err(reason) = sent {
            self.stream.send_reset(reason);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Reason>> {
        loop {
            // Also notes whom to wake when the peer resets the stream.
            if self.stream.poll_reset(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            if self.held.is_some() && !ready!(poll_room(&mut self.stream, cx)) {
                return Poll::Ready(Ok(()));
            }
            if let Some(part) = self.held.take() {
                let ends = self.body.is_end_stream();
                if self.stream.send_data(part, ends).is_err() || ends {
                    return Poll::Ready(Ok(()));
                }
            }
            // A stream that always has a part gives other tasks a turn.
            let turn = ready!(poll_proceed(cx));
            let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
            turn.made_progress();
            let frame = match next {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    tracing::debug!(%error, "an answer ends before its time");
                    return Poll::Ready(Err(Reason::INTERNAL_ERROR));
                }
                None => {
                    let _ = self.stream.send_data(Bytes::new(), true);
                    return Poll::Ready(Ok(()));
                }
            };
            match frame.into_data() {
                Ok(part) => {
                    self.held = Some(part);
                    // Only now: room that is reserved without a part is taken from the other streams.
                    self.stream.reserve_capacity(1);
                }
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let _ = self.stream.send_trailers(trailers);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}
