//! Reading an answer: headers, messages, trailers, and what makes them a failure (`docs/spec/triple.md` §3.2, §6.2).

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    status::{Code, Origin, Status},
};
use http::{HeaderMap, header::CONTENT_TYPE, response::Parts};
use tokio::task::coop::poll_proceed;

use super::{
    super::{
        compression::Compression,
        form::is_wrapped,
        headers::GRPC_ENCODING,
        status_wire::{from_http_status, names_exception, read_status},
    },
    dialect::{Messages, Rest, TripleDialect},
    manner::Manner,
    source::Source,
};
use crate::{endpoint::Place, reject};

/// An answer that has begun.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be one more allocation for nearly every call"
)]
pub(super) enum Answer {
    /// It was over with its headers: the trailers of a success without messages.
    Ended(Attachments),
    /// Messages may follow the headers.
    Open(Attachments, Incoming),
}

impl Answer {
    /// Reads the head of an answer to a request of `manner`, whose messages may have `limit` bytes each.
    ///
    /// # Errors
    ///
    /// The answer is a failure, or not one of a server that speaks so.
    pub(super) fn read(
        head: Parts,
        source: Source,
        manner: Manner,
        limit: usize,
        place: &Place,
    ) -> Result<Self, Status> {
        if manner.dialect.has_envelopes() {
            return Self::in_envelopes(head, source, manner.dialect, limit, place);
        }
        let is_json = manner.is_json(&place.method);
        let begun = Messages::of_connect(head, is_json, limit);
        let (headers, messages) = begun.map_err(|status| place.name(status))?;
        let incoming = Incoming::new(source, messages, place.clone());
        Ok(Self::Open(Attachments::from_headers(headers), incoming))
    }

    /// Reads one of gRPC or gRPC-Web. A `grpc-status` counts more than the status of HTTP: Dubbo Java sends both. Beside
    /// messages or trailers it does not count: it is theirs to say how the call went.
    fn in_envelopes(
        head: Parts,
        source: Source,
        dialect: TripleDialect,
        limit: usize,
        place: &Place,
    ) -> Result<Self, Status> {
        let (http, headers) = (head.status, head.headers);
        let is_ours = http.is_success() && dialect.is_own(&headers);
        let over = source.is_over() || !is_ours;
        let early = match read_status(&headers) {
            Some(Ok(())) if source.is_over() => {
                return Ok(Self::Ended(Attachments::from_headers(headers)));
            }
            Some(Err(status)) => {
                let status = status.with_attachments(Attachments::from_headers(headers.clone()));
                if over {
                    return Err(reject::read(status));
                }
                Some(Err(status))
            }
            // Trailers, if there is nothing else.
            Some(Ok(())) if dialect == TripleDialect::GrpcWeb => {
                Some(Ok(Attachments::from_headers(headers.clone())))
            }
            Some(Ok(())) | None => None,
        };
        if !is_ours {
            let status = from_http_status(http, headers.get(CONTENT_TYPE));
            return Err(place.name_always(status));
        }
        let compression = Compression::announced(&headers, &GRPC_ENCODING).map_err(|unknown| {
            place.name(broken(format!(
                "the messages of the answer are compressed as {:?}; only gzip, deflate and zstd were offered",
                unknown.name()
            )))
        })?;
        let messages = Messages::in_envelopes(dialect, limit, compression);
        let incoming = Incoming {
            exception: names_exception(&headers),
            early,
            ..Incoming::new(source, messages, place.clone())
        };
        Ok(Self::Open(Attachments::from_headers(headers), incoming))
    }
}

/// The rest of an answer, after its headers.
pub(super) struct Incoming {
    source: Source,
    messages: Messages,
    place: Place,
    exception: bool,
    /// How the headers say that the call went, if nothing comes after them.
    early: Option<Result<Attachments, Status>>,
    any_messages: bool,
    no_more_data: bool,
}

/// What comes next in an answer.
pub(super) enum Event {
    /// A message.
    Message(Bytes),
    /// The end, with the trailers of a success. Nothing comes after it.
    End(Result<Attachments, Status>),
}

impl Incoming {
    fn new(source: Source, messages: Messages, place: Place) -> Self {
        Self {
            source,
            messages,
            place,
            exception: false,
            early: None,
            any_messages: false,
            no_more_data: false,
        }
    }

    /// Whether its message is the exception that a method without an IDL threw, in the place of the result.
    pub(super) fn is_exception(&self) -> bool {
        self.exception && is_wrapped(&self.place.method)
    }

    /// What comes next. Bytes are taken from the peer only when they are asked for, so it sends no more than fits into
    /// the stream's window.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        // An answer that always has a message gives other tasks a turn.
        let turn = ready!(poll_proceed(cx));
        let event = ready!(self.poll_event(cx));
        turn.made_progress();
        Poll::Ready(event)
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            match self.messages.next() {
                Ok(Some(message)) => {
                    self.any_messages = true;
                    return Poll::Ready(Event::Message(message));
                }
                Ok(None) => {}
                // A message has come, so the call was done.
                Err(status) => return Poll::Ready(self.fail(peers_fault(status).done())),
            }
            if self.no_more_data {
                return self.poll_end(cx);
            }
            match ready!(self.source.poll_data(&self.place, cx)) {
                Some(Ok(chunk)) => {
                    if let Err(status) = self.messages.push(chunk) {
                        return Poll::Ready(self.fail(status));
                    }
                }
                Some(Err(status)) => return Poll::Ready(Event::End(Err(status))),
                None => self.no_more_data = true,
            }
        }
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        Poll::Ready(match self.messages.end() {
            Ok(Rest::Message(message)) => Event::Message(message),
            Ok(Rest::Success(trailers)) => Event::End(Ok(trailers)),
            Ok(Rest::Trailers(trailers)) => self.judge(trailers),
            Ok(Rest::Nothing) => match ready!(self.source.poll_trailers(&self.place, cx)) {
                Ok(trailers) => self.judge(trailers),
                Err(status) => Event::End(Err(status)),
            },
            Err(status) => self.fail(status),
        })
    }

    /// The end, for something that is wrong with the answer.
    fn fail(&self, status: Status) -> Event {
        Event::End(Err(self.place.name(status)))
    }

    /// How the call went, as the trailers say, or the headers where there are none.
    fn judge(&mut self, trailers: Option<HeaderMap>) -> Event {
        let outcome = match (trailers, self.early.take()) {
            (Some(trailers), _) => self.outcome(trailers),
            (None, Some(Err(status))) if !self.has_begun() => Err(reject::read(status)),
            (None, Some(Ok(trailers))) if !self.has_begun() => Ok(trailers),
            (None, _) => Err(self.without_status("trailers")),
        };
        Event::End(outcome.map_err(|status| self.place.name(status)))
    }

    /// Whether the peer has sent a message, or some of one.
    fn has_begun(&self) -> bool {
        self.any_messages || self.messages.is_within()
    }

    fn outcome(&self, trailers: HeaderMap) -> Result<Attachments, Status> {
        match read_status(&trailers) {
            Some(Ok(())) => {
                self.messages.finish().map_err(peers_fault)?;
                if self.exception && !is_wrapped(&self.place.method) {
                    let text = "the provider threw an exception and answered with it as a Java object, \
                                which a method with protobuf messages cannot return";
                    return Err(Status::unknown(text)
                        .with_origin(Origin::Business)
                        .with_attachments(Attachments::from_headers(trailers)));
                }
                Ok(Attachments::from_headers(trailers))
            }
            Some(Err(mut status)) => {
                // Dubbo Java says in the headers that the application threw, and has no code for it.
                if self.exception && status.code() == Code::Unknown {
                    status = status.with_origin(Origin::Business);
                }
                let status = status.with_attachments(Attachments::from_headers(trailers));
                // Whoever has sent a message has begun.
                Err(if self.has_begun() {
                    status
                } else {
                    reject::read(status)
                })
            }
            None => Err(self
                .without_status("grpc-status in the trailers")
                .with_attachments(Attachments::from_headers(trailers))),
        }
    }

    /// An answer that ends without saying how it went must not pass for a whole one.
    fn without_status(&self, what: &str) -> Status {
        let text = format!("the answer ended without {what}: part of it may be missing");
        if self.has_begun() {
            Status::unknown(text).with_origin(Origin::Transport)
        } else {
            broken(text)
        }
    }
}

/// The argument that the decoder of frames finds invalid is the caller's in a provider. Here it is the answer.
fn peers_fault(status: Status) -> Status {
    if status.code() == Code::InvalidArgument {
        broken(status.message().to_owned()).with_source(status)
    } else {
        status
    }
}

/// An answer that no gRPC server should give.
fn broken(text: String) -> Status {
    Status::internal(text).with_origin(Origin::Transport)
}
