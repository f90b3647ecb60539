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
        let cause = CAUSES.iter().find(|cause| loss.error.contains(cause.says));
        return cause.map_or(Verdict::Lost, |cause| Verdict::Theirs(cause.reason));
    }
    Verdict::Lost
}

/// Whether `loss` was under way to the provider when it died, and was not made again because it may have been done.
fn was_cut(loss: &Loss, death: &Death) -> bool {
    let port = if loss.contract.starts_with("tri/") {
        death.at.tri
    } else {
        death.at.dubbo
    };
    let names_it = loss.error.contains(&format!(":{port}"));
    let spans_it = loss.begun <= death.done + NOTICE_MILLIS && loss.ended >= death.begun;
    names_it && spans_it && loss.error.contains(MAY_HAVE_BEEN_DONE)
}

/// What dubbo-go's consumer does wrong, whoever the provider is.
struct Cause {
    /// What the error says.
    says: &'static str,
    reason: &'static str,
}

/// What our consumer says of a call that it does not try again for that reason.
const MAY_HAVE_BEEN_DONE: &str = "not tried again because it may have been done";
const CAUSES: &[Cause] = &[Cause {
    says: "No provider available for the service",
    reason: "dubbo-go's own list of providers was empty, although two and more were registered and served; its log says \
             whether it could not read the list",
}];
/// A call that is begun just after the death may be sent before its consumer has read that the connection is gone.
const NOTICE_MILLIS: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::parts::Listens;

    #[test]
    fn only_calls_under_way_to_the_dead_one_may_fail_and_only_where_nothing_is_repeated() {
        let at = Listens::free(Party::Rust).expect("ports are free");
        let death = Death {
            at,
            begun: 1_000,
            done: 1_010,
        };
        let mut chronicle = Chronicle::default();
        chronicle.deaths.push(death);
        let lost = |port| format!("127.0.0.1:{port}: reset; {MAY_HAVE_BEEN_DONE}");
        let (here, elsewhere) = (lost(at.tri), lost(at.dubbo));
        let not_sent = format!("cannot connect to 127.0.0.1:{}", at.tri);
        for (role, begun, ended, error, expected) in [
            (Role::RustOnce, 995, 1_004, &here, Verdict::Allowed),
            (Role::RustOnce, 1_060, 1_070, &here, Verdict::Allowed),
            (Role::RustOnce, 995, 1_004, &elsewhere, Verdict::Lost),
            (Role::RustOnce, 995, 1_004, &not_sent, Verdict::Lost),
            (Role::RustOnce, 900, 999, &here, Verdict::Lost),
            (Role::RustOnce, 1_200, 1_300, &here, Verdict::Lost),
            (Role::Rust, 995, 1_004, &here, Verdict::Lost),
            (Role::Go, 995, 1_004, &here, Verdict::Lost),
        ] {
            let failure = Loss {
                contract: "tri/greeter".to_owned(),
                begun,
                ended,
                error: error.clone(),
            };
            let judged = judge(role, &failure, &chronicle);
            assert_eq!(judged, expected, "{role:?} {failure:?}");
        }
    }

    #[test]
    fn what_dubbo_go_does_to_itself_is_no_loss_and_only_of_dubbo_go() {
        let loss = Loss {
            contract: "dubbo/user".to_owned(),
            begun: 1,
            ended: 2,
            error: "Failed to invoke the method hello. No provider available for the service x"
                .to_owned(),
        };
        let chronicle = Chronicle::default();
        let judged = judge(Role::Go, &loss, &chronicle);
        assert!(matches!(judged, Verdict::Theirs(_)), "{judged:?}");
        assert_eq!(judge(Role::Rust, &loss, &chronicle), Verdict::Lost);
    }
}
