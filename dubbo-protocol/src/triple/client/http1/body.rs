//! The body of a request.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::{invocation::PayloadStream, status::Status};
use futures_core::Stream as _;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

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
    stream: PayloadStream,
    sending: Sending,
    form: Form,
    place: Place,
    upload: Arc<Upload>,
    over: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Messages {
    /// Those of `stream`, as `sending` and `form` say, and what is known of their sending.
    pub(super) fn new(
        stream: PayloadStream,
        sending: Sending,
        form: Form,
        place: Place,
    ) -> (Self, Arc<Upload>) {
        let upload = Arc::<Upload>::default();
        let messages = Self {
            stream,
            sending,
            form,
            place,
            over: Box::pin(upload.over.clone().cancelled_owned()),
            upload: Arc::clone(&upload),
        };
        (messages, upload)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        if self.over.as_mut().poll(cx).is_ready() {
            // Nobody is there to be told; the connection is of no more use.
            return Poll::Ready(Some(Err(Status::canceled("the call is over"))));
        }
        let Some(payload) = ready!(Pin::new(&mut self.stream).poll_next(cx)) else {
            self.upload.ended.store(true, Ordering::Release);
            return Poll::Ready(None);
        };
        let encoded = payload.and_then(|payload| {
            frame::encode(&payload, &self.form, self.sending)
                .map_err(|status| self.place.name(status))
        });
        if let Err(status) = &encoded {
            let _ = self.upload.fault.set(status.clone());
        }
        Poll::Ready(Some(encoded))
    }
}

/// What is known of the sending of a caller's stream, and how it is stopped.
#[derive(Debug, Default)]
pub(in crate::triple::client) struct Upload {
    ended: AtomicBool,
    fault: OnceLock<Status>,
    over: CancellationToken,
}

impl Upload {
    /// Whether the last message has been taken from it.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Why it could not be sent.
    pub(super) fn fault(&self) -> Option<&Status> {
        self.fault.get()
    }

    /// Takes no more messages.
    pub(super) fn stop(&self) {
        self.over.cancel();
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
        let message = match &mut *self {
            Self::Many(messages) => ready!(messages.poll_next(cx)),
            Self::One(message) => message.take().map(Ok),
        };
        Poll::Ready(message.map(|message| message.map(Frame::data)))
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
