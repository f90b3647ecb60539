//! The task that runs what is due.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{Shared, Turn, order::Next};

/// Runs items until none is held.
pub(super) async fn drive<T: Clone + Send + 'static>(shared: Arc<Shared<T>>) {
    let mut driving = Driving {
        shared: &shared,
        is_over: false,
    };
    let mut running = JoinSet::new();
    loop {
        let next = shared.order.lock().next(Instant::now());
        let until = match next {
            Next::Run(number, item) => {
                let turn = AssertUnwindSafe((shared.run)(item)).catch_unwind();
                running.spawn(async move { (number, turn.await.ok()) });
                continue;
            }
            Next::Wait(until) => until,
            // The end of `running` cuts off what was given up meanwhile.
            Next::Nothing => break,
        };
        tokio::select! {
            Some(ended) = running.join_next() => {
                // None of them is aborted while this goes on, and their panics are caught.
                if let Ok((number, turn)) = ended {
                    shared.order.lock().ended(number, &turn.unwrap_or_else(panicked));
                }
            }
            () = shared.changed.notified() => {}
            () = until_then(until) => {}
        }
    }
    driving.is_over = true;
    shared.idle.notify_waiters();
}

/// Notes that nobody drives any more, when that ends before its time.
struct Driving<'a, T: Clone> {
    shared: &'a Shared<T>,
    is_over: bool,
}

impl<T: Clone> Drop for Driving<'_, T> {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.order.lock().abandoned();
        }
    }
}

fn panicked() -> Turn {
    tracing::error!("the work on a queued item panicked; the item is dropped");
    Turn::Done
}

async fn until_then(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
