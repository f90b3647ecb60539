//! Why a call failed, and whether it may be tried again.

use std::{borrow::Cow, error::Error, fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::attachments::Attachments;

/// The result code of a call: gRPC's, and 17 for an error of the application itself.
///
/// `docs/spec/triple.md` §5.3. Peers may send numbers beyond these; they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// 0: no error.
    Ok,
    /// 1: the caller gave up.
    Canceled,
    /// 2: no better code was known.
    Unknown,
    /// 3: the caller sent something that can never work.
    InvalidArgument,
    /// 4: time ran out; the call may have been done.
    DeadlineExceeded,
    /// 5: what was asked for is not there.
    NotFound,
    /// 6: what should be made is there already.
    AlreadyExists,
    /// 7: the caller is known and may not do this.
    PermissionDenied,
    /// 8: a limit was met: a quota, a size, a rate.
    ResourceExhausted,
    /// 9: the system is not in the state that this needs.
    FailedPrecondition,
    /// 10: a conflict with another call.
    Aborted,
    /// 11: past the valid range.
    OutOfRange,
    /// 12: no such service or method here.
    Unimplemented,
    /// 13: something that must hold does not.
    Internal,
    /// 14: the service cannot be reached now.
    Unavailable,
    /// 15: data is lost or broken for good.
    DataLoss,
    /// 16: the caller did not prove who it is.
    Unauthenticated,
    /// 17: the application answered with an error of its own (dubbo-go's `CodeBizError`).
    Business,
    /// Any other number a peer sent.
    Other(u32),
}

impl Code {
    /// The code of a number on the wire.
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Ok,
            1 => Self::Canceled,
            2 => Self::Unknown,
            3 => Self::InvalidArgument,
            4 => Self::DeadlineExceeded,
            5 => Self::NotFound,
            6 => Self::AlreadyExists,
            7 => Self::PermissionDenied,
            8 => Self::ResourceExhausted,
            9 => Self::FailedPrecondition,
            10 => Self::Aborted,
            11 => Self::OutOfRange,
            12 => Self::Unimplemented,
            13 => Self::Internal,
            14 => Self::Unavailable,
            15 => Self::DataLoss,
            16 => Self::Unauthenticated,
            17 => Self::Business,
            other => Self::Other(other),
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u32 {
        match self {
            Self::Ok => 0,
            Self::Canceled => 1,
            Self::Unknown => 2,
            Self::InvalidArgument => 3,
            Self::DeadlineExceeded => 4,
            Self::NotFound => 5,
            Self::AlreadyExists => 6,
            Self::PermissionDenied => 7,
            Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Aborted => 10,
            Self::OutOfRange => 11,
            Self::Unimplemented => 12,
            Self::Internal => 13,
            Self::Unavailable => 14,
            Self::DataLoss => 15,
            Self::Unauthenticated => 16,
            Self::Business => 17,
            Self::Other(other) => other,
        }
    }
}

impl fmt::Display for Code {
    /// The name used in JSON error bodies: `not_found`, and `code_17` for numbers without one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Canceled => "canceled",
            Self::Unknown => "unknown",
            Self::InvalidArgument => "invalid_argument",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::NotFound => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::PermissionDenied => "permission_denied",
            Self::ResourceExhausted => "resource_exhausted",
            Self::FailedPrecondition => "failed_precondition",
            Self::Aborted => "aborted",
            Self::OutOfRange => "out_of_range",
            Self::Unimplemented => "unimplemented",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
            Self::DataLoss => "data_loss",
            Self::Unauthenticated => "unauthenticated",
            Self::Business | Self::Other(_) => return write!(f, "code_{}", self.number()),
        })
    }
}

/// Who caused a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The application behind the service: it was reached and said no.
    Business,
    /// The framework in this process: no provider, a filter's refusal, a bad argument.
    Framework,
    /// The peer's side answered with an error status.
    Remote,
    /// The way between: connect, reset, broken framing.
    Transport,
}

/// Whether trying again can help, and whether it can hurt.
///
/// `docs/spec/cluster.md` §7.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The call may have been done, and another try may succeed: safe for idempotent methods, and what Dubbo's
    /// `retries` repeats.
    Ambiguous,
    /// Another try would fail the same way, or the caller no longer waits.
    Never,
    /// The call certainly never reached a handler: trying again does no harm.
    Safe,
}

/// A message about an error, packed as `google.protobuf.Any`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// Such as `type.googleapis.com/google.rpc.BadRequest`.
    pub type_url: String,
    /// The encoded message.
    pub value: Bytes,
}

/// A failed call: code, text, who caused it and what to know about it. One pointer wide.
#[derive(Clone)]
pub struct Status(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    origin: Origin,
    not_processed: bool,
    done: bool,
    pushback: Option<Duration>,
    message: Cow<'static, str>,
    details: Vec<Detail>,
    attachments: Attachments,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Status {
    /// An error with `code`. Its origin is this process's framework until said otherwise.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            code,
            origin: Origin::Framework,
            not_processed: false,
            done: false,
            pushback: None,
            message: message.into(),
            details: Vec::new(),
            attachments: Attachments::new(),
            source: None,
        }))
    }

    /// The application's own refusal: it reached the handler, so it is never retried.
    ///
    /// Goes over Triple as code 17 to dubbo-go and to us, and as 2 to peers that do not know 17
    /// (`docs/spec/triple.md` §13.1).
    pub fn business(error: impl fmt::Display) -> Self {
        Self::new(Code::Business, error.to_string()).with_origin(Origin::Business)
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The text, without the code.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Who caused it.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// Structured details, in the order they were added.
    pub fn details(&self) -> &[Detail] {
        &self.0.details
    }

    /// The first detail that is an `M`, decoded.
    ///
    /// `None` when there is no such detail, or its bytes do not decode.
    pub fn detail<M: prost::Name + Default>(&self) -> Option<M> {
        let wanted = M::full_name();
        self.0
            .details
            .iter()
            .find(|detail| detail.type_url.rsplit('/').next() == Some(wanted.as_str()))
            .and_then(|detail| M::decode(detail.value.clone()).ok())
    }

    /// What came or goes beside the error: Triple's trailers.
    pub fn attachments(&self) -> &Attachments {
        &self.0.attachments
    }

    /// The same, to write to.
    pub fn attachments_mut(&mut self) -> &mut Attachments {
        &mut self.0.attachments
    }

    /// Whether it is known that no handler saw the call.
    pub fn is_not_processed(&self) -> bool {
        self.0.not_processed
    }

    /// Whether it is known that a handler did the call, and only its answer did not arrive.
    pub fn is_done(&self) -> bool {
        self.0.done
    }

    /// How long whoever tries again should wait first, if the side that refused the call says so.
    pub fn pushback(&self) -> Option<Duration> {
        self.0.pushback
    }

    /// Whether another try can help.
    pub fn retry(&self) -> Retry {
        if self.0.not_processed {
            return Retry::Safe;
        }
        if self.0.done || self.0.origin == Origin::Business {
            return Retry::Never;
        }
        match self.0.code {
            Code::Unknown
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unavailable
            | Code::Other(_) => Retry::Ambiguous,
            // Another node would answer the same, or nobody waits for the answer.
            _ => Retry::Never,
        }
    }

    /// Says who caused it.
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.0.origin = origin;
        self
    }

    /// Says that no handler saw the call, so that trying again is safe.
    pub fn not_processed(mut self) -> Self {
        self.0.not_processed = true;
        self
    }

    /// Says that a handler did the call and its answer cannot be had: another try would do it again, to the same end.
    pub fn done(mut self) -> Self {
        self.0.done = true;
        self
    }

    /// Says how long whoever tries again should wait first. It travels in milliseconds: as the trailer
    /// `grpc-retry-pushback-ms` over Triple, as the attachment `dubbo-retry-pushback-ms` over the classic protocol
    /// (`docs/spec/cluster.md` §7.4).
    pub fn with_pushback(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.0.pushback = wait.into();
        self
    }

    /// Adds a detail message.
    pub fn with_detail<M: prost::Name>(mut self, message: &M) -> Self {
        self.0.details.push(Detail {
            type_url: format!("type.googleapis.com/{}", M::full_name()),
            value: message.encode_to_vec().into(),
        });
        self
    }

    /// Replaces the details.
    pub fn with_details(mut self, details: Vec<Detail>) -> Self {
        self.0.details = details;
        self
    }

    /// Replaces the attachments.
    pub fn with_attachments(mut self, attachments: Attachments) -> Self {
        self.0.attachments = attachments;
        self
    }

    /// Puts `context` and a colon before the text: what was attempted, in front of why it failed.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message).into();
        self
    }

    /// Records the error behind this one.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }
}

/// Constructors by code: `Status::not_found("no user 7")`.
macro_rules! by_code {
    ($($(#[$doc:meta])* $name:ident => $code:ident,)*) => {
        impl Status {
            $($(#[$doc])*
            pub fn $name(message: impl Into<Cow<'static, str>>) -> Self {
                Self::new(Code::$code, message)
            })*
        }
    };
}

by_code! {
    /// Code 1: the caller gave up.
    canceled => Canceled,
    /// Code 2: no better code is known.
    unknown => Unknown,
    /// Code 3: the caller sent something that can never work.
    invalid_argument => InvalidArgument,
    /// Code 4: time ran out.
    deadline_exceeded => DeadlineExceeded,
    /// Code 5: what was asked for is not there.
    not_found => NotFound,
    /// Code 6: what should be made is there already.
    already_exists => AlreadyExists,
    /// Code 7: the caller may not do this.
    permission_denied => PermissionDenied,
    /// Code 8: a limit was met.
    resource_exhausted => ResourceExhausted,
    /// Code 9: the system is not in the state that this needs.
    failed_precondition => FailedPrecondition,
    /// Code 10: a conflict with another call.
    aborted => Aborted,
    /// Code 11: past the valid range.
    out_of_range => OutOfRange,
    /// Code 12: no such service or method here.
    unimplemented => Unimplemented,
    /// Code 13: something that must hold does not.
    internal => Internal,
    /// Code 14: the service cannot be reached now.
    unavailable => Unavailable,
    /// Code 15: data is lost or broken for good.
    data_loss => DataLoss,
    /// Code 16: the caller did not prove who it is.
    unauthenticated => Unauthenticated,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.code {
            // It has no name of its own on the wire.
            Code::Business => write!(f, "business: {}", self.0.message),
            code => write!(f, "{code}: {}", self.0.message),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Status");
        out.field("code", &self.0.code)
            .field("origin", &self.0.origin)
            .field("message", &self.0.message);
        if self.0.not_processed {
            out.field("not_processed", &true);
        }
        if self.0.done {
            out.field("done", &true);
        }
        if let Some(wait) = &self.0.pushback {
            out.field("pushback", wait);
        }
        if !self.0.details.is_empty() {
            out.field("details", &self.0.details);
        }
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl Error for Status {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_one_pointer_wide() {
        assert_eq!(size_of::<Status>(), size_of::<usize>());
        assert_eq!(size_of::<Option<Status>>(), size_of::<usize>());
    }

    #[test]
    fn numbers_and_codes_agree() {
        for number in 0..=100 {
            assert_eq!(Code::from_number(number).number(), number);
        }
        assert_eq!(Code::Business.to_string(), "code_17");
        assert_eq!(Code::Other(99).to_string(), "code_99");
    }

    #[test]
    fn a_status_begins_with_a_word_for_its_code() {
        for (status, want) in [
            (Status::not_found("no user 7"), "not_found: no user 7"),
            (Status::business("no user 7"), "business: no user 7"),
            (Status::new(Code::Other(99), "x"), "code_99: x"),
        ] {
            assert_eq!(status.to_string(), want);
        }
    }

    #[test]
    fn errors_are_never_retried_by_mistake() {
        let remote = |code| Status::new(code, "x").with_origin(Origin::Remote).retry();
        for number in 0..20 {
            let code = Code::from_number(number);
            let want = match number {
                2 | 4 | 8 | 10 | 13 | 14 | 18.. => Retry::Ambiguous,
                _ => Retry::Never,
            };
            assert_eq!(remote(code), want, "{code}");
        }
        assert_eq!(Status::business("no").retry(), Retry::Never);
        let unknown_by_the_application = Status::unknown("x").with_origin(Origin::Business);
        assert_eq!(unknown_by_the_application.retry(), Retry::Never);
        assert_eq!(
            Status::unavailable("x").not_processed().retry(),
            Retry::Safe
        );
        assert_eq!(Status::internal("x").done().retry(), Retry::Never);
    }

    #[test]
    fn details_are_found_by_their_type() {
        let status = Status::not_found("x").with_detail(&"seven".to_owned());
        assert_eq!(status.detail::<String>().as_deref(), Some("seven"));
        assert_eq!(
            status.details()[0].type_url,
            "type.googleapis.com/google.protobuf.StringValue"
        );
        assert!(status.detail::<i64>().is_none());
    }
}
