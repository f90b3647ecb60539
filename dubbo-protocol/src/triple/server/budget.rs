//! What the unfinished requests of one connection may keep in memory, all together.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use dubbo_core::status::{Origin, Status};

/// The bytes that the requests of a connection hold while they wait for more. Flow control bounds only what has not been
/// read, and the limit on a message only one of them: without this, a peer that ends none could fill the memory.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    held: AtomicUsize,
}

impl Budget {
    /// One of `limit` bytes, for a connection.
    pub(super) fn of(limit: usize) -> Arc<Self> {
        let held = AtomicUsize::new(0);
        Arc::new(Self { limit, held })
    }
}

/// One request's part of a budget. Dropping it gives the part back.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    /// Nothing yet of `budget`.
    pub(super) const fn of(budget: Arc<Budget>) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Makes this `bytes` in all.
    ///
    /// # Errors
    ///
    /// Code 8 when all shares together are beyond the budget then. One alone never is: a message has a limit of its own.
    pub(super) fn set(&mut self, bytes: usize) -> Result<(), Status> {
        let before = std::mem::replace(&mut self.bytes, bytes);
        if bytes <= before {
            self.budget.give_back(before - bytes);
            return Ok(());
        }
        let more = bytes - before;
        let all = more + self.budget.held.fetch_add(more, Ordering::Relaxed);
        let limit = self.budget.limit;
        if all <= limit.max(bytes) {
            return Ok(());
        }
        Err(Status::resource_exhausted(format!(
            "the unfinished requests of this connection come to {all} bytes, {bytes} of them of this one, and the limit \
             is {limit}; send fewer large requests at once"
        ))
        .with_origin(Origin::Transport))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

impl Budget {
    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use dubbo_core::status::Code;

    use super::*;

    #[test]
    fn shares_are_refused_beyond_the_budget_and_given_back() {
        let budget = Budget::of(10);
        let [mut a, mut b] = [(); 2].map(|()| Share::of(Arc::clone(&budget)));
        a.set(6).expect("room");
        b.set(4).expect("room");
        let status = b.set(5).expect_err("full");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains("11 bytes, 5 of them"), "{status}");
        drop(b);
        a.set(10).expect("room again");
        a.set(0).expect("less");
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_request_alone_is_never_refused() {
        let budget = Budget::of(10);
        let mut large = Share::of(Arc::clone(&budget));
        large.set(100).expect("alone");
        Share::of(budget).set(1).expect_err("not alone");
    }
}
