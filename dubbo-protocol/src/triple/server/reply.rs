//! Answers: which headers and trailers they have, and how their bodies are sent.

use std::{
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::{AttachmentError, Attachments},
    context::ReplyContext,
    extension::BoxError,
    invocation::PayloadStream,
    panics::poll_guarded,
    payload::Payload,
    service::MethodRef,
    status::{Code, Status},
};
use futures_core::Stream as _;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response,
    header::{CONTENT_TYPE, TRAILER},
};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use super::{bare::Events, budget::Budget, mounts::Guarded, web::WebReply};
use crate::triple::{
    compression::{Compression, Packing},
    form::{Dialect, Form, is_wrapped},
    frame::{self, Sending},
    headers::{
        GRPC_ACCEPT_ENCODING, GRPC_ENCODING, GRPC_MESSAGE, GRPC_RETRY_PUSHBACK, GRPC_STATUS,
        GRPC_STATUS_DETAILS, GrpcContent, PeerKind, TRI_EXCEPTION_CODE,
    },
    status_wire::write_status,
};

/// How answers to one caller look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) content: GrpcContent,
    pub(super) peer: PeerKind,
    /// How messages for it are compressed.
    pub(super) packing: Option<Packing>,
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
        headers.insert(GRPC_ACCEPT_ENCODING, Compression::OFFER);
        if let Some(packing) = self.packing {
            headers.insert(GRPC_ENCODING, packing.compression.header());
        }
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
            if let Err(error) = write_attachments(attachments, self.peer, &mut trailers) {
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
        headers.insert(GRPC_ACCEPT_ENCODING, Compression::OFFER);
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
            write_attachments(attachments, self.peer, headers).map_err(not_sendable)?;
        }
        Ok(())
    }
}

/// Writes `attachments` to `headers` as `peer` takes them.
///
/// # Errors
///
/// One that HTTP cannot carry.
pub(super) fn write_attachments(
    attachments: &Attachments,
    peer: PeerKind,
    headers: &mut HeaderMap,
) -> Result<(), AttachmentError> {
    attachments.write_to(headers)?;
    if peer == PeerKind::Java {
        attachments.write_spellings_to(headers);
    }
    Ok(())
}

/// Writes to `headers` what would follow the message of a gRPC call, for a caller that has headers alone
/// (`docs/spec/triple.md` §4.2).
///
/// # Errors
///
/// As [`write_attachments`].
pub(super) fn write_trailers(
    attachments: &[&Attachments],
    peer: PeerKind,
    headers: &mut HeaderMap,
) -> Result<(), AttachmentError> {
    let mut trailers = HeaderMap::new();
    for attachments in attachments {
        write_attachments(attachments, peer, &mut trailers)?;
    }
    for (name, value) in &trailers {
        let prefixed = HeaderName::from_bytes(format!("trailer-{name}").as_bytes());
        let prefixed = prefixed.map_err(|_| AttachmentError::Name(name.to_string()))?;
        headers.append(prefixed, value.clone());
    }
    Ok(())
}

/// An answer with attachments that HTTP cannot carry.
pub(super) fn not_sendable(error: AttachmentError) -> Status {
    Status::internal(format!("the answer cannot be sent: {error}")).with_source(error)
}

/// What is sent after the headers.
#[derive(Default)]
pub(super) enum ReplyBody {
    /// Nothing.
    #[default]
    Empty,
    /// As many messages as the handler has, for a caller without gRPC.
    Events(Box<Events>),
    /// Whatever a handler of HTTP requests has.
    Http(Guarded),
    /// As many messages as the handler has, then trailers.
    Many(Box<Many>),
    /// One message, then trailers.
    One {
        envelope: Option<Bytes>,
        trailers: Option<HeaderMap>,
    },
    /// These bytes.
    Plain(Bytes),
    /// Messages and trailers, for a browser.
    Web(Box<WebReply>),
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
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match &mut *self {
            Self::Empty => None,
            Self::Events(events) => ready!(events.poll_frame(cx)),
            Self::Http(body) => return Pin::new(body).poll_frame(cx),
            Self::Many(many) => ready!(many.poll_frame(cx)),
            Self::One { envelope, trailers } => envelope
                .take()
                .map(Frame::data)
                .or_else(|| trailers.take().map(Frame::trailers)),
            Self::Plain(bytes) if bytes.is_empty() => None,
            Self::Plain(bytes) => Some(Frame::data(std::mem::take(bytes))),
            Self::Web(web) => return Pin::new(&mut **web).poll_frame(cx),
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Events(events) => events.is_over(),
            Self::Http(body) => body.is_end_stream(),
            Self::Many(many) => many.stream.is_none(),
            Self::One { trailers, .. } => trailers.is_none(),
            Self::Plain(bytes) => bytes.is_empty(),
            Self::Web(web) => web.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            // gRPC's bodies have no content-length.
            Self::Empty | Self::Events(_) | Self::Many(_) | Self::One { .. } | Self::Web(_) => {
                SizeHint::default()
            }
            Self::Http(body) => body.size_hint(),
            Self::Plain(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

/// The messages of a streaming answer. The handler is asked for the next one when HTTP/2 has room for it.
pub(super) struct Many {
    pub(super) caller: Caller,
    pub(super) form: Form,
    pub(super) sending: Sending,
    pub(super) reply: ReplyContext,
    pub(super) budget: Arc<Budget>,
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
                .and_then(|payload| frame::encode(&payload, &self.form, self.sending))
                .and_then(|envelope| self.budget.hold(envelope))
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
            if let Err(status) = frame::append(payload, &self.form, self.sending, &mut frame) {
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

    /// The names of all trailers that are known before the stream has ended.
    fn trailer_names(&self) -> String {
        let mut known = HeaderMap::new();
        // What cannot be sent is told in their place.
        let _ = write_attachments(&self.trailers, self.caller.peer, &mut known);
        for name in STATUS {
            known.insert(name, HeaderValue::from_static(""));
        }
        names_of(&known)
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

/// Names before the body of `response` what comes after it: HTTP/1.1 has no other trailers. Those that a stream sets on
/// its way are not known yet, and stay behind.
pub(super) fn announce_trailers(response: &mut Response<ReplyBody>) {
    let names = match response.body() {
        ReplyBody::Many(many) => many.trailer_names(),
        ReplyBody::One {
            trailers: Some(trailers),
            ..
        } => names_of(trailers),
        _ => return,
    };
    // Names of fields are values of fields.
    if let Ok(names) = HeaderValue::try_from(names) {
        response.headers_mut().insert(TRAILER, names);
    }
}

fn names_of(trailers: &HeaderMap) -> String {
    let names: Vec<_> = trailers.keys().map(HeaderName::as_str).collect();
    names.join(", ")
}

/// `RpcException.BIZ_EXCEPTION` of Dubbo Java.
pub(super) const BIZ_EXCEPTION: HeaderValue = HeaderValue::from_static("3");

/// The trailers that say how a call ended.
const STATUS: [HeaderName; 4] = [
    GRPC_MESSAGE,
    GRPC_RETRY_PUSHBACK,
    GRPC_STATUS,
    GRPC_STATUS_DETAILS,
];

/// As much as the smallest frame that every peer takes.
const ENOUGH: usize = 16 << 10;
