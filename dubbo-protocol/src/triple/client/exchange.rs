//! One attempt to carry a call: what is the same however it travels, and the attempt over one connection of HTTP/2.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    invocation::{Body, PayloadStream, Reply},
    payload::{Payload, Rules},
    service::{MethodRef, ServiceKey},
    status::{Origin, Status},
};
use h2::{RecvStream, client::ResponseFuture};
use http::{Response, response::Parts};
use tokio::time::Instant;

use super::{
    super::{compression::Compression, exception::decode, form, limits::Limits},
    answer::{Answer, Event, Incoming},
    carrier::Carrier,
    connection::Connection,
    failure::Failure,
    head::Heads,
    life::Life,
    replies::{Keep, replies},
    source::Source,
    upload::Upload,
};
use crate::endpoint::{Deadline, Place};

/// What does not change from call to call.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) heads: Heads,
    pub(super) limits: Limits,
    /// By which answers are read.
    pub(super) rules: Rules,
}

/// A call, for as many attempts as it takes to send it once.
pub(super) struct Outgoing {
    pub(super) service: Arc<ServiceKey>,
    pub(super) place: Place,
    pub(super) attachments: Attachments,
    pub(super) request: Request,
    pub(super) deadline: Option<Deadline>,
}

/// What a call sends.
pub(super) enum Request {
    /// Messages; `None` while an attempt has them, and once one has been taken from them.
    Many(Option<PayloadStream>),
    /// One message.
    One(Payload),
}

impl From<Body> for Request {
    fn from(body: Body) -> Self {
        match body {
            Body::Stream(messages) => Self::Many(Some(messages)),
            Body::Unary(payload) => Self::One(payload),
        }
    }
}

impl Outgoing {
    /// Whether it can be sent once more.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self.request, Request::Many(None))
    }

    /// The body, when it is one message, and what the head announces of it.
    pub(super) fn write(
        &self,
        terms: &Terms,
    ) -> Result<(Option<Bytes>, Option<Compression>), Failure> {
        let (method, manner) = (&self.place.method, terms.heads.manner);
        match &self.request {
            Request::One(payload) => {
                let written = manner.write(method, payload, terms.limits.send);
                let written = written.map_err(|status| self.unsent(status.not_processed()))?;
                Ok((Some(written.body), written.compression))
            }
            Request::Many(_) => Ok((None, manner.announced(method))),
        }
    }

    /// The head, before a body that is announced as compressed so.
    pub(super) fn head(
        &self,
        terms: &Terms,
        compression: Option<Compression>,
    ) -> Result<http::Request<()>, Failure> {
        let now = Instant::now();
        let remaining = self
            .deadline
            .map(|deadline| deadline.at.saturating_duration_since(now));
        let (service, method) = (&self.service, &self.place.method);
        let heads = &terms.heads;
        heads
            .request(service, method, &self.attachments, compression, remaining)
            .map_err(|status| self.unsent(status))
    }

    /// The messages, when they are many.
    pub(super) fn take_messages(&mut self) -> Option<PayloadStream> {
        match &mut self.request {
            Request::Many(messages) => messages.take(),
            Request::One(_) => None,
        }
    }

    /// Takes back messages of which none has been taken.
    pub(super) fn put_back(&mut self, untouched: Option<PayloadStream>) {
        if let Request::Many(messages) = &mut self.request {
            *messages = untouched;
        }
    }

    /// `status` as the end of a call of which nothing was sent.
    pub(super) fn unsent(&self, status: Status) -> Failure {
        Failure::Final(self.place.name(status))
    }
}

impl Carrier for Connection {
    fn life(&self) -> &Life {
        self.life()
    }

    async fn carry(
        self: &Arc<Self>,
        call: &mut Outgoing,
        terms: &Terms,
        sent: &AtomicBool,
        keep: impl FnOnce() -> Keep + Send,
    ) -> Result<Reply, Failure> {
        let (mut response, mut upload) = start(self, call, terms, sent)?;
        let received =
            std::future::poll_fn(|cx| poll_response(&mut response, upload.as_mut(), cx)).await;
        let response = match received {
            Ok(response) => response,
            Err(Lost::Caller(status)) => return Err(Failure::Final(status)),
            Err(Lost::Stream(error)) => {
                call.put_back(upload.and_then(Upload::into_untouched));
                let failure = if self.has_begun(response.stream_id()) {
                    Failure::of(error, self)
                } else {
                    Failure::before_it_began(error, self)
                };
                return Err(failure.map(|status| call.place.name(status)));
            }
        };
        self.life().note_use();
        let (head, stream) = response.into_parts();
        let source = Source::Http2(stream, Arc::clone(self));
        read(&call.place, (head, source), upload, terms, keep).await
    }
}

/// Opens a stream for `call`, and sends what can be sent at once.
fn start(
    connection: &Connection,
    call: &mut Outgoing,
    terms: &Terms,
    sent: &AtomicBool,
) -> Result<(ResponseFuture, Option<Upload>), Failure> {
    let (message, compression) = call.write(terms)?;
    let head = call.head(terms, compression)?;
    let (response, mut stream) = connection.start(head).map_err(|error| {
        let Some(failure) = connection.failure() else {
            return call.unsent(Status::internal(format!(
                "the request cannot be sent: {error}"
            )));
        };
        Failure::before_it_began(failure, connection).map(|status| call.place.name(status))
    })?;
    sent.store(true, Ordering::Relaxed);
    if let Some(message) = message {
        // It fails when the stream is closed by now: the answer says why.
        let _ = stream.send_data(message, true);
        return Ok((response, None));
    }
    let upload = call.take_messages().map(|messages| {
        let (method, manner) = (&call.place.method, terms.heads.manner);
        let sending = manner.sending(method, terms.limits.send);
        let form = manner.form(method);
        Upload::new(messages, stream, sending, form, call.place.clone())
    });
    Ok((response, upload))
}

/// Reads the answer to a call of `place` that has begun with `head`.
pub(super) async fn read(
    place: &Place,
    (head, source): (Parts, Source),
    upload: Option<Upload>,
    terms: &Terms,
    keep: impl FnOnce() -> Keep,
) -> Result<Reply, Failure> {
    let (manner, limit) = (terms.heads.manner, terms.limits.receive);
    let answer = Answer::read(head, source, manner, limit, place).map_err(Failure::Final)?;
    if place.method.kind().streams_responses() {
        Ok(replies(answer, upload, keep()))
    } else {
        let reply = one_reply(answer, upload, terms, place).await;
        reply.map_err(Failure::Final)
    }
}

/// Why there is no response.
enum Lost {
    /// The caller's stream failed.
    Caller(Status),
    /// HTTP/2 did.
    Stream(h2::Error),
}

fn poll_response(
    response: &mut ResponseFuture,
    upload: Option<&mut Upload>,
    cx: &mut Context<'_>,
) -> Poll<Result<Response<RecvStream>, Lost>> {
    if let Some(upload) = upload
        && let Poll::Ready(Err(status)) = upload.poll(cx)
    {
        return Poll::Ready(Err(Lost::Caller(status)));
    }
    Pin::new(response).poll(cx).map_err(Lost::Stream)
}

/// Reads an answer of exactly one message, while the rest of the request is being sent.
async fn one_reply(
    answer: Answer,
    mut upload: Option<Upload>,
    terms: &Terms,
    place: &Place,
) -> Result<Reply, Status> {
    let (headers, mut incoming) = match answer {
        Answer::Open(headers, incoming) => (headers, incoming),
        Answer::Ended(trailers) => return Err(place.name(not_one(NO_MESSAGE, trailers))),
    };
    let mut message: Option<Bytes> = None;
    let trailers = loop {
        match std::future::poll_fn(|cx| poll_answer(&mut incoming, upload.as_mut(), cx)).await? {
            Event::Message(bytes) if message.is_none() => message = Some(bytes),
            Event::Message(_) => return Err(place.name(not_one(MORE_MESSAGES, headers))),
            Event::End(Ok(trailers)) => break trailers,
            Event::End(Err(status)) => return Err(with_headers(status, &headers)),
        }
    };
    let Some(message) = message else {
        return Err(place.name(not_one(NO_MESSAGE, trailers)));
    };
    if incoming.is_exception() {
        let status = exception(&place.method, message, &terms.rules);
        return Err(place.name(status).with_attachments(trailers));
    }
    let codec = terms.heads.manner.codec;
    let message = form::reply(&place.method, codec, message, &terms.rules);
    let message = message.map_err(|status| place.name(status))?;
    let mut reply = Reply::new(Body::Unary(message));
    reply.headers = headers;
    reply.trailers = trailers;
    Ok(reply)
}

/// An answer that has not exactly one message, which is gRPC's code 12.
fn not_one(what: &'static str, attachments: Attachments) -> Status {
    Status::unimplemented(what)
        .with_origin(Origin::Transport)
        .with_attachments(attachments)
}

/// The failure of a call whose answer had begun: nobody else shows its headers to the caller.
fn with_headers(mut status: Status, headers: &Attachments) -> Status {
    status.attachments_mut().extend(headers);
    status
}

/// What an answer means that has an exception in the place of the result.
fn exception(method: &MethodRef, message: Bytes, rules: &Rules) -> Status {
    match form::read_result(method, message) {
        Ok(value) => decode(&value, rules),
        Err(status) => status,
    }
}

fn poll_answer(
    incoming: &mut Incoming,
    upload: Option<&mut Upload>,
    cx: &mut Context<'_>,
) -> Poll<Result<Event, Status>> {
    if let Some(upload) = upload
        && let Poll::Ready(Err(status)) = upload.poll(cx)
    {
        return Poll::Ready(Err(status));
    }
    incoming.poll_next(cx).map(Ok)
}

const NO_MESSAGE: &str = "the answer says that the call succeeded and has no message";
const MORE_MESSAGES: &str = "the answer has more than one message";
