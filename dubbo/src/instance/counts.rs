//! What a service has been called, for those who operate it. Nothing is counted where nobody can ask.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    service::ServiceDescriptor,
};
use tokio::time::Instant;

/// What has been called of one service on one protocol. A call whose answer is a stream has ended here when the stream has
/// begun.
#[derive(Debug)]
pub(super) struct Counts {
    /// By the number of the method, and last for those that the service does not know.
    methods: Box<[MethodCounts]>,
}

#[derive(Debug, Default)]
struct MethodCounts {
    total: AtomicU64,
    failed: AtomicU64,
    active: AtomicU32,
    /// Of all that have ended.
    elapsed_nanos: AtomicU64,
    longest_nanos: AtomicU64,
}

/// What has been called of one method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// How many calls have ended.
    pub(crate) total: u64,
    /// How many of them with an error.
    pub(crate) failed: u64,
    /// How many are under way.
    pub(crate) active: u32,
    /// How long they took on average.
    pub(crate) average: Duration,
    /// How long the longest took.
    pub(crate) longest: Duration,
}

impl Counts {
    pub(super) fn of(service: &ServiceDescriptor) -> Arc<Self> {
        let methods = (0..=service.methods().len()).map(|_| MethodCounts::default());
        Arc::new(Self {
            methods: methods.collect(),
        })
    }

    /// What was counted of the method at this position.
    pub(super) fn method(&self, index: usize) -> Counted {
        self.at(index).now()
    }

    fn at(&self, index: usize) -> &MethodCounts {
        let last = self.methods.len() - 1;
        &self.methods[index.min(last)]
    }
}

impl MethodCounts {
    fn now(&self) -> Counted {
        let total = self.total.load(Relaxed);
        let elapsed = self.elapsed_nanos.load(Relaxed);
        Counted {
            total,
            failed: self.failed.load(Relaxed),
            active: self.active.load(Relaxed),
            average: Duration::from_nanos(elapsed.checked_div(total).unwrap_or(0)),
            longest: Duration::from_nanos(self.longest_nanos.load(Relaxed)),
        }
    }
}

/// The filter that counts.
pub(super) struct CountMethods(pub(super) Arc<Counts>);

#[async_trait]
impl Filter for CountMethods {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let mut call = Counting::begin(self.0.at(invocation.method.index()));
        let result = next.run(invocation).await;
        call.has_failed = result.is_err();
        result
    }
}

/// One call under way. One that is given up has failed.
struct Counting<'a> {
    method: &'a MethodCounts,
    began: Instant,
    has_failed: bool,
}

impl<'a> Counting<'a> {
    fn begin(method: &'a MethodCounts) -> Self {
        method.active.fetch_add(1, Relaxed);
        Self {
            method,
            began: Instant::now(),
            has_failed: true,
        }
    }
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let method = self.method;
        method.elapsed_nanos.fetch_add(nanos, Relaxed);
        method.longest_nanos.fetch_max(nanos, Relaxed);
        method.failed.fetch_add(u64::from(self.has_failed), Relaxed);
        method.active.fetch_sub(1, Relaxed);
        method.total.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_are_counted_by_method_with_how_long_they_took() {
        let descriptor = ServiceDescriptor::new("a.B", Vec::new());
        let counts = Counts::of(&descriptor);
        for (seconds, has_failed) in [(1, false), (4, true), (1, false)] {
            let mut call = Counting::begin(counts.at(7));
            assert_eq!(counts.method(7).active, 1);
            tokio::time::advance(Duration::from_secs(seconds)).await;
            call.has_failed = has_failed;
        }
        drop(Counting::begin(counts.at(0)));
        let counted = counts.method(0);
        assert_eq!((counted.total, counted.failed, counted.active), (4, 2, 0));
        assert_eq!(counted.average, Duration::from_millis(1500));
        assert_eq!(counted.longest, Duration::from_secs(4));
    }
}
