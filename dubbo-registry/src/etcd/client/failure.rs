//! Requests that were not fulfilled.

use std::error::Error;

use dubbo_core::registry::RegistryError;
use tonic::{Code, Status};

/// That `status` came of asking for `operation`.
pub(super) fn of(operation: impl Into<String>, address: &str, status: Status) -> RegistryError {
    let is_refused = is_refused(&status);
    let error = RegistryError::new(operation, address, reason(&status)).with_source(status);
    if is_refused { error.refused() } else { error }
}

/// Whether the member no longer takes the token that came with the request: it has expired, or users have changed.
pub(super) fn is_old_token(status: &Status) -> bool {
    status.code() == Code::Unauthenticated || is_about_tokens(status.message())
}

/// As [`is_old_token`], of the reason for which a watch ended.
pub(super) fn is_about_tokens(message: &str) -> bool {
    [OLD_TOKEN, OLD_USERS, NO_USER]
        .iter()
        .any(|known| message.contains(known))
}

/// Whether the member takes requests of anybody, so that nobody can log in.
pub(super) fn needs_no_login(status: &Status) -> bool {
    status.code() == Code::FailedPrecondition && status.message().contains(NO_LOGIN)
}

/// Whether it may be that the session is over without anybody having noticed: no answer came in time, or the lease that
/// came with the request is not known.
pub(super) fn makes_doubt(status: &Status) -> bool {
    matches!(status.code(), Code::DeadlineExceeded | Code::NotFound)
}

/// The messages of `error` and of what caused it, each once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let message = error.to_string();
        if !messages.iter().any(|known| known.contains(&message)) {
            messages.push(message);
        }
        next = error.source();
    }
    messages.join(": ")
}

/// Whether asking again does not help.
fn is_refused(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::InvalidArgument
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
    ) || is_too_large(status)
}

/// Both the member and its gRPC have a limit.
fn is_too_large(status: &Status) -> bool {
    let message = status.message();
    match status.code() {
        Code::InvalidArgument => message.contains("too large"),
        Code::ResourceExhausted => message.contains("larger than max"),
        _ => false,
    }
}

fn reason(status: &Status) -> String {
    let advice = match status.code() {
        Code::InvalidArgument if status.message().contains(NO_USER) => {
            "it lets nobody in without a login: look at `username` and `password`"
        }
        Code::InvalidArgument if status.message().contains(BAD_LOGIN) => {
            "it does not accept this login: look at `username` and `password`"
        }
        _ if is_too_large(status) => {
            "it is too large: the members' `--max-request-bytes` says how large a request may be"
        }
        Code::PermissionDenied => {
            "this login has no right to it: look at `username` and at the roles of that user"
        }
        Code::ResourceExhausted if status.message().contains("space exceeded") => {
            "the members have no space left, and take nothing new until an administrator makes some"
        }
        Code::Unimplemented => {
            "the member knows no such request: etcd 3.4 is the oldest that will do"
        }
        _ => return told(status),
    };
    format!("{advice} ({})", told(status))
}

/// What `status` says of itself.
fn told(status: &Status) -> String {
    let cause = status.source().map(chain);
    match (status.message(), cause) {
        ("", None) => format!("{:?}", status.code()),
        ("", Some(cause)) => cause,
        (message, Some(cause)) if !cause.contains(message) => format!("{message}: {cause}"),
        (_, Some(cause)) => cause,
        (message, None) => message.to_owned(),
    }
}

// etcd's own texts; it uses the codes for several things each.
const BAD_LOGIN: &str = "authentication failed";
const NO_LOGIN: &str = "authentication is not enabled";
const NO_USER: &str = "user name is empty";
const OLD_TOKEN: &str = "invalid auth token";
const OLD_USERS: &str = "revision of auth store is old";
