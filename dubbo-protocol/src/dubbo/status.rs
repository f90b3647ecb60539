//! What a response says beside its body: one byte (`docs/spec/dubbo-protocol.md` §3).

use dubbo_core::status::{Code, Origin, Status};

/// The call was done; its body says how it ended.
pub(crate) const OK: u8 = 20;
/// The result is larger than the provider sends.
pub(crate) const SERIALIZATION_ERROR: u8 = 25;
/// Local to consumers: time ran out before the request was sent.
pub(crate) const CLIENT_TIMEOUT: u8 = 30;
/// Time ran out at the provider.
pub(crate) const SERVER_TIMEOUT: u8 = 31;
/// Local to consumers: the connection was lost.
pub(crate) const CHANNEL_INACTIVE: u8 = 35;
/// The request cannot be read, or is for a method that is not there.
pub(crate) const BAD_REQUEST: u8 = 40;
/// The result cannot be encoded.
pub(crate) const BAD_RESPONSE: u8 = 50;
/// Defined, and sent by nobody.
pub(crate) const SERVICE_NOT_FOUND: u8 = 60;
/// No such service, or the provider broke down over the call.
pub(crate) const SERVICE_ERROR: u8 = 70;
/// The provider could not hand the call on.
pub(crate) const SERVER_ERROR: u8 = 80;
/// Local to consumers: the response cannot be read.
pub(crate) const CLIENT_ERROR: u8 = 90;
/// The provider has no room for the call, and did not begin with it.
pub(crate) const SERVER_THREADPOOL_EXHAUSTED_ERROR: u8 = 100;

/// What a response with another status than [`OK`] is to the caller, with the text in its body, if there is one
/// (`docs/spec/dubbo-protocol.md` §14.2).
///
/// Java's own clusters try all of these elsewhere. Here a request that cannot be read or is for nothing that is there (40,
/// 60), and an answer that is too large, or cannot be written or read (25, 50, 90), are never tried again: they would be so
/// elsewhere, and a call with an answer has been done. No provider begins with a call that it has no room for (100).
pub(crate) fn refusal(status: u8, text: Option<&str>) -> Status {
    let known = STATUSES.iter().find(|known| known.0 == status);
    let text = text.filter(|text| !text.trim().is_empty());
    let text = text.unwrap_or("the provider gave no reason");
    let Some(&(_, name, code, begun)) = known else {
        let text = format!(
            "the provider answered with status {status}, which means nothing known here: {text}"
        );
        return Status::unknown(text).with_origin(Origin::Remote);
    };
    let refusal =
        Status::new(code, format!("{name} ({status}): {text}")).with_origin(Origin::Remote);
    match begun {
        Begun::Maybe => refusal,
        Begun::No => refusal.not_processed(),
    }
}

/// Whether the provider may have begun with the call. Where the code says that another try is vain, it does not matter.
#[derive(Clone, Copy)]
enum Begun {
    Maybe,
    No,
}

const STATUSES: [(u8, &str, Code, Begun); 11] = [
    (
        SERIALIZATION_ERROR,
        "SERIALIZATION_ERROR",
        Code::OutOfRange,
        Begun::Maybe,
    ),
    (
        CLIENT_TIMEOUT,
        "CLIENT_TIMEOUT",
        Code::DeadlineExceeded,
        Begun::Maybe,
    ),
    (
        SERVER_TIMEOUT,
        "SERVER_TIMEOUT",
        Code::DeadlineExceeded,
        Begun::Maybe,
    ),
    (
        CHANNEL_INACTIVE,
        "CHANNEL_INACTIVE",
        Code::Unavailable,
        Begun::Maybe,
    ),
    (
        BAD_REQUEST,
        "BAD_REQUEST",
        Code::InvalidArgument,
        Begun::Maybe,
    ),
    (BAD_RESPONSE, "BAD_RESPONSE", Code::DataLoss, Begun::Maybe),
    (
        SERVICE_NOT_FOUND,
        "SERVICE_NOT_FOUND",
        Code::Unimplemented,
        Begun::Maybe,
    ),
    (SERVICE_ERROR, "SERVICE_ERROR", Code::Internal, Begun::Maybe),
    (SERVER_ERROR, "SERVER_ERROR", Code::Internal, Begun::Maybe),
    (CLIENT_ERROR, "CLIENT_ERROR", Code::DataLoss, Begun::Maybe),
    (
        SERVER_THREADPOOL_EXHAUSTED_ERROR,
        "SERVER_THREADPOOL_EXHAUSTED_ERROR",
        Code::ResourceExhausted,
        Begun::No,
    ),
];

#[cfg(test)]
mod tests {
    use dubbo_core::status::Retry;

    use super::*;

    #[test]
    fn a_status_byte_says_what_may_be_tried_again() {
        for (byte, code, retry) in [
            (25, Code::OutOfRange, Retry::Never),
            (30, Code::DeadlineExceeded, Retry::Ambiguous),
            (31, Code::DeadlineExceeded, Retry::Ambiguous),
            (35, Code::Unavailable, Retry::Ambiguous),
            (40, Code::InvalidArgument, Retry::Never),
            (50, Code::DataLoss, Retry::Never),
            (60, Code::Unimplemented, Retry::Never),
            (70, Code::Internal, Retry::Ambiguous),
            (80, Code::Internal, Retry::Ambiguous),
            (90, Code::DataLoss, Retry::Never),
            (100, Code::ResourceExhausted, Retry::Safe),
            (0, Code::Unknown, Retry::Ambiguous),
            (255, Code::Unknown, Retry::Ambiguous),
        ] {
            let status = refusal(byte, Some("why"));
            assert_eq!((status.code(), status.retry()), (code, retry), "{byte}");
            assert_eq!(status.origin(), Origin::Remote);
            assert!(status.message().ends_with(": why"), "{status}");
            assert!(status.message().contains(&byte.to_string()), "{status}");
        }
    }

    #[test]
    fn a_provider_need_not_give_a_reason() {
        for text in [None, Some(""), Some(" \n")] {
            let status = refusal(SERVICE_ERROR, text);
            assert_eq!(
                status.message(),
                "SERVICE_ERROR (70): the provider gave no reason"
            );
        }
    }
}
