//! How many calls are under way, and how many may be.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::sync::Notify;

/// Counts those who are inside. Who enters says how many may be, so that a limit can change at any time.
#[derive(Debug, Default)]
pub(super) struct Gate {
    inside: AtomicU32,
    left: Notify,
}

impl Gate {
    /// Enters, unless `limit` are inside.
    pub(super) fn try_enter(self: &Arc<Self>, limit: u32) -> Option<Pass> {
        let more = |inside| (inside < limit).then_some(inside + 1);
        let entered = self
            .inside
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        entered.ok().map(|_| Pass(Arc::clone(self)))
    }

    /// Enters as soon as fewer than `limit` are inside.
    ///
    /// # Cancel safety
    ///
    /// Who gives up waiting has not entered, and takes nobody's turn.
    pub(super) async fn enter(self: &Arc<Self>, limit: u32) -> Pass {
        loop {
            let left = self.left.notified();
            if let Some(pass) = self.try_enter(limit) {
                return pass;
            }
            left.await;
        }
    }

    /// How many are inside.
    pub(super) fn inside(&self) -> u32 {
        self.inside.load(Ordering::Acquire)
    }
}

/// One call inside, for as long as it lives.
#[derive(Debug)]
pub(super) struct Pass(Arc<Gate>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::AcqRel);
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_enters_when_another_leaves_and_who_gives_up_takes_no_turn() {
        let gate = Arc::new(Gate::default());
        let first = gate.try_enter(1).expect("it is empty");
        assert!(gate.try_enter(1).is_none());
        assert!(gate.try_enter(0).is_none());
        let wider = gate.try_enter(2).expect("the limit is another now");
        drop(wider);
        let mut gives_up = Box::pin(gate.enter(1));
        let mut waits = Box::pin(gate.enter(1));
        assert!(futures_util::poll!(&mut gives_up).is_pending());
        assert!(futures_util::poll!(&mut waits).is_pending());
        drop(first);
        drop(gives_up);
        let entered = dubbo_test::soon("its turn", waits).await;
        assert_eq!(gate.inside(), 1);
        drop(entered);
        assert_eq!(gate.inside(), 0);
    }
}
