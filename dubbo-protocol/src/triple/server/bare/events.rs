//! A stream of answers as Server-Sent Events, which any browser and `curl -N` read (`docs/spec/triple.md` §5.5).

use std::{
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use bytes::{Bytes, BytesMut};
use dubbo_core::{invocation::PayloadStream, payload::Payload, service::MethodRef, status::Status};
use http::{
    HeaderMap, HeaderValue,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep_until};

use super::super::{
    failure,
    reply::{Item, expired, poll_item},
};
use crate::triple::{form::Form, frame::check_sent, headers::PeerKind};

/// The messages of a stream, each an event of one line of JSON; an error is one more, and the last. The handler is asked
/// for the next one when the connection has room for it.
pub(in super::super) struct Events {
    method: MethodRef,
    form: Form,
    send_limit: usize,
    caller: PeerKind,
    deadline: Option<Pin<Box<Sleep>>>,
    /// What the stream gave already.
    next: Option<Item>,
    /// Gone with the last event.
    stream: Option<PayloadStream>,
}

impl Events {
    /// What `stream` gives, written in `form`, which is JSON.
    ///
    /// # Errors
    ///
    /// What the stream fails with at once: the headers can still say so.
    pub(super) fn new(
        method: &MethodRef,
        mut stream: PayloadStream,
        form: Form,
        send_limit: usize,
        caller: PeerKind,
        deadline: Option<Instant>,
    ) -> Result<Self, Status> {
        // Nobody needs to be woken: the body is polled right after its headers are sent.
        let mut now = Context::from_waker(Waker::noop());
        let next = match poll_item(method, &mut stream, &mut now) {
            Poll::Ready(Some(Err(status))) => return Err(status),
            Poll::Ready(item) => Some(item),
            Poll::Pending => None,
        };
        Ok(Self {
            method: method.clone(),
            form,
            send_limit,
            caller,
            deadline: deadline.map(|at| Box::pin(sleep_until(at))),
            next,
            stream: Some(stream),
        })
    }

    /// Writes what such a body is.
    pub(super) fn write_headers(headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }

    /// Whether the last event has been given.
    pub(in super::super) fn is_over(&self) -> bool {
        self.stream.is_none()
    }

    /// The next event.
    pub(in super::super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Frame<Bytes>>> {
        let item = match self.next.take() {
            Some(next) => next,
            None => ready!(self.poll_item(cx)),
        };
        let written = item.map(|item| item.and_then(|payload| self.event(&payload)));
        let event = match written {
            Some(Ok(event)) => Some(event),
            Some(Err(status)) => {
                self.stream = None;
                Some(self.error(&status))
            }
            None => {
                self.stream = None;
                None
            }
        };
        Poll::Ready(event.map(Frame::data))
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(None);
        };
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Some(Err(expired(&self.method))));
        }
        poll_item(&self.method, stream, cx)
    }

    fn event(&self, payload: &Payload) -> Result<Bytes, Status> {
        let mut event = BytesMut::from(DATA);
        self.form
            .write(payload, &mut event)
            .map_err(|error| Status::internal(error.to_string()).with_source(error))?;
        check_sent(event.len() - DATA.len(), self.send_limit)?;
        event.extend_from_slice(END);
        Ok(event.freeze())
    }

    fn error(&self, status: &Status) -> Bytes {
        [DATA, &failure::body(status, self.caller), END]
            .concat()
            .into()
    }
}

const DATA: &[u8] = b"data:";
/// What is JSON has no line break but in a text, where it is escaped.
const END: &[u8] = b"\n\n";
