//! How long a request may take to be complete.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Poll, ready},
    time::Duration,
};

use dubbo_core::status::{Origin, Status};
use tokio::time::{Instant, Sleep, sleep_until};

/// Does `reading`, which reads a request that is one message, unless it takes longer than `patience`. A `deadline` that comes
/// sooner is for whoever else looks at it.
///
/// Most requests are there when they are looked at: only one that is not costs a timer.
///
/// # Errors
///
/// Code 4 for a request that takes too long, and those of `reading`.
///
/// # Cancel safety
///
/// That of `reading`.
pub(super) async fn within<T, E: From<Status>>(
    patience: Option<Duration>,
    deadline: Option<Instant>,
    reading: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let mut reading = pin!(reading);
    let mut late = Late::Unknown;
    poll_fn(|cx| {
        if let Poll::Ready(read) = reading.as_mut().poll(cx) {
            return Poll::Ready(read);
        }
        if let Late::Unknown = late {
            late = Late::of(patience, deadline);
        }
        match (&mut late, patience) {
            (Late::At(at), Some(patience)) => {
                ready!(at.as_mut().poll(cx));
                Poll::Ready(Err(too_slow(patience).into()))
            }
            _ => Poll::Pending,
        }
    })
    .await
}

/// When it is too late.
enum Late {
    /// Then.
    At(Pin<Box<Sleep>>),
    /// Never, or somebody else says so.
    Never,
    /// Nothing had to be waited for.
    Unknown,
}

impl Late {
    fn of(patience: Option<Duration>, deadline: Option<Instant>) -> Self {
        let at = patience.and_then(|patience| Instant::now().checked_add(patience));
        match (at, deadline) {
            (None, _) => Self::Never,
            (Some(at), Some(deadline)) if deadline <= at => Self::Never,
            (Some(at), _) => Self::At(Box::pin(sleep_until(at))),
        }
    }
}

fn too_slow(patience: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the request was not complete within {patience:?}, which is the server's `request-timeout`"
    ))
    .with_origin(Origin::Transport)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use dubbo_core::status::Code;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_takes_too_long_is_given_up() {
        let patience = Duration::from_secs(5);
        let start = Instant::now();
        let status = within(Some(patience), None, pending::<Result<(), Status>>()).await;
        let status = status.expect_err("too late");
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains("within 5s"), "{status}");
        assert_eq!(start.elapsed(), patience);
        // Between the first byte and the last.
        let reading = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Ok::<_, Status>(())
        };
        within(Some(patience), None, reading)
            .await
            .expect("in time");
        within(Some(Duration::ZERO), None, ready(Ok::<_, Status>(())))
            .await
            .expect("there already");
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_comes_sooner_is_for_its_owner() {
        for (patience, deadline) in [(None, None), (Some(60), Some(5)), (None, Some(5))] {
            let waiting = within(
                patience.map(Duration::from_secs),
                deadline.map(|secs| Instant::now() + Duration::from_secs(secs)),
                pending::<Result<(), Status>>(),
            );
            let hour = tokio::time::timeout(Duration::from_hours(1), waiting).await;
            assert!(hour.is_err(), "{patience:?} {deadline:?}");
        }
        let late = Instant::now() + Duration::from_mins(1);
        let waiting = within(
            Some(Duration::from_secs(5)),
            Some(late),
            pending::<Result<(), Status>>(),
        );
        let status = waiting.await.expect_err("too late");
        assert_eq!(status.code(), Code::DeadlineExceeded);
    }
}
