//! The body of an answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::status::Status;
use http_body::Body as _;
use hyper::body::Incoming;

use super::{body::Fault, failure::lost, lane::Lane};

/// The rest of an answer. Dropping it before its end closes the connection; after that, another call may have it.
pub(in crate::triple::client) struct Received {
    body: Incoming,
    /// `None` once it has been given back.
    lane: Option<Lane>,
    /// What became of the rest of the request.
    fault: Option<Arc<Fault>>,
}

impl Received {
    pub(super) fn new(body: Incoming, lane: Lane, fault: Option<Arc<Fault>>) -> Self {
        Self {
            body,
            lane: Some(lane),
            fault,
        }
    }

    /// Whether it is known to have nothing.
    pub(in crate::triple::client) fn is_over(&self) -> bool {
        self.body.is_end_stream()
    }

    /// The next bytes; `None` when there are no more.
    ///
    /// # Errors
    ///
    /// The answer was cut off, or the caller's stream failed.
    pub(in crate::triple::client) fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Status>>> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // Trailers say nothing here.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Some(Err(error)) => {
                    self.lane = None;
                    return Poll::Ready(Some(Err(lost(error, self.fault.as_deref()))));
                }
                None => {
                    self.give_back();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn give_back(&mut self) {
        if let Some(lane) = self.lane.take() {
            lane.give_back();
        }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        if self.is_over() {
            self.give_back();
        }
    }
}
