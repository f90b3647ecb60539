//! Reading an answer: headers, messages, trailers, and what makes them a failure (`docs/spec/triple.md` §3.2, §6.2).

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    status::{Code, Origin, Status},
};
use h2::RecvStream;
use http::{HeaderMap, Response, header::CONTENT_TYPE};
use tokio::task::coop::poll_proceed;

use super::{
    super::{
        compression::Compression,
        form::is_wrapped,
        frame::FrameDecoder,
        headers::{GRPC_ENCODING, is_grpc},
        status_wire::{from_http_status, names_exception, read_status},
    },
    connection::Connection,
    failure::Failure,
};
use crate::{endpoint::Place, reject};

/// An answer that has begun.
pub(super) enum Answer {
    /// It was over with its headers: the trailers of a success without messages.
    Ended(Attachments),
    /// Messages may follow the headers.
    Open(Attachments, Incoming),
}

impl Answer {
    /// Reads the headers of `response`, whose messages may have `limit` bytes each.
    ///
    /// # Errors
    ///
    /// The answer is a failure, or not one of a gRPC server. A `grpc-status` counts more than the status of HTTP:
    /// Dubbo Java sends both. Beside messages or trailers it does not count: it is theirs to say how the call went.
    pub(super) fn read(
        response: Response<RecvStream>,
        connection: &Arc<Connection>,
        limit: usize,
        place: &Place,
    ) -> Result<Self, Status> {
        let (parts, stream) = response.into_parts();
        let (http, headers) = (parts.status, parts.headers);
        let is_ours = http.is_success() && is_grpc(&headers);
        let over = stream.is_end_stream() || !is_ours;
        let early = match read_status(&headers) {
            Some(Ok(())) if stream.is_end_stream() => {
                return Ok(Self::Ended(Attachments::from_headers(headers)));
            }
            Some(Err(status)) => {
                let status = status.with_attachments(Attachments::from_headers(headers.clone()));
                if over {
                    return Err(reject::read(status));
                }
                Some(status)
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
        let exception = names_exception(&headers);
        let incoming = Incoming {
            stream,
            decoder: FrameDecoder::new(limit, compression),
            connection: Arc::clone(connection),
            place: place.clone(),
            exception,
            early,
            any_bytes: false,
            no_more_data: false,
        };
        Ok(Self::Open(Attachments::from_headers(headers), incoming))
    }
}

/// The rest of an answer, after its headers.
pub(super) struct Incoming {
    stream: RecvStream,
    decoder: FrameDecoder,
    connection: Arc<Connection>,
    place: Place,
    exception: bool,
    /// The failure that the headers name, if nothing comes after them.
    early: Option<Status>,
    any_bytes: bool,
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
        Poll::Ready(match event {
            Event::End(Err(status)) => Event::End(Err(self.place.name(status))),
            event => event,
        })
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            match self.decoder.next() {
                Ok(Some(message)) => return Poll::Ready(Event::Message(message)),
                Ok(None) => {}
                // A message has come, so the call was done.
                Err(status) => return Poll::Ready(Event::End(Err(peers_fault(status).done()))),
            }
            if self.no_more_data {
                return self.poll_trailers(cx).map(Event::End);
            }
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(chunk)) => {
                    self.any_bytes |= !chunk.is_empty();
                    // It fails only for more than was received.
                    let _ = self.stream.flow_control().release_capacity(chunk.len());
                    self.decoder.push(chunk);
                }
                Some(Err(error)) => return Poll::Ready(Event::End(Err(self.lost(error)))),
                None => self.no_more_data = true,
            }
        }
    }

    fn poll_trailers(&mut self, cx: &mut Context<'_>) -> Poll<Result<Attachments, Status>> {
        Poll::Ready(match ready!(self.stream.poll_trailers(cx)) {
            Ok(Some(trailers)) => self.outcome(trailers),
            Ok(None) => Err(match self.early.take() {
                Some(status) if !self.any_bytes => reject::read(status),
                _ => self.without_status("trailers"),
            }),
            Err(error) => Err(self.lost(error)),
        })
    }

    fn outcome(&self, trailers: HeaderMap) -> Result<Attachments, Status> {
        match read_status(&trailers) {
            Some(Ok(())) => {
                self.decoder.finish().map_err(peers_fault)?;
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
                Err(if self.any_bytes {
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
        if self.any_bytes {
            Status::unknown(text).with_origin(Origin::Transport)
        } else {
            broken(text)
        }
    }

    fn lost(&self, error: h2::Error) -> Status {
        Failure::of(error, &self.connection).into_status()
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
