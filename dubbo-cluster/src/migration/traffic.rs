//! What went by each path: calls, and how many of the last ones failed.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use dubbo_core::{
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::Origin,
    url::Url,
};
use metrics::Counter;
use parking_lot::Mutex;

/// The calls by one path.
pub(super) struct Traffic {
    calls: AtomicU64,
    counter: Counter,
    /// Only where somebody compares them.
    outcomes: Option<Mutex<Outcomes>>,
}

impl Traffic {
    pub(super) fn new(counter: Counter, watches_failures: bool) -> Self {
        Self {
            calls: AtomicU64::new(0),
            counter,
            outcomes: watches_failures.then(Mutex::default),
        }
    }

    /// Counts a call, or a further attempt of one.
    pub(super) fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.counter.increment(1);
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn failures(&self) -> Failures {
        let outcomes = self.outcomes.as_ref();
        outcomes.map_or_else(Failures::default, |outcomes| outcomes.lock().failures())
    }

    /// From now on the path is judged anew.
    pub(super) fn forget_failures(&self) {
        if let Some(outcomes) = &self.outcomes {
            *outcomes.lock() = Outcomes::default();
        }
    }

    fn note(&self, failed: bool) {
        if let Some(outcomes) = &self.outcomes {
            outcomes.lock().note(failed);
        }
    }
}

/// How many of the last calls failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Failures {
    pub(super) failed: usize,
    pub(super) calls: usize,
}

impl Failures {
    /// From 0 to 1; 0 without a call.
    #[expect(clippy::cast_precision_loss, reason = "at most 1000")]
    pub(super) fn ratio(self) -> f64 {
        self.failed as f64 / self.calls.max(1) as f64
    }
}

#[derive(Default)]
struct Outcomes {
    last: VecDeque<bool>,
    failed: usize,
}

impl Outcomes {
    fn note(&mut self, failed: bool) {
        if self.last.len() == REMEMBERED {
            self.failed -= usize::from(self.last.pop_front() == Some(true));
        }
        self.last.push_back(failed);
        self.failed += usize::from(failed);
    }

    fn failures(&self) -> Failures {
        Failures {
            failed: self.failed,
            calls: self.last.len(),
        }
    }
}

/// Sees how the calls of one path end. Whoever opens a path puts it around each provider there.
#[derive(Clone)]
pub struct Meter(Arc<Traffic>);

impl Meter {
    pub(super) fn new(traffic: Arc<Traffic>) -> Self {
        Self(traffic)
    }

    /// `invoker`, seen; just `invoker` where failures are not compared.
    pub fn around(&self, invoker: Arc<dyn Invoker>) -> Arc<dyn Invoker> {
        if self.0.outcomes.is_none() {
            return invoker;
        }
        Arc::new(Metered {
            traffic: Arc::clone(&self.0),
            invoker,
        })
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

struct Metered {
    traffic: Arc<Traffic>,
    invoker: Arc<dyn Invoker>,
}

#[async_trait]
impl Invoker for Metered {
    fn url(&self) -> &Url {
        self.invoker.url()
    }

    fn is_available(&self) -> bool {
        self.invoker.is_available()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.invoker.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.invoker.in_flight()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let result = self.invoker.invoke(invocation).await;
        let failed = result
            .as_ref()
            .is_err_and(|status| status.origin() != Origin::Business);
        self.traffic.note(failed);
        result
    }

    async fn close(&self) {
        self.invoker.close().await;
    }
}

/// So many calls are remembered.
const REMEMBERED: usize = 1000;

#[cfg(test)]
mod tests {
    use dubbo_core::status::Status;

    use super::*;
    use crate::testing::{Answer, Scripted, invocation};

    #[tokio::test]
    async fn the_last_thousand_calls_count_and_errors_of_the_business_do_not() {
        let traffic = Arc::new(Traffic::new(Counter::noop(), true));
        let meter = Meter::new(Arc::clone(&traffic));
        let answers = [
            Answer::Fail(Status::unavailable("gone")),
            Answer::Fail(Status::business("no such user")),
            Answer::Fail(Status::unavailable("gone")),
            Answer::After(std::time::Duration::ZERO),
        ];
        let provider = meter.around(Scripted::with(1, answers));
        for (calls, failed) in [(1, 1), (1, 1), (1, 2), (997, 2), (1, 1), (1, 1), (1, 0)] {
            for _ in 0..calls {
                let _ = provider.invoke(invocation()).await;
            }
            assert_eq!(traffic.failures().failed, failed);
        }
        assert_eq!(traffic.failures().calls, REMEMBERED);
        traffic.forget_failures();
        assert_eq!(traffic.failures(), Failures::default());
    }

    #[tokio::test]
    async fn nobody_stands_around_a_provider_whose_failures_are_not_compared() {
        let traffic = Arc::new(Traffic::new(Counter::noop(), false));
        let provider: Arc<dyn Invoker> = Scripted::with(1, [Answer::Fail(Status::internal("x"))]);
        let same = Meter::new(Arc::clone(&traffic)).around(Arc::clone(&provider));
        assert!(Arc::ptr_eq(&provider, &same));
        let _ = same.invoke(invocation()).await;
        assert_eq!(traffic.failures(), Failures::default());
        traffic.count();
        assert_eq!(traffic.calls(), 1);
    }
}
