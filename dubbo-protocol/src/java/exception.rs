//! Java's exceptions and our statuses.

use std::error::Error;

use dubbo_core::status::{Code, Origin, Status};
use dubbo_hessian2::{FromHessian, JavaType, ToHessian, Value, java::Throwable};

use super::rpc_exception;

/// The status with which a handler throws `throwable`: the application's own error, which is never tried again.
///
/// Java callers get the exception itself, with its fields, cause and stack trace; callers of other kinds its class and
/// message. A consumer finds it with [`thrown`].
///
/// Java knows the exception only if its interface declares the class, or the class is one of the JDK's
/// (`docs/spec/dubbo-protocol.md` §15).
///
/// ```
/// use dubbo_hessian2::java::Throwable;
/// use dubbo_protocol::java::{exception, thrown};
///
/// let status = exception(Throwable::new("com.x.NoSuchUser", "7"));
/// assert_eq!(status.message(), "com.x.NoSuchUser: 7");
/// assert_eq!(thrown(&status).map(Throwable::class), Some("com.x.NoSuchUser"));
/// ```
pub fn exception(throwable: Throwable) -> Status {
    Status::business(&throwable).with_source(throwable)
}

/// The same for an exception class that is a Rust type: its class and its fields are those of `fields`, its message is
/// `message`. A consumer gets it back with [`thrown_as`].
///
/// ```
/// use dubbo_hessian2::Hessian;
/// use dubbo_protocol::java::{exception_with, thrown_as};
///
/// #[derive(Debug, PartialEq, Hessian)]
/// #[hessian(class = "com.x.NoSuchUser")]
/// struct NoSuchUser {
///     id: i64,
/// }
///
/// let status = exception_with("no user 7", &NoSuchUser { id: 7 });
/// assert_eq!(status.message(), "com.x.NoSuchUser: no user 7");
/// assert_eq!(thrown_as(&status), Some(NoSuchUser { id: 7 }));
/// ```
///
/// A value that is no object, or cannot be written, is an error of the framework that says so.
pub fn exception_with(message: &str, fields: &impl ToHessian) -> Status {
    let value = match Value::of(fields) {
        Ok(value) => value,
        Err(error) => {
            let text = format!("the exception {message:?} cannot be written: {error}");
            return Status::internal(text).with_source(error);
        }
    };
    let Some(object) = value.as_object() else {
        let text = format!(
            "the exception {message:?} cannot be written: it is {}, not an object of a class",
            value.kind()
        );
        return Status::internal(text);
    };
    let own = object
        .fields()
        .filter(|(name, _)| !INHERITED.contains(name));
    exception(own.fold(
        Throwable::new(object.class(), message),
        |throwable, (name, value)| throwable.with_field(name, value.clone()),
    ))
}

/// The exception that a call ended with, if it was one of Java's: its class, message and fields. [`thrown_as`] is for
/// those of a class that is a Rust type.
///
/// A generic caller gets class and message alone: nothing else travels to it.
pub fn thrown(status: &Status) -> Option<&Throwable> {
    held(status)
}

/// The exception that a call ended with as a `T`, if its class is that of `T`.
///
/// Only the exception itself counts, not what caused it. It is `None` as well when a field of it has a value that `T` does
/// not take: [`Throwable::read`] says which. A generic caller gets class and message alone, so that the fields of `T` are
/// those of an object without any.
///
/// ```
/// use dubbo_hessian2::{Hessian, java::Throwable};
/// use dubbo_protocol::java::{exception, exception_with, thrown_as};
///
/// #[derive(Debug, PartialEq, Hessian)]
/// #[hessian(class = "com.x.NoSuchUser")]
/// struct NoSuchUser {
///     id: i64,
/// }
///
/// let status = exception_with("no user 7", &NoSuchUser { id: 7 });
/// assert_eq!(thrown_as(&status), Some(NoSuchUser { id: 7 }));
/// let status = exception(Throwable::illegal_argument("no id"));
/// assert_eq!(thrown_as::<NoSuchUser>(&status), None);
/// ```
pub fn thrown_as<T: FromHessian + JavaType>(status: &Status) -> Option<T> {
    thrown(status)?.read().ok()
}

/// What a provider writes for `status`: the exception that it holds, or one of a class that every Java has. Never
/// `java.lang.Throwable`, which Java refuses to read (`docs/spec/dubbo-protocol.md` §5.3).
pub(crate) fn to_throwable(status: &Status) -> Throwable {
    if let Some(Reduced(throwable)) = held(status) {
        return to_generic(throwable);
    }
    if let Some(throwable) = thrown(status) {
        return throwable.clone();
    }
    if status.code() == Code::Business {
        return Throwable::runtime(status.message());
    }
    let number = rpc_exception::to_number(status);
    let (code, _) = rpc_exception::from_number(number);
    if code == status.code() {
        return Throwable::rpc(number, status.message());
    }
    // Other peers pass over a field that they do not know, and read the code in the text.
    Throwable::rpc(number, status.to_string()).with_field(CODE, i64::from(status.code().number()))
}

/// The status of a call that a peer answered with `throwable`.
///
/// An `RpcException` is the peer's framework speaking and keeps its meaning; everything else is the application's own
/// error.
pub(crate) fn from_throwable(throwable: Throwable) -> Status {
    if RPC_EXCEPTIONS.contains(&throwable.class()) {
        let unknown = (Code::Unknown, Origin::Remote);
        let number = throwable.code();
        let (code, origin) = number.map_or(unknown, rpc_exception::from_number);
        let mut text = throwable.message().unwrap_or_else(|| throwable.class());
        let own = throwable.get(CODE).and_then(Value::as_i64);
        let own = own.and_then(|number| u32::try_from(number).ok());
        let own = own.map(Code::from_number).filter(|code| *code != Code::Ok);
        if let Some(code) = own {
            text = text.strip_prefix(&format!("{code}: ")).unwrap_or(text);
        }
        return Status::new(own.unwrap_or(code), text.to_owned())
            .with_origin(origin)
            .with_source(throwable);
    }
    exception(of_generic(&throwable).unwrap_or(throwable))
}

/// The error of a handler as it is for a generic caller, who need not have the class of the exception: a provider writes
/// a `GenericException` for it, as Java does (`docs/spec/dubbo-protocol.md` §13.4). What the framework says stays as it
/// is.
pub(super) fn reduced(status: Status) -> Status {
    let throwable = match thrown(&status) {
        Some(throwable) => throwable.clone(),
        None if status.code() == Code::Business => Throwable::runtime(status.message()),
        None => return status,
    };
    status.with_source(Reduced(throwable))
}

/// An exception on its way to a generic caller.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Reduced(#[source] Throwable);

fn to_generic(throwable: &Throwable) -> Throwable {
    let inner = of_generic(throwable).unwrap_or_else(|| throwable.clone());
    Throwable::new(GENERIC_EXCEPTION, inner.to_string())
        .with_field("exceptionMessage", inner.message())
        .with_field("exceptionClass", inner.class())
}

/// What a `GenericException` of either package stands for.
fn of_generic(throwable: &Throwable) -> Option<Throwable> {
    let class = throwable
        .exception_class()
        .filter(|_| throwable.is_generic())?;
    let message = throwable.exception_message().unwrap_or_default();
    Some(Throwable::new(class, message))
}

/// What `status` holds, or a status that it stands for. What is behind any other error is not what the caller was told.
fn held<T: Error + 'static>(status: &Status) -> Option<&T> {
    let mut error: &(dyn Error + 'static) = status;
    loop {
        error = error.source()?;
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        if !error.is::<Status>() && !error.is::<Reduced>() {
            return None;
        }
    }
}

const RPC_EXCEPTIONS: [&str; 2] = [
    "org.apache.dubbo.rpc.RpcException",
    "com.alibaba.dubbo.rpc.RpcException",
];

/// The field in which we tell our own kind a code that Java has no number for.
const CODE: &str = "grpcStatus";

/// Of the two that there are, the one that Dubbo Java 3.3.6 writes and reads.
const GENERIC_EXCEPTION: &str = "com.alibaba.dubbo.rpc.service.GenericException";

/// The fields of every exception.
const INHERITED: [&str; 4] = [
    "suppressedExceptions",
    "stackTrace",
    "cause",
    "detailMessage",
];

#[cfg(test)]
mod tests {
    use dubbo_core::status::Retry;
    use dubbo_hessian2::{Hessian, from_slice, to_vec};

    use super::*;

    /// As it is on the other side of a wire.
    fn carried(throwable: &Throwable) -> Throwable {
        from_slice(&to_vec(throwable).expect("written")).expect("read")
    }

    #[test]
    fn an_rpc_exception_keeps_its_meaning_and_is_retried_only_where_that_can_help() {
        use Retry::{Ambiguous, Never};
        for (number, code, retry) in [
            (0, Code::Unknown, Ambiguous),
            (1, Code::Unavailable, Ambiguous),
            (2, Code::DeadlineExceeded, Ambiguous),
            (3, Code::Business, Never),
            (4, Code::PermissionDenied, Never),
            (5, Code::DataLoss, Never),
            (6, Code::Unavailable, Ambiguous),
            (7, Code::ResourceExhausted, Ambiguous),
            (8, Code::DeadlineExceeded, Never),
            (9, Code::Unavailable, Ambiguous),
            (10, Code::Unavailable, Ambiguous),
            (11, Code::Unimplemented, Never),
            (12, Code::InvalidArgument, Never),
            (13, Code::Unauthenticated, Never),
            (14, Code::Unknown, Ambiguous),
            (-1, Code::Unknown, Ambiguous),
        ] {
            for class in RPC_EXCEPTIONS {
                let thrown = Throwable::new(class, "why").with_field("code", number);
                let status = from_throwable(carried(&thrown));
                assert_eq!((status.code(), status.retry()), (code, retry), "{number}");
                assert_eq!(status.message(), "why");
                assert!(!status.is_not_processed(), "{number}");
                assert_eq!(
                    super::thrown(&status).and_then(Throwable::code),
                    Some(number)
                );
            }
        }
        let numberless = from_throwable(Throwable::new(RPC_EXCEPTIONS[0], "why"));
        assert_eq!(
            (numberless.code(), numberless.origin()),
            (Code::Unknown, Origin::Remote)
        );
    }

    #[test]
    fn any_other_exception_is_the_applications_own_and_never_retried() {
        for (thrown, text) in [
            (Throwable::new("x.NoSuchUser", "7"), "x.NoSuchUser: 7"),
            (
                Throwable::new("java.lang.Throwable", "boom"),
                "java.lang.Throwable: boom",
            ),
            // A `code` makes no RpcException.
            (
                Throwable::new("x.UserException", "bad").with_field("code", 2),
                "x.UserException: bad",
            ),
            (Throwable::generic("x.NoSuchUser", "7"), "x.NoSuchUser: 7"),
            (
                to_generic(&Throwable::rpc(2, "late")),
                "org.apache.dubbo.rpc.RpcException: late",
            ),
        ] {
            let status = from_throwable(carried(&thrown));
            assert_eq!(
                (status.code(), status.retry()),
                (Code::Business, Retry::Never),
                "{text}"
            );
            assert_eq!(status.origin(), Origin::Business);
            assert_eq!(status.message(), text);
            let kept = super::thrown(&status).expect("kept");
            assert_eq!(kept.to_string(), text, "class and message");
        }
    }

    #[test]
    fn a_status_becomes_an_exception_that_every_java_has() {
        let business = |status: Status| status.with_origin(Origin::Business);
        for (status, number, message) in [
            (Status::business("no"), None, "no"),
            (Status::unknown("x"), Some(0), "x"),
            (Status::internal("x"), Some(0), "internal: x"),
            (Status::aborted("x"), Some(0), "aborted: x"),
            (Status::new(Code::Other(40), "x"), Some(0), "code_40: x"),
            (Status::unavailable("x"), Some(1), "x"),
            (Status::deadline_exceeded("x"), Some(2), "x"),
            (Status::permission_denied("x"), Some(4), "x"),
            (Status::data_loss("x"), Some(5), "x"),
            (Status::resource_exhausted("x"), Some(7), "x"),
            (Status::unimplemented("x"), Some(11), "x"),
            (Status::invalid_argument("x"), Some(12), "x"),
            (Status::unauthenticated("x"), Some(13), "x"),
            // No number says these, and Java would try any other again.
            (Status::not_found("x"), Some(3), "not_found: x"),
            (Status::already_exists("x"), Some(3), "already_exists: x"),
            (
                Status::failed_precondition("x"),
                Some(3),
                "failed_precondition: x",
            ),
            (Status::out_of_range("x"), Some(3), "out_of_range: x"),
            (Status::canceled("x"), Some(3), "canceled: x"),
            (
                business(Status::unavailable("x")),
                Some(3),
                "unavailable: x",
            ),
        ] {
            let throwable = to_throwable(&status);
            let class = match number {
                Some(_) => RPC_EXCEPTIONS[0],
                None => "java.lang.RuntimeException",
            };
            assert_eq!(throwable.class(), class, "{status}");
            assert_eq!(throwable.code(), number, "{status}");
            assert_eq!(throwable.message(), Some(message), "{status}");
        }
    }

    #[test]
    fn between_our_own_kind_codes_and_texts_stay_and_no_error_is_retried_by_mistake() {
        for number in 1..=20 {
            for origin in [Origin::Business, Origin::Framework, Origin::Remote] {
                let status = Status::new(Code::from_number(number), "x").with_origin(origin);
                let arrived = from_throwable(carried(&to_throwable(&status)));
                assert_eq!(arrived.code(), status.code(), "{status:?}");
                if status.code() != Code::Business {
                    assert_eq!(arrived.message(), "x", "{status:?}");
                }
                if status.retry() == Retry::Never {
                    assert_eq!(
                        arrived.retry(),
                        Retry::Never,
                        "{status:?} came as {arrived:?}"
                    );
                }
                assert_ne!(arrived.retry(), Retry::Safe, "{status:?}");
            }
        }
    }

    #[test]
    fn an_exception_goes_with_its_fields_and_cause_and_comes_back_as_its_type() {
        #[derive(Debug, PartialEq, Hessian)]
        #[hessian(class = "x.UserException")]
        struct UserException {
            detail: String,
            code: i32,
            detail_message: Option<String>,
        }
        let fields = UserException {
            detail: "d".into(),
            code: 42,
            detail_message: None,
        };
        let status = exception_with("bad", &fields);
        assert_eq!(status.message(), "x.UserException: bad");
        let arrived = from_throwable(carried(&to_throwable(&status)));
        assert_eq!(
            thrown_as(&arrived),
            Some(UserException {
                detail_message: Some("bad".into()),
                ..fields
            })
        );

        let of_another_class = [
            exception(Throwable::new("java.lang.NullPointerException", "x")),
            from_throwable(Throwable::rpc(3, "no provider")),
            exception(Throwable::runtime("x").with_cause(to_throwable(&status))),
            Status::business("x.UserException: bad"),
        ];
        for status in of_another_class {
            assert_eq!(thrown_as::<UserException>(&status), None, "{status}");
        }

        let cause = Throwable::illegal_argument("inner");
        let status = exception(Throwable::new("x.Outer", "outer").with_cause(cause));
        let arrived = from_throwable(carried(&to_throwable(&status)));
        let cause = thrown(&arrived)
            .and_then(Throwable::cause)
            .expect("the cause");
        assert_eq!(
            cause.to_string(),
            "java.lang.IllegalArgumentException: inner"
        );
    }

    #[test]
    fn what_cannot_be_thrown_says_so() {
        let status = exception_with("bad", &7);
        assert_eq!(status.code(), Code::Internal);
        assert!(
            status
                .message()
                .contains("\"bad\" cannot be written: it is "),
            "{status}"
        );
        assert!(thrown(&status).is_none());
    }

    #[test]
    fn an_exception_is_found_behind_the_statuses_that_stand_for_it_and_behind_nothing_else() {
        #[derive(Debug, thiserror::Error)]
        #[error("mine")]
        struct Mine(#[source] Throwable);
        let inner = exception(Throwable::new("x.E", "m"));
        let outer = Status::unavailable("no more attempts").with_source(inner);
        assert_eq!(thrown(&outer).map(Throwable::class), Some("x.E"));
        assert_eq!(
            thrown(&outer.clone().context("twice")).map(Throwable::class),
            Some("x.E")
        );
        let hidden = Status::business("x").with_source(Mine(Throwable::new("x.Secret", "m")));
        assert!(thrown(&hidden).is_none());
        assert!(thrown(&Status::business("x")).is_none());
    }

    #[test]
    fn a_generic_caller_gets_class_and_message_as_java_sends_them() {
        let e = Throwable::new("x.NoSuchUser", "7").with_field("id", 7);
        for (status, class, message) in [
            (exception(e.clone()), "x.NoSuchUser", "7"),
            (Status::business("no"), "java.lang.RuntimeException", "no"),
            (
                exception(Throwable::generic("x.Inner", "m")),
                "x.Inner",
                "m",
            ),
            (
                exception(Throwable::rpc(2, "late")),
                RPC_EXCEPTIONS[0],
                "late",
            ),
        ] {
            let text = status.message().to_owned();
            let reduced = reduced(status);
            assert_eq!(reduced.message(), text);
            let written = to_throwable(&reduced);
            assert_eq!(written.class(), GENERIC_EXCEPTION);
            assert_eq!(written.message(), Some(&*format!("{class}: {message}")));
            assert_eq!(written.exception_class(), Some(class));
            assert_eq!(written.exception_message(), Some(message));
            let arrived = from_throwable(carried(&written));
            let kept = thrown(&arrived).expect("kept");
            assert_eq!((kept.class(), kept.message()), (class, Some(message)));
        }
        // Within the process it does not become another one.
        assert_eq!(
            thrown(&reduced(exception(e))).map(Throwable::class),
            Some("x.NoSuchUser")
        );
        let frameworks = reduced(Status::deadline_exceeded("late"));
        assert_eq!(to_throwable(&frameworks).code(), Some(2));
    }
}
