//! How busy the provider side is: a shutdown waits until it is not.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    filter::{Filter, Next},
    invocation::{Body, Invocation, PayloadStream, RpcResult},
    payload::Payload,
    status::Status,
};
use tokio::{sync::Notify, time::Instant};

/// Counts the calls in flight and remembers when the last one came.
#[derive(Debug)]
pub(super) struct Activity {
    in_flight: AtomicUsize,
    began: Instant,
    /// Milliseconds after `began`; [`NEVER`] before the first one.
    last_request: AtomicU64,
    idle: Notify,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            in_flight: AtomicUsize::new(0),
            began: Instant::now(),
            last_request: AtomicU64::new(NEVER),
            idle: Notify::new(),
        })
    }

    /// Waits until no call is in flight and none came for `window`. A window beyond what the clock counts never ends.
    pub(super) async fn idle_for(&self, window: Duration) {
        loop {
            let idle = self.idle.notified();
            if self.in_flight.load(Ordering::Acquire) > 0 {
                idle.await;
                continue;
            }
            let last = match self.last_request.load(Ordering::Acquire) {
                NEVER => return,
                millis => Duration::from_millis(millis),
            };
            let Some(quiet_at) = last
                .checked_add(window)
                .and_then(|after| self.began.checked_add(after))
            else {
                return std::future::pending().await;
            };
            if Instant::now() >= quiet_at {
                return;
            }
            tokio::time::sleep_until(quiet_at).await;
        }
    }

    fn enter(self: &Arc<Self>) -> Guard {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(NEVER - 1);
        self.last_request.store(now, Ordering::Release);
        Guard(Arc::clone(self))
    }
}

const NEVER: u64 = u64::MAX;

/// The filter that counts: the outermost of every service.
pub(super) struct CountCalls(pub(super) Arc<Activity>);

#[async_trait]
impl Filter for CountCalls {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let guard = self.0.enter();
        let mut reply = next.run(invocation).await?;
        if let Body::Stream(stream) = reply.body {
            let trailers = stream.trailers();
            let counted = Counted {
                stream,
                _guard: guard,
            };
            reply.body = Body::Stream(PayloadStream::with_trailers(counted, trailers));
        }
        Ok(reply)
    }
}

/// One call in flight.
struct Guard(Arc<Activity>);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// A reply stream is part of its call until it ends.
struct Counted {
    stream: PayloadStream,
    _guard: Guard,
}

impl futures_core::Stream for Counted {
    type Item = Result<Payload, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.stream).poll_next(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn idle_means_no_call_in_flight_and_none_for_a_while() {
        let activity = Activity::new();
        let window = Duration::from_secs(3);
        tokio::time::advance(Duration::from_secs(10)).await;
        let began = Instant::now();
        let call = activity.enter();
        let waiting = tokio::spawn({
            let activity = Arc::clone(&activity);
            async move {
                activity.idle_for(window).await;
                Instant::now()
            }
        });
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(2)).await;
        drop(call);
        let idle_at = waiting.await.expect("no panic");
        assert_eq!(idle_at - began, window);
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_beyond_the_clock_never_ends() {
        let activity = Activity::new();
        drop(activity.enter());
        for window in [Duration::MAX, Duration::from_secs(u64::MAX / 2)] {
            let hour = Duration::from_hours(1);
            let idle = tokio::time::timeout(hour, activity.idle_for(window)).await;
            idle.expect_err("it goes on");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_never_busy_is_idle_at_once() {
        let activity = Activity::new();
        let before = Instant::now();
        activity.idle_for(Duration::from_secs(3)).await;
        assert_eq!(Instant::now(), before);
    }
}
