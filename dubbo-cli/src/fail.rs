//! Why a command has not done what it was asked, and the exit codes.

use std::{error::Error as _, fmt, io, process::ExitCode};

use dubbo::{Code, Origin, Status, spi::registry::RegistryError};
use serde_json::{Value, json};

/// What went wrong, what kind of thing that is, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    class: Class,
    message: String,
    status: Option<(Code, Origin)>,
    advice: Option<String>,
}

/// What kind of thing went wrong: the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// 1: the command has done its work, and its answer is no.
    No,
    /// 2: the command cannot be done as it was given.
    Usage,
    /// 3: nobody there, or no way there.
    Unreachable,
    /// 4: the framework of the other side refused.
    Refused,
    /// 5: the service itself answered with an error.
    Business,
    /// 6: no answer in time.
    TimedOut,
    /// Nobody reads what is printed any more, which is no failure.
    Unheard,
}

impl Class {
    const fn code(self) -> u8 {
        match self {
            Self::Unheard => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Refused => 4,
            Self::Business => 5,
            Self::TimedOut => 6,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Business => "business",
            Self::No => "no",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Unheard => "unheard",
            Self::Unreachable => "unreachable",
            Self::Usage => "usage",
        }
    }
}

impl Failure {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            advice: None,
        }
    }

    /// The answer is no. What there is to tell has been printed.
    pub(crate) fn no(message: impl Into<String>) -> Self {
        Self::new(Class::No, message)
    }

    /// The command cannot be done as it was given.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Class::Usage, message)
    }

    /// Nobody there, or no way there.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Class::Unreachable, message)
    }

    /// Says what to do.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Says what was attempted.
    pub(crate) fn during(mut self, attempt: &str) -> Self {
        self.message = format!("{attempt}: {}", self.message);
        self
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// The code of the call that failed, if it was one.
    pub(crate) fn code(&self) -> Option<Code> {
        self.status.map(|(code, _)| code)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        self.class.code().into()
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"class": self.class.name(), "message": self.message});
        if let Some((code, origin)) = self.status {
            error["code"] = code.to_string().into();
            error["number"] = code.number().into();
            error["origin"] = origin_name(origin).into();
        }
        if let Some(advice) = &self.advice {
            error["advice"] = advice.as_str().into();
        }
        json!({ "error": error })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some((code, origin)) = self.status {
            let (number, origin) = (code.number(), origin_name(origin));
            write!(f, "\n  code: {code} ({number}), origin: {origin}")?;
        }
        if let Some(advice) = &self.advice {
            write!(f, "\n  what to do: {advice}")?;
        }
        Ok(())
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let (code, origin) = (status.code(), status.origin());
        let class = match (code, origin) {
            (Code::Business, _) | (_, Origin::Business) => Class::Business,
            (Code::DeadlineExceeded, _) => Class::TimedOut,
            (Code::Unavailable, Origin::Framework) | (_, Origin::Transport) => Class::Unreachable,
            (Code::InvalidArgument, Origin::Framework) => Class::Usage,
            _ => Class::Refused,
        };
        Self {
            class,
            message: text_of(&status),
            status: Some((code, origin)),
            advice: advice_for(code, class).map(str::to_owned),
        }
    }
}

/// What keeps an instance from being built or from having a client.
impl From<dubbo::Error> for Failure {
    fn from(error: dubbo::Error) -> Self {
        let message = chain(&error);
        match error {
            dubbo::Error::NoProvider { .. } => Self::unreachable(message.replace(
                " (set `check: false` to start without one)",
                "",
            ))
            .advise(
                "check the address, or ask `dubbo explain` with the registry why there is no provider; `--timeout` says \
                 how long to wait for one",
            ),
            dubbo::Error::Registry(_) | dubbo::Error::Metadata(_) => Self::unreachable(message)
                .advise("check the address of the registry, its user and its password, and that it is up"),
            _ => Self::usage(message),
        }
    }
}

/// A registry or a metadata report that does not answer.
impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        dubbo::Error::from(error).into()
    }
}

/// What is printed goes nowhere.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let class = match error.kind() {
            io::ErrorKind::BrokenPipe => Class::Unheard,
            _ => Class::Usage,
        };
        Self::new(class, format!("cannot print: {error}"))
    }
}

/// The text of a status, and of an exception of Java its class.
fn text_of(status: &Status) -> String {
    let message = status.message();
    match dubbo::java::thrown(status) {
        Some(throwable) if !message.contains(throwable.class()) => {
            format!("{}: {message}", throwable.class())
        }
        _ if message.is_empty() => "it says nothing".to_owned(),
        _ => message.to_owned(),
    }
}

/// The text of an error with those behind it, each once.
fn chain(error: &dubbo::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

fn advice_for(code: Code, class: Class) -> Option<&'static str> {
    if class == Class::Business {
        return None;
    }
    match code {
        Code::DeadlineExceeded => Some("give it more time with `--timeout`"),
        Code::InvalidArgument => Some("`dubbo describe` shows what the method takes"),
        Code::NotFound | Code::Unimplemented => Some(
            "`dubbo describe` shows what is served there; a service in a group or at a version needs `--group` or \
             `--version`",
        ),
        Code::PermissionDenied | Code::Unauthenticated => {
            Some("send what the service asks for with `-H NAME:VALUE`")
        }
        Code::ResourceExhausted => Some("it has a limit: call less often, or send less"),
        Code::Unavailable => Some("check the address, and that a provider is up there"),
        _ => None,
    }
}

const fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Business => "business",
        Origin::Framework => "framework",
        Origin::Remote => "remote",
        Origin::Transport => "transport",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_classed_by_who_caused_it() {
        for (code, origin, want) in [
            (Code::Business, Origin::Remote, Class::Business),
            (Code::NotFound, Origin::Business, Class::Business),
            (Code::DeadlineExceeded, Origin::Remote, Class::TimedOut),
            (Code::DeadlineExceeded, Origin::Framework, Class::TimedOut),
            (Code::Unavailable, Origin::Framework, Class::Unreachable),
            (Code::Unavailable, Origin::Remote, Class::Refused),
            (Code::Internal, Origin::Transport, Class::Unreachable),
            (Code::InvalidArgument, Origin::Framework, Class::Usage),
            (Code::InvalidArgument, Origin::Remote, Class::Refused),
            (Code::Unimplemented, Origin::Remote, Class::Refused),
        ] {
            let status = Status::new(code, "why").with_origin(origin);
            let failure = Failure::from(status);
            assert_eq!(failure.class(), want, "{code} by {origin:?}");
            assert_eq!(failure.to_json()["error"]["number"], code.number());
        }
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let broken = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(broken.class().code(), 0);
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.class().code(), 2);
    }
}
