//! What it means for a call when HTTP/2 fails under it (`docs/spec/triple.md` §5.3).

use std::io;

use dubbo_core::status::{Origin, Status};
use h2::Reason;

use super::{super::status_wire::from_reset, connection::Connection};
use crate::endpoint::Link as _;

/// How a call fared that did not get its answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It is over.
    Final(Status),
    /// No handler saw it: the connection took it no more.
    ConnectionGone(Status),
    /// No handler saw it, and it may be the cause: the peer refused this stream, or closed the connection for an error.
    Refused(Status),
}

impl Failure {
    /// What it means for a call of which nothing was sent on `connection` that `error` ended it.
    pub(super) fn before_it_began(error: h2::Error, connection: &Connection) -> Self {
        let why = describe(&error);
        connection.retire(why.clone());
        // Who drives it may know more.
        let why = connection.reason().map_or(why, str::to_owned);
        Self::ConnectionGone(not_sent(&why).with_source(error))
    }

    /// What `error` means for a call on `connection`.
    pub(super) fn of(error: h2::Error, connection: &Connection) -> Self {
        // `h2` gives the peer's GOAWAY to the streams beyond its last one only: the others go on, or lose the socket.
        if error.is_go_away() && error.is_remote() {
            if error.reason() == Some(Reason::NO_ERROR) {
                return Self::before_it_began(error, connection);
            }
            let why = describe(&error);
            connection.retire(why.clone());
            // Not known to be safe: a call that breaks connections would break those to all providers in turn.
            return Self::Refused(
                Status::unavailable(format!("the connection ended before the call: {why}"))
                    .with_origin(Origin::Transport)
                    .with_source(error),
            );
        }
        if error.is_reset() && error.is_remote() {
            let reason = error.reason().unwrap_or(Reason::INTERNAL_ERROR);
            let status = from_reset(reason).with_source(error);
            return if reason == Reason::REFUSED_STREAM {
                Self::Refused(status)
            } else {
                Self::Final(status)
            };
        }
        // A limit of our own is no rule that the peer broke.
        let rules_broken = error.is_library() && error.reason() != Some(Reason::ENHANCE_YOUR_CALM);
        Self::Final(
            if rules_broken {
                Status::internal(format!(
                    "the peer broke the rules of HTTP/2: {}",
                    describe(&error)
                ))
            } else {
                let why = connection
                    .reason()
                    .map_or_else(|| describe(&error), str::to_owned);
                Status::unavailable(format!("the connection was lost: {why}"))
            }
            .with_origin(Origin::Transport)
            .with_source(error),
        )
    }

    /// The same with another status.
    pub(super) fn map(self, change: impl FnOnce(Status) -> Status) -> Self {
        match self {
            Self::Final(status) => Self::Final(change(status)),
            Self::ConnectionGone(status) => Self::ConnectionGone(change(status)),
            Self::Refused(status) => Self::Refused(change(status)),
        }
    }

    /// The same, as the end of the call.
    pub(super) fn into_status(self) -> Status {
        match self {
            Self::Final(status) | Self::ConnectionGone(status) | Self::Refused(status) => status,
        }
    }
}

/// A call whose connection was gone before it could be sent.
pub(super) fn not_sent(why: &str) -> Status {
    Status::unavailable(format!("the connection took no more calls: {why}"))
        .with_origin(Origin::Transport)
        .not_processed()
}

/// What happened, in the words of HTTP/2.
pub(super) fn describe(error: &h2::Error) -> String {
    let text = error.to_string();
    if let Some(reason) = error.reason()
        && error.is_go_away()
    {
        // The debug data of the frame can be had from the text alone.
        let debug = text.find(" (b\"").map_or("", |at| &text[at..]);
        let who = if error.is_remote() { "the peer" } else { "we" };
        return format!("{who} sent GOAWAY {reason:?}{debug}");
    }
    match error.get_io() {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => CLOSED.to_owned(),
        Some(_) if text == CUT => format!("{CLOSED} in the middle of a frame"),
        _ => text,
    }
}

/// The end of a connection that nobody explained.
pub(super) const CLOSED: &str = "the peer closed the connection";

/// What the decoder of frames has no kind of error for.
const CUT: &str = "bytes remaining on stream";
