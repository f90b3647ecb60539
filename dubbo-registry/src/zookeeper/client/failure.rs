//! Requests that were not fulfilled.

use dubbo_core::registry::RegistryError;
use zookeeper_client::Error;

/// A request that was not fulfilled.
#[derive(Debug)]
pub(in crate::zookeeper) struct Failure {
    /// What it means to those who can do something about it.
    pub(in crate::zookeeper) why: Why,
    error: RegistryError,
}

/// What a failure means to those who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::zookeeper) enum Why {
    /// There is no such node, or its parent is missing.
    Absent,
    /// The node is another one by now.
    Changed,
    /// The node is there already.
    Exists,
    /// The server knows no such request.
    Unknown,
    /// Asking again will not help.
    Refused,
    /// Asking again may help.
    Unavailable,
}

impl Failure {
    /// That `error` came of asking for `operation`.
    pub(super) fn of(operation: String, address: &str, error: Error) -> Self {
        let why = match &error {
            Error::NoNode => Why::Absent,
            Error::BadVersion => Why::Changed,
            Error::NodeExists => Why::Exists,
            Error::Unimplemented => Why::Unknown,
            Error::AuthFailed
            | Error::BadArguments(_)
            | Error::InvalidAcl
            | Error::NoAuth
            | Error::NoChildrenForEphemerals
            | Error::NotEmpty => Why::Refused,
            _ => Why::Unavailable,
        };
        let error = RegistryError::new(operation, address, reason(&error)).with_source(error);
        let is_final = matches!(why, Why::Refused | Why::Unknown);
        Self {
            why,
            error: if is_final { error.refused() } else { error },
        }
    }

    /// That nothing can be asked now, or came of it in time.
    pub(super) fn unavailable(error: RegistryError) -> Self {
        Self {
            why: Why::Unavailable,
            error,
        }
    }

    /// What to tell those who can do nothing about it. No `From`: with one, code elsewhere in the crate that leaves the type
    /// of an error to be found out no longer compiles.
    pub(in crate::zookeeper) fn into_error(self) -> RegistryError {
        self.error
    }

    /// That it was not even tried, for `reason`.
    pub(super) fn refused(operation: String, address: &str, reason: String) -> Self {
        Self {
            why: Why::Refused,
            error: RegistryError::new(operation, address, reason).refused(),
        }
    }
}

fn reason(error: &Error) -> String {
    let text = match error {
        Error::AuthFailed => {
            "the ensemble does not accept this login: look at `username` and `password`"
        }
        Error::BadVersion => "somebody else has changed the node meanwhile",
        Error::ConnectionLoss => "the connection was lost; whether it was done is open",
        Error::NoAuth => {
            "this login has no right to it: look at `username` and `password`, and at the node's ACL"
        }
        Error::NoChildrenForEphemerals => {
            "its parent is an ephemeral node, which can have no children"
        }
        Error::NoHosts => {
            "none of the servers let us in: they are not running, not ready or behind a wall"
        }
        Error::NoNode => "there is no such node",
        Error::NodeExists => "the node is there already",
        Error::NotEmpty => "the node has children, which somebody has to remove first",
        Error::SessionExpired | Error::Timeout => "the session has expired",
        Error::Unimplemented => {
            "the server is too old for such a request: ZooKeeper 3.5 is the oldest that will do"
        }
        other => return other.to_string(),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use dubbo_core::registry::RegistryErrorKind;

    use super::*;

    #[test]
    fn a_failure_says_what_it_means_and_whether_to_ask_again() {
        use RegistryErrorKind::{Refused, Unavailable};
        for (error, why, kind, text) in [
            (Error::NoNode, Why::Absent, Unavailable, "no such node"),
            (Error::NodeExists, Why::Exists, Unavailable, "there already"),
            (
                Error::BadVersion,
                Why::Changed,
                Unavailable,
                "somebody else",
            ),
            (
                Error::NoAuth,
                Why::Refused,
                Refused,
                "`username` and `password`",
            ),
            (
                Error::AuthFailed,
                Why::Refused,
                Refused,
                "`username` and `password`",
            ),
            (Error::NotEmpty, Why::Refused, Refused, "has children"),
            (Error::Unimplemented, Why::Unknown, Refused, "ZooKeeper 3.5"),
            (
                Error::ConnectionLoss,
                Why::Unavailable,
                Unavailable,
                "whether it was done is open",
            ),
            (
                Error::NoHosts,
                Why::Unavailable,
                Unavailable,
                "none of the servers",
            ),
            (
                Error::SessionExpired,
                Why::Unavailable,
                Unavailable,
                "expired",
            ),
            (Error::Throttled, Why::Unavailable, Unavailable, "throttled"),
        ] {
            let failure = Failure::of("read /a".to_owned(), "zookeeper://h:1", error.clone());
            assert_eq!(failure.why, why, "{error:?}");
            let told = failure.into_error();
            assert_eq!(told.kind, kind, "{error:?}");
            let message = told.to_string();
            assert!(
                message.starts_with("read /a at zookeeper://h:1: "),
                "{message}"
            );
            assert!(message.contains(text), "{message}");
        }
    }
}
