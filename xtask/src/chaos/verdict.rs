//! What a failed call comes to.

use crate::interop::parts::{Loss, Party};

use super::{
    chronicle::{Chronicle, Death},
    field::Role,
};

/// What is said of a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The contract allows it: it was under way to a provider that was killed, and may not be repeated.
    Allowed,
    /// The consumer has lost it by itself, as it does with its own providers: for this reason.
    Theirs(&'static str),
    Lost,
}

/// Judges a call of a consumer.
pub(super) fn judge(role: Role, loss: &Loss, chronicle: &Chronicle) -> Verdict {
    let cut = |death: &Death| was_cut(loss, death);
    if role == Role::RustOnce && chronicle.deaths.iter().any(cut) {
        return Verdict::Allowed;
    }
    if role.party() == Party::Go {
        let cause = CAUSES.iter().find(|cause| cause.is_of(loss));
        return cause.map_or(Verdict::Lost, |cause| Verdict::Theirs(cause.reason));
    }
    Verdict::Lost
}

/// Whether `loss` was under way to the provider when it died.
fn was_cut(loss: &Loss, death: &Death) -> bool {
    let port = if loss.contract.starts_with("tri/") {
        death.at.tri
    } else {
        death.at.dubbo
    };
    let names_it = loss.error.contains(&format!(":{port}"));
    let spans_it = loss.begun <= death.done + NOTICE_MILLIS && loss.ended >= death.begun;
    names_it && spans_it
}

/// What a consumer does wrong, whoever the provider is.
struct Cause {
    contract: &'static str,
    /// What the error says.
    says: &'static str,
    reason: &'static str,
}

impl Cause {
    fn is_of(&self, loss: &Loss) -> bool {
        loss.contract == self.contract && loss.error.contains(self.says)
    }
}

const CAUSES: &[Cause] = &[];
/// A call that is begun just after the death may be sent before its consumer has read that the connection is gone.
const NOTICE_MILLIS: u64 = 100;
