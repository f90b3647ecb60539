//! The reply stream of a call.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use dubbo_core::{
    attachments::Attachments,
    invocation::{Body, LateTrailers, PayloadStream, Reply},
    payload::{Codec, Payload, Rules},
    status::Status,
};
use futures_core::Stream;
use tokio::time::{Sleep, sleep_until};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    super::form,
    answer::{Answer, Event, Incoming},
    upload::Upload,
};
use crate::endpoint::{Counted, Deadline, Place};

/// What lives as long as a reply stream.
pub(super) struct Keep {
    pub(super) place: Place,
    /// How messages of a proto file are written.
    pub(super) codec: Codec,
    /// By which the replies are read.
    pub(super) rules: Rules,
    pub(super) deadline: Option<Deadline>,
    /// Where the rest of the request is sent from.
    pub(super) uploads: TaskTracker,
    /// The call among those of the connection and of the invoker.
    pub(super) counted: [Counted; 2],
}

/// The reply that `answer` begins, with the rest of the request still to be sent.
pub(super) fn replies(answer: Answer, upload: Option<Upload>, keep: Keep) -> Reply {
    let late = LateTrailers::expected();
    let (headers, stream) = match answer {
        Answer::Ended(trailers) => {
            late.set(trailers);
            (Attachments::new(), Replies(None))
        }
        Answer::Open(headers, incoming) => {
            let stream = Open::new(incoming, upload, keep, late.clone());
            (headers, Replies(Some(stream)))
        }
    };
    let mut reply = Reply::new(Body::Stream(PayloadStream::with_trailers(stream, late)));
    reply.headers = headers;
    reply
}

/// `None` once it has ended: everything that the call held has been given back by then.
///
/// Dropping it resets the stream of HTTP/2, and ends the request.
struct Replies(Option<Open>);

struct Open {
    incoming: Incoming,
    upload: Option<AbortOnDropHandle<Result<(), Status>>>,
    expiry: Option<(Deadline, Pin<Box<Sleep>>)>,
    place: Place,
    codec: Codec,
    rules: Rules,
    late: LateTrailers,
    _counted: [Counted; 2],
}

impl Open {
    fn new(incoming: Incoming, upload: Option<Upload>, keep: Keep, late: LateTrailers) -> Self {
        // The caller may send without reading, so the request does not wait for the reply to be polled.
        let upload = upload
            .filter(|upload| !upload.has_ended())
            .map(|upload| AbortOnDropHandle::new(keep.uploads.spawn(upload.run())));
        Self {
            incoming,
            upload,
            expiry: keep
                .deadline
                .map(|deadline| (deadline, Box::pin(sleep_until(deadline.at)))),
            place: keep.place,
            codec: keep.codec,
            rules: keep.rules,
            late,
            _counted: keep.counted,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if let Some((deadline, sleep)) = &mut self.expiry
            && sleep.as_mut().poll(cx).is_ready()
        {
            let status = self.place.name(deadline.expired(true));
            return Poll::Ready(Event::End(Err(status)));
        }
        if let Some(upload) = &mut self.upload
            && let Poll::Ready(sent) = Pin::new(upload).poll(cx)
        {
            self.upload = None;
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(status)) => return Poll::Ready(Event::End(Err(status))),
                Err(error) => {
                    let text = format!("the stream of requests failed: {error}");
                    let status = self.place.name(Status::internal(text));
                    return Poll::Ready(Event::End(Err(status)));
                }
            }
        }
        let event = ready!(self.incoming.poll_next(cx));
        Poll::Ready(match (event, &self.expiry) {
            (Event::End(Err(status)), Some((deadline, _))) => {
                Event::End(Err(deadline.or_late(status, &self.place)))
            }
            (event, _) => event,
        })
    }
}

impl Stream for Replies {
    type Item = Result<Payload, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(open) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let ended = match ready!(open.poll(cx)) {
            Event::Message(bytes) => {
                match form::reply(&open.place.method, open.codec, bytes, &open.rules) {
                    Ok(payload) => return Poll::Ready(Some(Ok(payload))),
                    Err(status) => Err(open.place.name(status)),
                }
            }
            Event::End(ended) => ended,
        };
        let item = match ended {
            Ok(trailers) => {
                open.late.set(trailers);
                None
            }
            Err(status) => {
                open.late.set(status.attachments().clone());
                Some(Err(status))
            }
        };
        self.0 = None;
        Poll::Ready(item)
    }
}
