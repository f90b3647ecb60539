//! Sending the stream of a caller: a message is asked for when the peer has room for it.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::{invocation::PayloadStream, status::Status};
use futures_core::Stream as _;
use h2::{Reason, SendStream};
use tokio::task::coop::poll_proceed;

use super::super::{
    form::Form,
    frame::{self, Sending},
    room::poll_room,
};
use crate::endpoint::Place;

/// The request side of a streaming call.
///
/// Dropping it before its end cancels the call.
pub(super) struct Upload {
    messages: PayloadStream,
    stream: SendStream<Bytes>,
    sending: Sending,
    form: Form,
    place: Place,
    /// A message that waits for room.
    held: Option<Bytes>,
    begun: bool,
    ended: bool,
}

impl Upload {
    /// Sends `messages` to `stream`, as `sending` and `form` say.
    pub(super) fn new(
        messages: PayloadStream,
        stream: SendStream<Bytes>,
        sending: Sending,
        form: Form,
        place: Place,
    ) -> Self {
        Self {
            messages,
            stream,
            sending,
            form,
            place,
            held: None,
            begun: false,
            ended: false,
        }
    }

    /// Whether it has nothing left to do.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The caller's stream, when no message has been taken from it: then it can be sent elsewhere.
    pub(super) fn into_untouched(self) -> Option<PayloadStream> {
        (!self.begun).then_some(self.messages)
    }

    /// Sends what there is to send and room for. It is `Ready` when all of it has been sent, and when the peer takes no
    /// more: the answer says why.
    ///
    /// # Errors
    ///
    /// The caller's stream failed, or gave a message that cannot be sent. The call has been reset.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        if self.ended {
            return Poll::Ready(Ok(()));
        }
        let sent = ready!(self.poll_send(cx));
        self.ended = true;
        if sent.is_err() {
            self.stream.send_reset(Reason::CANCEL);
        }
        Poll::Ready(sent)
    }

    /// Sends it to its end.
    ///
    /// # Errors
    ///
    /// As [`poll`](Self::poll).
    pub(super) async fn run(mut self) -> Result<(), Status> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        loop {
            // Also notes who to wake when the peer resets the stream.
            if self.stream.poll_reset(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            if self.held.is_some() {
                if !ready!(poll_room(&mut self.stream, cx)) {
                    return Poll::Ready(Ok(()));
                }
                if let Some(message) = self.held.take()
                    && self.stream.send_data(message, false).is_err()
                {
                    return Poll::Ready(Ok(()));
                }
            }
            // A stream that always has a message gives other tasks a turn.
            let turn = ready!(poll_proceed(cx));
            let next = ready!(Pin::new(&mut self.messages).poll_next(cx));
            turn.made_progress();
            match next {
                Some(Ok(payload)) => {
                    self.begun = true;
                    match frame::encode(&payload, &self.form, self.sending) {
                        Ok(message) => self.held = Some(message),
                        Err(status) => return Poll::Ready(Err(self.place.name(status))),
                    }
                    // Only now: room that is reserved without a message is taken from the other calls.
                    self.stream.reserve_capacity(1);
                }
                Some(Err(status)) => return Poll::Ready(Err(status)),
                None => {
                    self.begun = true;
                    // A stream that is closed by now has an answer that says so.
                    let _ = self.stream.send_data(Bytes::new(), true);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}
