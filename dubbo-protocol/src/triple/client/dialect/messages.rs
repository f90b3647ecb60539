//! The messages in the body of an answer.

use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    status::{Origin, Status},
};
use http::{HeaderMap, response::Parts};

use super::{TripleDialect, connect::Unary, web};
use crate::triple::{
    compression::Compression,
    frame::FrameDecoder,
    headers::{is_grpc, is_of_kind},
};

/// Bytes go in as they come, messages come out.
pub(in crate::triple::client) enum Messages {
    /// Connect's one, and whether it has been given out.
    Connect(Box<Unary>, Given),
    /// gRPC's: trailers follow the body.
    Grpc(FrameDecoder),
    /// gRPC-Web's: trailers end the body.
    Web(FrameDecoder),
}

/// Whether Connect's message has been given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::triple::client) enum Given {
    No,
    Yes,
}

/// What is behind the last message, when the body is over.
pub(in crate::triple::client) enum Rest {
    /// One more message.
    Message(Bytes),
    /// Nothing: trailers come after the body.
    Nothing,
    /// The trailers of gRPC, which say how the call went; `None` where there are none.
    Trailers(Option<HeaderMap>),
    /// The end of a success.
    Success(Attachments),
}

impl Messages {
    /// Those of an answer in envelopes.
    pub(in crate::triple::client) fn in_envelopes(
        dialect: TripleDialect,
        limit: usize,
        compression: Option<Compression>,
    ) -> Self {
        let decoder = FrameDecoder::new(limit, compression);
        if dialect == TripleDialect::GrpcWeb {
            Self::Web(decoder.with_trailers())
        } else {
            Self::Grpc(decoder)
        }
    }

    /// The headers and the one message of an answer of Connect.
    ///
    /// # Errors
    ///
    /// As [`Unary::begin`].
    pub(in crate::triple::client) fn of_connect(
        head: Parts,
        is_json: bool,
        limit: usize,
    ) -> Result<(HeaderMap, Self), Status> {
        let (headers, unary) = Unary::begin(head, is_json, limit)?;
        Ok((headers, Self::Connect(Box::new(unary), Given::No)))
    }

    /// The next whole message; `None` when it takes more bytes.
    ///
    /// # Errors
    ///
    /// The answer is broken, or over a limit.
    pub(in crate::triple::client) fn next(&mut self) -> Result<Option<Bytes>, Status> {
        match self {
            Self::Connect(..) => Ok(None),
            Self::Grpc(decoder) | Self::Web(decoder) => decoder.next(),
        }
    }

    /// Takes in more bytes.
    ///
    /// # Errors
    ///
    /// They are over a limit.
    pub(in crate::triple::client) fn push(&mut self, chunk: Bytes) -> Result<(), Status> {
        match self {
            Self::Connect(unary, _) => return unary.push(&chunk),
            Self::Grpc(decoder) | Self::Web(decoder) => decoder.push(chunk),
        }
        Ok(())
    }

    /// What is left when there are no more bytes. To be called again after a message.
    ///
    /// # Errors
    ///
    /// The failure that Connect's body tells, or trailers that are none.
    pub(in crate::triple::client) fn end(&mut self) -> Result<Rest, Status> {
        match self {
            Self::Connect(unary, given @ Given::No) => {
                *given = Given::Yes;
                unary.end().map(Rest::Message)
            }
            Self::Connect(unary, Given::Yes) => Ok(Rest::Success(unary.take_trailers())),
            Self::Grpc(_) => Ok(Rest::Nothing),
            Self::Web(decoder) => {
                let trailers = decoder.take_trailers();
                let trailers = trailers.map(|lines| web::trailers(&lines)).transpose();
                trailers.map(Rest::Trailers).map_err(|problem| {
                    let text = format!("the trailers in the answer cannot be read: {problem}");
                    Status::internal(text).with_origin(Origin::Transport)
                })
            }
        }
    }

    /// Refuses to end within a message.
    ///
    /// # Errors
    ///
    /// As [`FrameDecoder::finish`].
    pub(in crate::triple::client) fn finish(&self) -> Result<(), Status> {
        match self {
            Self::Connect(..) => Ok(()),
            Self::Grpc(decoder) | Self::Web(decoder) => decoder.finish(),
        }
    }

    /// Whether a part of a message waits for its rest.
    pub(in crate::triple::client) fn is_within(&self) -> bool {
        match self {
            Self::Connect(..) => false,
            Self::Grpc(decoder) | Self::Web(decoder) => decoder.pending() > 0,
        }
    }
}

impl TripleDialect {
    /// Whether `headers` are those of an answer in envelopes of its own.
    pub(in crate::triple::client) fn is_own(self, headers: &HeaderMap) -> bool {
        match self {
            Self::Grpc => is_grpc(headers),
            Self::GrpcWeb => is_of_kind(headers, "application/grpc-web", b"+; \t"),
            Self::Connect => false,
        }
    }
}
