//! The body of a request.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::{invocation::PayloadStream, status::Status};
use futures_core::Stream as _;
use http_body::{Body, Frame, SizeHint};

use crate::{
    endpoint::Place,
    triple::{
        form::Form,
        frame::{self, Sending},
    },
};

/// What a request sends: one message, or those of a caller's stream as the peer has room for them.
pub(in crate::triple::client) enum RequestBody {
    Many(Box<Messages>),
    /// `None` once it has been given out.
    One(Option<Bytes>),
}

/// The stream of a caller.
pub(in crate::triple::client) struct Messages {
    pub(super) stream: PayloadStream,
    pub(super) sending: Sending,
    pub(super) form: Form,
    pub(super) place: Place,
    pub(super) fault: Arc<Fault>,
}

/// Why the caller's stream could not be sent, for who waits for the answer.
#[derive(Debug, Default)]
pub(in crate::triple::client) struct Fault(OnceLock<Status>);

impl Fault {
    pub(super) fn status(&self) -> Option<&Status> {
        self.0.get()
    }
}

impl RequestBody {
    /// The caller's stream: of a request that was never begun, so that no message has been taken from it.
    pub(super) fn into_stream(self) -> Option<PayloadStream> {
        match self {
            Self::Many(messages) => Some(messages.stream),
            Self::One(_) => None,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let messages = match &mut *self {
            Self::One(message) => return Poll::Ready(message.take().map(|m| Ok(Frame::data(m)))),
            Self::Many(messages) => messages,
        };
        let next = ready!(Pin::new(&mut messages.stream).poll_next(cx));
        let encoded = next.map(|payload| {
            frame::encode(&payload?, &messages.form, messages.sending)
                .map_err(|status| messages.place.name(status))
        });
        if let Some(Err(status)) = &encoded {
            let _ = messages.fault.0.set(status.clone());
        }
        Poll::Ready(encoded.map(|message| message.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::One(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Many(_) => SizeHint::default(),
            Self::One(message) => {
                SizeHint::with_exact(message.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}
