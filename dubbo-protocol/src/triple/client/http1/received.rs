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

use super::{body::Upload, failure::lost, lane::Lane};
use crate::endpoint::Place;

/// The rest of an answer. Dropping it before its end closes the connection; after that, another call may have it.
pub(in crate::triple::client) struct Received {
    body: Incoming,
    /// `None` once it has been given back.
    lane: Option<Lane>,
    /// The rest of a request with many messages.
    upload: Option<Arc<Upload>>,
}

impl Received {
    pub(super) fn new(body: Incoming, lane: Lane, upload: Option<Arc<Upload>>) -> Self {
        Self {
            body,
            lane: Some(lane),
            upload,
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
    /// The answer of a call to `place` was cut off, or the caller's stream failed.
    pub(in crate::triple::client) fn poll_data(
        &mut self,
        place: &Place,
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
                    return Poll::Ready(Some(Err(lost(error, self.upload.as_deref(), place))));
                }
                None => {
                    self.give_back();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn give_back(&mut self) {
        let Some(lane) = self.lane.take() else {
            return;
        };
        let is_whole = self.upload.as_ref().is_none_or(|upload| upload.has_ended());
        if is_whole {
            lane.give_back();
        }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        if self.is_over() {
            self.give_back();
        }
        if let Some(upload) = &self.upload {
            upload.stop();
        }
    }
}
