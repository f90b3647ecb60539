//! That a provider turned a call down before it began, as both protocols write it (`docs/spec/cluster.md` §7.3).

use dubbo_core::status::Status;

/// Why a provider takes no call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reject {
    /// It is about to end.
    Closing,
    /// A limit is met.
    Limit,
}

impl Reject {
    /// `status` as the answer of a provider that did nothing of the call.
    pub(crate) fn mark(self, status: Status) -> Status {
        let mut status = status.not_processed();
        let reason = match self {
            Self::Closing => "closing",
            Self::Limit => "limit",
        };
        status.attachments_mut().insert(REJECT, reason);
        status
    }
}

/// What a peer answered, with what it says about not having begun.
///
/// It speaks of the provider at the other end alone, so it does not stay among what an application may pass on.
pub(crate) fn read(mut status: Status) -> Status {
    if status.attachments_mut().remove(REJECT) {
        return status.not_processed();
    }
    status
}

const REJECT: &str = "dubbo-reject";

/// By this a provider says in an answer that it is about to end (`docs/spec/cluster.md` §6.7).
pub(crate) const CLOSING: &str = "closing";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_begun_says_so_on_the_wire_and_only_there() {
        for reject in [Reject::Closing, Reject::Limit] {
            let written = reject.mark(Status::unavailable("x"));
            let attachments = written.attachments().clone();
            let arrived = read(Status::unavailable("x").with_attachments(attachments));
            assert!(arrived.is_not_processed());
            assert!(!arrived.attachments().contains(REJECT));
        }
        assert!(!read(Status::unavailable("x")).is_not_processed());
    }
}
