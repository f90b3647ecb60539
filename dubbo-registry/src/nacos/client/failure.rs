//! Requests that were not fulfilled.

use dubbo_core::registry::RegistryError;
use nacos_sdk::api::error::Error;

/// A request that was not fulfilled.
#[derive(Debug)]
pub(in crate::nacos) struct Failure {
    /// What it means to those who can do something about it.
    pub(in crate::nacos) why: Why,
    error: RegistryError,
}

/// What a failure means to those who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nacos) enum Why {
    /// There is no such text.
    Absent,
    /// The connection is of no use any more, and nacos-sdk may not have noticed.
    Broken,
    /// The text is another one by now.
    Changed,
    /// It was refused, and nacos-sdk loses why.
    Hidden,
    /// No answer came in time.
    Late,
    /// Asking again will not help.
    Refused,
    /// Asking again may help.
    Unavailable,
    /// The server says no and nothing else, as r-nacos does when it does not know such a request.
    Unknown,
}

impl Failure {
    /// That `error` came of asking for `operation`; `user` is who asked.
    pub(super) fn of(operation: String, address: &str, user: Option<&str>, error: Error) -> Self {
        let (why, reason) = explain(&error, user);
        let error = RegistryError::new(operation, address, reason).with_source(error);
        Self {
            why,
            error: if why == Why::Refused {
                error.refused()
            } else {
                error
            },
        }
    }

    /// That nothing can be asked now.
    pub(super) fn unavailable(error: RegistryError) -> Self {
        Self {
            why: Why::Unavailable,
            error,
        }
    }

    /// That the connection was lost meanwhile.
    pub(super) fn broken(error: RegistryError) -> Self {
        Self {
            why: Why::Broken,
            error,
        }
    }

    /// That nothing came of it in time.
    pub(super) fn late(error: RegistryError) -> Self {
        Self {
            why: Why::Late,
            error,
        }
    }

    /// That it was not even tried.
    pub(super) fn refused(error: RegistryError) -> Self {
        Self {
            why: Why::Refused,
            error: error.refused(),
        }
    }

    /// What to tell those who can do nothing about it. No `From`, as in the client of ZooKeeper.
    pub(in crate::nacos) fn into_error(self) -> RegistryError {
        self.error
    }
}

/// What nacos-sdk makes of an answer, undone (`docs/spec/nacos-2.5.1.md` §3, §5, §7).
fn explain(error: &Error, user: Option<&str>) -> (Why, String) {
    match error {
        Error::ConfigNotFound(_) => (Why::Absent, "there is no such text".to_owned()),
        // It takes the code of every refused parameter for that of a text that is being written.
        Error::ConfigQueryConflict(text) if text.contains("being modified") => (
            Why::Unavailable,
            "the text is being written just now".to_owned(),
        ),
        Error::ConfigQueryConflict(text) | Error::ErrResult(text) => match parts(text) {
            Some((code, message)) => answer(code, message, user),
            None => (Why::Broken, text.clone()),
        },
        Error::ErrResponse(_, _, code, message) => {
            answer(*code, message.as_deref().unwrap_or_default(), user)
        }
        Error::GrpcBufferRequest(inner) => match inner.downcast_ref::<Error>() {
            Some(inner) => explain(inner, user),
            None => (Why::Broken, inner.to_string()),
        },
        Error::TonicGrpcStatus(status) => {
            let text = format!("{}: {}", status.code(), status.message());
            match status.code() as i32 {
                // Out of range: more than the client takes; resource exhausted: more than the server does.
                8 | 11 => (
                    Why::Refused,
                    format!("it is too long for a message: {text}"),
                ),
                _ => (Why::Broken, text),
            }
        }
        Error::TonicGrpcTransport(_) | Error::ClientShutdown(_) | Error::ClientUnhealthy(_) => {
            (Why::Broken, error.to_string())
        }
        // It looks for what the answer to a request that was done would have in it.
        Error::Serialization(_) => {
            let who = user.map_or_else(
                || "look whether a login is needed".to_owned(),
                |user| format!("look at what the user `{user}` may do"),
            );
            let reason = format!("the server refused it, and nacos-sdk loses why: {who}");
            (Why::Hidden, reason)
        }
        Error::InvalidParam(what, text) => (Why::Refused, format!("{what}: {text}")),
        _ => (Why::Unavailable, error.to_string()),
    }
}

/// What an answer with this code and text means.
fn answer(code: i32, message: &str, user: Option<&str>) -> (Why, String) {
    let said = |why| (why, format!("the server says: {message} (code {code})"));
    match code {
        0 if message.is_empty() => (
            Why::Unknown,
            "the server does not do it and does not say why".to_owned(),
        ),
        300 => said(Why::Unavailable),
        301 => said(Why::Broken),
        302 | 400 => said(Why::Refused),
        403 if message.contains("expired") => said(Why::Unavailable),
        403 => {
            let reason = user.map_or_else(
                || {
                    format!(
                        "the server says: {message} (code 403); there is no `username` and `password` in the registry's \
                         configuration"
                    )
                },
                |user| format!("the server says of the user `{user}`: {message} (code 403)"),
            );
            (Why::Refused, reason)
        }
        _ if message.contains("Cas publish fail") => (
            Why::Changed,
            "somebody else has changed the text meanwhile".to_owned(),
        ),
        _ if message.contains("is illegal") => said(Why::Refused),
        _ => said(Why::Unavailable),
    }
}

/// Code and message of the text that nacos-sdk makes of an answer.
fn parts(text: &str) -> Option<(i32, &str)> {
    let (_, rest) = text.split_once("error_code=")?;
    let (code, message) = rest.split_once(", message=")?;
    Some((code.parse().ok()?, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: i32, message: &str) -> Error {
        Error::ErrResult(format!(
            "handle x failed: result_code=500, error_code={code}, message={message}"
        ))
    }

    #[test]
    fn what_nacos_sdk_says_is_understood() {
        let response = |code, text: &str| Error::ErrResponse(None, 500, code, Some(text.into()));
        let not_json = || serde_json::from_str::<u8>("").expect_err("nothing");
        for (error, why, reason) in [
            (
                Error::ConfigNotFound(String::new()),
                Why::Absent,
                "there is no such text",
            ),
            (
                Error::ConfigQueryConflict(
                    "handle get_config failed: result_code=500, error_code=400, \
                    message=Param check invalid:Param 'group' is illegal"
                        .to_owned(),
                ),
                Why::Refused,
                "the server says: Param check invalid:Param 'group' is illegal (code 400)",
            ),
            (
                Error::ConfigQueryConflict("requested file is being modified".to_owned()),
                Why::Unavailable,
                "the text is being written just now",
            ),
            (
                answered(500, "Cas publish fail, server md5 may have changed."),
                Why::Changed,
                "somebody else has changed the text meanwhile",
            ),
            (
                answered(400, "x is illegal"),
                Why::Refused,
                "the server says: x is illegal (code 400)",
            ),
            (
                answered(403, "user not found!"),
                Why::Refused,
                "the server says of the user `u`: user not found! (code 403)",
            ),
            (
                answered(403, "token expired!"),
                Why::Unavailable,
                "the server says: token expired! (code 403)",
            ),
            (
                answered(0, ""),
                Why::Unknown,
                "the server does not do it and does not say why",
            ),
            (
                response(301, "Connection is unregistered."),
                Why::Broken,
                "the server says: Connection is unregistered. (code 301)",
            ),
            (
                response(300, "Server is starting,please try later."),
                Why::Unavailable,
                "the server says: Server is starting,please try later. (code 300)",
            ),
            (
                response(500, "Param 'groupName' is illegal, groupName is blank"),
                Why::Refused,
                "the server says: Param 'groupName' is illegal, groupName is blank (code 500)",
            ),
            (
                Error::ErrResult("the connection is not connected".to_owned()),
                Why::Broken,
                "the connection is not connected",
            ),
            (
                Error::GrpcBufferRequest(Box::new(answered(400, "x"))),
                Why::Refused,
                "the server says: x (code 400)",
            ),
            (
                Error::GrpcBufferRequest("the buffer is gone".into()),
                Why::Broken,
                "the buffer is gone",
            ),
            (
                Error::Serialization(not_json()),
                Why::Hidden,
                "the server refused it, and nacos-sdk loses why: look at what the user `u` may do",
            ),
            (
                Error::InvalidParam("content".to_owned(), "blank".to_owned()),
                Why::Refused,
                "content: blank",
            ),
        ] {
            assert_eq!(explain(&error, Some("u")), (why, reason.to_owned()));
        }
    }
}
