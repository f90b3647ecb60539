//! Answers: which headers and trailers they have, and how their bodies are sent.

use std::{
    convert::Infallible,
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::{AttachmentError, Attachments},
    context::ReplyContext,
    invocation::PayloadStream,
    panics::poll_guarded,
    payload::Payload,
    service::MethodRef,
    status::{Code, Status},
};
use futures_core::Stream as _;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::triple::{
    form::{Dialect, Form, is_wrapped},
    frame,
    headers::{GRPC_ACCEPT_ENCODING, GZIP, GrpcContent, PeerKind, TRI_EXCEPTION_CODE},
    status_wire::write_status,
};

/// How answers to one caller look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) content: GrpcContent,
    pub(super) peer: PeerKind,
}

impl Caller {
    /// How answers of `method` are written, until its request says more.
    pub(super) fn form(self, method: &MethodRef) -> Form {
        if !is_wrapped(method) {
            return Form::Plain(self.content.codec());
        }
        let dialect = match self.peer {
            PeerKind::Dubbo => Dialect::Go,
            PeerKind::Java | PeerKind::Other => Dialect::Java,
        };
        Form::Results(method.clone(), dialect)
    }

    /// The headers of an answer that has messages.
    ///
    /// # Errors
    ///
    /// Code 13 for an attachment that HTTP cannot carry.
    pub(super) fn headers(self, attachments: [&Attachments; 2]) -> Result<HeaderMap, Status> {
        let mut headers = HeaderMap::with_capacity(2);
        headers.insert(CONTENT_TYPE, self.content.value());
        headers.insert(GRPC_ACCEPT_ENCODING, GZIP);
        self.write_all(&attachments, &mut headers)?;
        Ok(headers)
    }

    /// The trailers after the last message of a call that worked.
    ///
    /// # Errors
    ///
    /// As [`headers`](Self::headers).
    pub(super) fn success(self, attachments: &[&Attachments]) -> Result<HeaderMap, Status> {
        let mut trailers = HeaderMap::with_capacity(1);
        self.write_all(attachments, &mut trailers)?;
        write_status(Ok(()), self.peer, &mut trailers);
        Ok(trailers)
    }

    /// The trailers of a call that failed. Attachments that HTTP cannot carry stay behind: the status is what counts.
    pub(super) fn failure(self, status: &Status, attachments: &[&Attachments]) -> HeaderMap {
        let mut trailers = HeaderMap::new();
        for attachments in attachments.iter().copied().chain([status.attachments()]) {
            if let Err(error) = self.write(attachments, &mut trailers) {
                tracing::warn!(%error, "attachments of a failed call are left out");
            }
        }
        write_status(Err(status), self.peer, &mut trailers);
        trailers
    }

    /// The answer to a call that failed before its first message: everything in one block, under HTTP status 200.
    ///
    /// A dubbo-go caller would not look at `grpc-status` beside any other (`docs/spec/triple.md` §1.6).
    pub(super) fn failed(self, status: &Status, reply: &ReplyContext) -> Response<ReplyBody> {
        let attachments = [reply.take_headers(), reply.take_trailers()];
        let mut headers = self.failure(status, &[&attachments[0], &attachments[1]]);
        headers.insert(CONTENT_TYPE, self.content.value());
        headers.insert(GRPC_ACCEPT_ENCODING, GZIP);
        if status.code() == Code::Business && !self.peer.knows_own_codes() {
            // Beside code 2 this tells business from accident (docs/spec/cluster.md §2.1.2). There is no message here
            // that Dubbo Java could take for an exception because of it.
            headers.insert(TRI_EXCEPTION_CODE, BIZ_EXCEPTION);
        }
        respond(headers, ReplyBody::Empty)
    }
}

impl Caller {
    fn write_all(
        self,
        attachments: &[&Attachments],
        headers: &mut HeaderMap,
    ) -> Result<(), Status> {
        for attachments in attachments {
            self.write(attachments, headers).map_err(|error| {
                Status::internal(format!("the answer cannot be sent: {error}")).with_source(error)
            })?;
        }
        Ok(())
    }

    fn write(
        self,
        attachments: &Attachments,
        headers: &mut HeaderMap,
    ) -> Result<(), AttachmentError> {
        attachments.write_to(headers)?;
        if self.peer == PeerKind::Java {
            attachments.write_spellings_to(headers);
        }
        Ok(())
    }
}

/// An answer to someone who does not speak gRPC.
pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<ReplyBody> {
    let mut headers = HeaderMap::with_capacity(2);
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    let mut response = respond(headers, ReplyBody::Plain(text.into()));
    *response.status_mut() = status;
    response
}

/// What is sent after the headers.
#[derive(Default)]
pub(super) enum ReplyBody {
    /// Nothing.
    #[default]
    Empty,
    /// As many messages as the handler has, then trailers.
    Many(Box<Many>),
    /// One message, then trailers.
    One {
        envelope: Option<Bytes>,
        trailers: Option<HeaderMap>,
    },
    /// These bytes.
    Plain(Bytes),
}

impl ReplyBody {
    /// One message, then trailers.
    pub(super) fn one(envelope: Bytes, trailers: HeaderMap) -> Self {
        Self::One {
            envelope: Some(envelope),
            trailers: Some(trailers),
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = match &mut *self {
            Self::Empty => None,
            Self::Many(many) => ready!(many.poll_frame(cx)),
            Self::One { envelope, trailers } => envelope
                .take()
                .map(Frame::data)
                .or_else(|| trailers.take().map(Frame::trailers)),
            Self::Plain(bytes) if bytes.is_empty() => None,
            Self::Plain(bytes) => Some(Frame::data(std::mem::take(bytes))),
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Many(many) => many.stream.is_none(),
            Self::One { trailers, .. } => trailers.is_none(),
            Self::Plain(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            // gRPC's bodies have no content-length.
            Self::Empty | Self::Many(_) | Self::One { .. } => SizeHint::default(),
            Self::Plain(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

/// The messages of a streaming answer. The handler is asked for the next one when HTTP/2 has room for it.
pub(super) struct Many {
    pub(super) caller: Caller,
    pub(super) form: Form,
    pub(super) send_limit: usize,
    pub(super) reply: ReplyContext,
    /// What the handler knew of its trailers when it returned.
    pub(super) trailers: Attachments,
    pub(super) method: MethodRef,
    pub(super) deadline: Option<Pin<Box<Sleep>>>,
    /// What the stream gave already.
    pub(super) next: Option<Item>,
    /// Gone once the trailers have been given.
    pub(super) stream: Option<PayloadStream>,
}

/// What a reply stream gives, its end included.
pub(super) type Item = Option<Result<Payload, Status>>;

impl Many {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        if self.stream.is_none() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(match ready!(self.poll_envelope(cx)) {
            Ok(envelope) => Frame::data(self.with_what_is_ready(envelope, cx)),
            Err(end) => Frame::trailers(self.finish(end)),
        }))
    }

    fn poll_envelope(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Option<Status>>> {
        let item = match self.next.take() {
            Some(next) => next,
            None => ready!(self.poll_item(cx)),
        };
        Poll::Ready(match item {
            None => Err(None),
            Some(item) => item
                .and_then(|payload| frame::encode(&payload, &self.form, self.send_limit))
                .map_err(Some),
        })
    }

    /// Adds to a small message those that are there already: a frame for each would cost the peer more than the
    /// messages do, and some count small frames and hang up.
    fn with_what_is_ready(&mut self, first: Bytes, cx: &mut Context<'_>) -> Bytes {
        if first.len() >= ENOUGH {
            return first;
        }
        let mut frame = BytesMut::new();
        while frame.len() < ENOUGH {
            let Poll::Ready(item) = self.poll_item(cx) else {
                break;
            };
            let Some(Ok(payload)) = &item else {
                self.next = Some(item);
                break;
            };
            if frame.is_empty() {
                frame.reserve(ENOUGH);
                frame.extend_from_slice(&first);
            }
            if let Err(status) = frame::append(payload, &self.form, self.send_limit, &mut frame) {
                self.next = Some(Some(Err(status)));
                break;
            }
        }
        if frame.is_empty() {
            first
        } else {
            frame.freeze()
        }
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Some(Err(expired(&self.method))));
        }
        match &mut self.stream {
            Some(stream) => poll_item(&self.method, stream, cx),
            None => Poll::Ready(None),
        }
    }

    /// Ends the stream, which drops the handler's side of it.
    fn finish(&mut self, error: Option<Status>) -> HeaderMap {
        let late = self.stream.take().map(|stream| stream.trailers());
        let late = late.as_ref().and_then(|late| late.get());
        let from_context = self.reply.take_trailers();
        let mut attachments = vec![&self.trailers, &from_context];
        attachments.extend(late);
        match error {
            None => self
                .caller
                .success(&attachments)
                .unwrap_or_else(|status| self.caller.failure(&status, &[])),
            Some(status) => self.caller.failure(&status, &attachments),
        }
    }
}

/// Polls the handler's stream; a panic in it is an item.
pub(super) fn poll_item(
    method: &MethodRef,
    stream: &mut PayloadStream,
    cx: &mut Context<'_>,
) -> Poll<Item> {
    poll_guarded(method, cx, |cx| Pin::new(stream).poll_next(cx))
        .map(|item| item.unwrap_or_else(|panicked| Some(Err(panicked))))
}

/// Nobody waits for the answer any more.
pub(super) fn expired(method: &MethodRef) -> Status {
    Status::deadline_exceeded(format!(
        "the caller's deadline passed before {method:?} was done"
    ))
}

/// An answer under HTTP status 200.
pub(super) fn respond(headers: HeaderMap, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

/// `RpcException.BIZ_EXCEPTION` of Dubbo Java.
pub(super) const BIZ_EXCEPTION: HeaderValue = HeaderValue::from_static("3");

/// As much as the smallest frame that every peer takes.
const ENOUGH: usize = 16 << 10;
