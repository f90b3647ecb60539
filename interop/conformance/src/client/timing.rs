//! When a call is to be given up.

use std::{future, time::Duration};

use dubbo::stream::Feed;
use tokio::time::sleep;

use crate::suite::{ClientCompatRequest, client_compat_request::cancel::CancelTiming};

/// The moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    /// This long after the last request.
    AfterRequests(Duration),
    /// With this many answers.
    AfterResponses(usize),
    /// When the last request would be told to be the last.
    BeforeEnd,
    Never,
}

impl Timing {
    pub(super) fn of(asked: &ClientCompatRequest) -> Self {
        match &asked.cancel {
            None => Self::Never,
            Some(cancel) => match cancel.cancel_timing {
                None => Self::AfterRequests(Duration::ZERO),
                Some(CancelTiming::AfterCloseSendMs(millis)) => {
                    Self::AfterRequests(Duration::from_millis(millis.into()))
                }
                Some(CancelTiming::AfterNumResponses(count)) => {
                    Self::AfterResponses(usize::try_from(count).unwrap_or(usize::MAX))
                }
                Some(CancelTiming::BeforeCloseSend(_)) => Self::BeforeEnd,
            },
        }
    }

    /// Waits for the moment after the only request has been sent.
    pub(super) async fn wait(self) {
        match self {
            Self::AfterRequests(pause) => sleep(pause).await,
            Self::AfterResponses(_) | Self::BeforeEnd | Self::Never => future::pending().await,
        }
    }

    /// Ends the requests that `feed` has fed, unless the call is to be given up before that, and waits for the moment.
    pub(super) async fn end<T>(self, feed: Feed<T>) {
        if self != Self::BeforeEnd {
            drop(feed);
            self.wait().await;
        }
    }
}
