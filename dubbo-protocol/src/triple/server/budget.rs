//! What the unfinished requests of one connection may keep in memory, all together, and its answers that nobody takes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use dubbo_core::status::{Origin, Status};

/// The bytes that the requests of a connection hold while they wait for more, and those of answers that wait to be sent.
/// Flow control bounds only what has not been read or may not be sent, and the limit on a message only one of them: without
/// this, a peer that ends no request and takes no answer could fill the memory.
#[derive(Debug)]
pub(super) struct Budget {
    /// Of either.
    limit: usize,
    held: AtomicUsize,
    unsent: AtomicUsize,
}

impl Budget {
    /// One of `limit` bytes, for a connection.
    pub(super) fn of(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
            unsent: AtomicUsize::new(0),
        })
    }

    /// `answer`, which counts until all of it has been sent or given up, if it is of a size that matters.
    ///
    /// # Errors
    ///
    /// Code 8 when all answers together are beyond the budget then. One alone never is.
    pub(super) fn hold(self: &Arc<Self>, answer: Bytes) -> Result<Bytes, Status> {
        let bytes = answer.len();
        if bytes < SMALL {
            return Ok(answer);
        }
        let all = bytes + self.unsent.fetch_add(bytes, Ordering::Relaxed);
        let budget = Arc::clone(self);
        let unsent = Unsent { answer, budget };
        if all <= self.limit.max(bytes) {
            return Ok(Bytes::from_owner(unsent));
        }
        Err(Status::resource_exhausted(format!(
            "the answers of this connection that wait to be sent come to {all} bytes, {bytes} of them of this one, and the \
             limit is {}; read them, or ask for fewer at once",
            self.limit
        ))
        .with_origin(Origin::Transport))
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

/// An answer that has not been sent.
struct Unsent {
    answer: Bytes,
    budget: Arc<Budget>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        let bytes = self.answer.len();
        self.budget.unsent.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Budget {
    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

/// Answers below this are not counted: as many as a connection may have streams are little.
const SMALL: usize = 16 << 10;

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
    fn answers_are_refused_beyond_the_budget_and_given_back_when_they_are_gone() {
        let budget = Budget::of(2 * SMALL);
        let answer = |len| Bytes::from(vec![7; len]);
        let first = budget.hold(answer(SMALL)).expect("room");
        let mut second = budget.hold(answer(SMALL)).expect("room");
        assert_eq!(second, answer(SMALL), "its bytes are what they were");
        let status = budget.hold(answer(SMALL)).expect_err("full");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(
            status.message().contains("49152 bytes, 16384 of them"),
            "{status}"
        );
        budget.hold(answer(SMALL - 1)).expect("it is small");
        // The last slice of it counts as the whole.
        drop(second.split_to(SMALL - 1));
        budget.hold(answer(SMALL)).expect_err("full");
        drop((first, second));
        budget.hold(answer(3 * SMALL)).expect("alone");
        assert_eq!(budget.unsent.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_request_alone_is_never_refused() {
        let budget = Budget::of(10);
        let mut large = Share::of(Arc::clone(&budget));
        large.set(100).expect("alone");
        Share::of(budget).set(1).expect_err("not alone");
    }
}
