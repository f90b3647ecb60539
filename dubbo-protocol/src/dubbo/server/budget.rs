//! What a connection may hold in memory.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// The bytes of a connection that its calls hold: of requests that are under way, and of answers that wait to be sent.
pub(super) struct Budget {
    held: AtomicUsize,
    total: usize,
    /// What the smallest call takes.
    smallest: usize,
    freed: Notify,
}

impl Budget {
    /// One that has room for `calls` calls, if they are small.
    pub(super) fn of(calls: usize) -> Arc<Self> {
        let calls = calls.clamp(1, BUDGET);
        let smallest = BUDGET / calls;
        Arc::new(Self {
            held: AtomicUsize::new(0),
            total: smallest * calls,
            smallest,
            freed: Notify::new(),
        })
    }

    /// A share for a request of `len` bytes, if there is room. One that is larger than everything has it all to itself.
    pub(super) fn try_share(self: &Arc<Self>, len: usize) -> Option<Share> {
        let bytes = len.max(self.smallest);
        let held = self.held.load(Ordering::Acquire);
        if held > 0 && held.saturating_add(bytes) > self.total {
            return None;
        }
        self.held.fetch_add(bytes, Ordering::AcqRel);
        let budget = Arc::clone(self);
        Some(Share { budget, bytes })
    }

    /// Waits for a share; for the one task that reads.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub(super) async fn share(self: &Arc<Self>, len: usize) -> Share {
        loop {
            if let Some(share) = self.try_share(len) {
                return share;
            }
            self.freed.notified().await;
        }
    }
}

/// What one call holds, until it is dropped.
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    /// Counts what is there already, a request with its answer, of `bytes` in all. No room is waited for: what waits has
    /// its bytes in memory all the same. New calls wait instead.
    pub(super) fn grow(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            self.budget.held.fetch_add(more, Ordering::AcqRel);
            self.bytes += more;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::AcqRel);
        self.budget.freed.notify_one();
    }
}

/// What the calls of a connection may hold of its bytes, all together.
const BUDGET: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_small_calls_whatever_the_number() {
        for calls in [1, 3, 7, 1_000] {
            let budget = Budget::of(calls);
            let shares: Vec<_> = (0..calls).map_while(|_| budget.try_share(0)).collect();
            assert_eq!(shares.len(), calls);
            assert!(budget.try_share(0).is_none(), "{calls}");
            drop(shares);
            assert!(budget.try_share(0).is_some(), "{calls}");
        }
        assert!(Budget::of(usize::MAX).try_share(0).is_some());
    }

    #[test]
    fn a_call_of_any_length_has_its_turn_alone() {
        let budget = Budget::of(1_000);
        for len in [BUDGET, 10 * BUDGET] {
            let all = budget.try_share(len).expect("nobody else");
            assert!(budget.try_share(0).is_none());
            drop(all);
            let _small = budget.try_share(0).expect("nobody else");
            assert!(budget.try_share(len).is_none());
        }
    }

    #[tokio::test]
    async fn answers_that_wait_keep_new_calls_waiting() {
        let budget = Budget::of(1_000);
        let mut calls: Vec<_> = (0..10).filter_map(|_| budget.try_share(100)).collect();
        for call in &mut calls {
            call.grow(8 << 20);
        }
        assert!(budget.try_share(100).is_none());
        let mut next = Box::pin(budget.share(100));
        assert!(futures_util::poll!(&mut next).is_pending());
        calls.truncate(8);
        assert!(
            futures_util::poll!(&mut next).is_pending(),
            "64 MiB are left"
        );
        calls.truncate(7);
        let share = next.await;
        drop((calls, share));
        assert_eq!(budget.held.load(Ordering::Acquire), 0);
    }
}
