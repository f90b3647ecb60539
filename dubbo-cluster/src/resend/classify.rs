//! What a failed attempt means: for another one, and for the provider.

use std::fmt;

use dubbo_core::status::{Code, Origin, Status};

/// The first column of the table in `docs/spec/cluster.md` §7.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// It lost against another call; nothing of it was done.
    Aborted,
    /// It may have been done: no answer in time, or the connection broke after it was sent.
    Ambiguous,
    /// The application answered with an error of its own.
    Business,
    /// The caller sent what no provider takes, or asks for what no provider gives.
    CallerFault,
    /// The caller no longer waits.
    Canceled,
    /// The time of the whole call is over.
    Deadline,
    /// Nobody was there to be asked.
    NoProvider,
    /// It never left: no connection, or one that took no more calls.
    NotSent,
    /// The provider turned it down before it began: a limit, a full pool, a shutdown.
    Refused,
    /// Something broke, and nothing says what.
    Unknown,
}

impl Class {
    /// The class of an attempt that failed with `status`; `is_over` says whether the deadline of the whole call has passed.
    ///
    /// What the provider has to answer for is judged by code, by who said it, and by whether it was sent. A provider that
    /// asks not to be called again ([`Status::is_done`]) is for whoever would call it.
    pub fn of(status: &Status, is_over: bool) -> Self {
        let origin = status.origin();
        if origin == Origin::Business {
            return Self::Business;
        }
        let unprocessed = status.is_not_processed();
        match status.code() {
            Code::Business => Self::Business,
            // A caller that gives up drops its call, so a cancellation from beyond is the provider's doing.
            Code::Canceled if origin == Origin::Framework => Self::Canceled,
            Code::Canceled => Self::Ambiguous,
            Code::DeadlineExceeded if is_over => Self::Deadline,
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::DataLoss
            | Code::Unauthenticated => Self::CallerFault,
            Code::ResourceExhausted => match origin {
                Origin::Remote => Self::Refused,
                _ if unprocessed => Self::Refused,
                Origin::Transport => Self::Ambiguous,
                // A limit of this side that the call itself is over, such as that of its size.
                _ => Self::CallerFault,
            },
            _ if unprocessed && origin == Origin::Remote => Self::Refused,
            _ if unprocessed => Self::NotSent,
            Code::DeadlineExceeded | Code::Unavailable => Self::Ambiguous,
            Code::Aborted => Self::Aborted,
            // Codes without a meaning here, and success, which is no failure.
            _ => Self::Unknown,
        }
    }

    /// Whether it speaks against the provider: what breakers and ejections count (`docs/spec/cluster.md` §7.7).
    pub fn is_failure_of_node(self) -> bool {
        matches!(
            self,
            Self::Ambiguous | Self::NotSent | Self::Refused | Self::Unknown
        )
    }

    /// Whether it is certain that no handler saw the call, so that another attempt does no harm.
    pub fn is_unprocessed(self) -> bool {
        matches!(self, Self::NoProvider | Self::NotSent | Self::Refused)
    }

    /// The name in logs, and in the attachment `dubbo-attempt-cause` of the next attempt.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Ambiguous => "ambiguous",
            Self::Business => "business",
            Self::CallerFault => "caller-fault",
            Self::Canceled => "canceled",
            Self::Deadline => "deadline",
            Self::NoProvider => "no-provider",
            Self::NotSent => "not-sent",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_origin_and_whether_it_was_sent_make_the_class() {
        use Class::{
            Aborted, Ambiguous, Business, CallerFault, Canceled, Deadline, NotSent, Refused,
            Unknown,
        };
        let of = |code, origin| Status::new(code, "x").with_origin(origin);
        let (remote, transport, here) = (Origin::Remote, Origin::Transport, Origin::Framework);
        for (status, is_over, want) in [
            (
                of(Code::Unavailable, transport).not_processed(),
                false,
                NotSent,
            ),
            (of(Code::Unavailable, here).not_processed(), false, NotSent),
            (
                of(Code::DeadlineExceeded, here).not_processed(),
                false,
                NotSent,
            ),
            (
                of(Code::Unavailable, remote).not_processed(),
                false,
                Refused,
            ),
            (of(Code::ResourceExhausted, remote), false, Refused),
            (
                of(Code::ResourceExhausted, here).not_processed(),
                false,
                Refused,
            ),
            (of(Code::ResourceExhausted, here), false, CallerFault),
            (of(Code::ResourceExhausted, transport), false, Ambiguous),
            (of(Code::DeadlineExceeded, here), false, Ambiguous),
            (of(Code::DeadlineExceeded, here), true, Deadline),
            (of(Code::DeadlineExceeded, remote), false, Ambiguous),
            (of(Code::Unavailable, transport), false, Ambiguous),
            (of(Code::Unavailable, remote), false, Ambiguous),
            (of(Code::Canceled, remote), false, Ambiguous),
            (of(Code::Canceled, here), false, Canceled),
            (of(Code::Canceled, transport), false, Ambiguous),
            (of(Code::Business, remote), false, Business),
            (of(Code::Unknown, Origin::Business), false, Business),
            (
                of(Code::DeadlineExceeded, Origin::Business),
                false,
                Business,
            ),
            (of(Code::Unknown, remote), false, Unknown),
            (of(Code::Internal, transport), false, Unknown),
            (of(Code::Other(99), remote), false, Unknown),
            (of(Code::Aborted, remote), false, Aborted),
            (
                of(Code::Unimplemented, remote).not_processed(),
                false,
                CallerFault,
            ),
        ] {
            assert_eq!(
                Class::of(&status, is_over),
                want,
                "{status:?}, over: {is_over}"
            );
        }
        for number in [3, 5, 6, 7, 9, 11, 12, 15, 16] {
            let status = of(Code::from_number(number), remote);
            assert_eq!(Class::of(&status, true), CallerFault, "{status:?}");
        }
    }

    #[test]
    fn what_counts_against_a_provider_is_what_it_or_the_way_to_it_did() {
        let counts = |class: &Class| class.is_failure_of_node();
        let against = [
            Class::Ambiguous,
            Class::NotSent,
            Class::Refused,
            Class::Unknown,
        ];
        assert!(against.iter().all(counts));
        let others = [
            Class::Aborted,
            Class::Business,
            Class::CallerFault,
            Class::Canceled,
            Class::Deadline,
            Class::NoProvider,
        ];
        assert!(!others.iter().any(counts));
    }
}
