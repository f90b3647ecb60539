//! Java's exceptions and our statuses.

use std::error::Error;

use dubbo_core::status::{Code, Origin, Status};
use dubbo_hessian2::{ToHessian, Value, java::Throwable};

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
/// `message`. A consumer gets it back with `thrown(&status)?.read::<T>()`.
///
/// ```
/// use dubbo_hessian2::Hessian;
/// use dubbo_protocol::java::{exception_with, thrown};
///
/// #[derive(Debug, PartialEq, Hessian)]
/// #[hessian(class = "com.x.NoSuchUser")]
/// struct NoSuchUser {
///     id: i64,
/// }
///
/// let status = exception_with("no user 7", &NoSuchUser { id: 7 });
/// assert_eq!(status.message(), "com.x.NoSuchUser: no user 7");
/// let throwable = thrown(&status).expect("it was thrown");
/// assert_eq!(throwable.read::<NoSuchUser>()?, NoSuchUser { id: 7 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
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

/// The exception that a call ended with, if it was one of Java's: its class, message and fields.
///
/// A generic caller gets class and message alone: nothing else travels to it.
pub fn thrown(status: &Status) -> Option<&Throwable> {
    held(status)
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
    let message = if number == rpc_exception::BIZ {
        // The number does not say which code it was.
        status.to_string()
    } else {
        status.message().to_owned()
    };
    Throwable::rpc(number, message)
}

/// The status of a call that a peer answered with `throwable`.
///
/// An `RpcException` is the peer's framework speaking and keeps its meaning; everything else is the application's own
/// error.
pub(crate) fn from_throwable(throwable: Throwable) -> Status {
    if RPC_EXCEPTIONS.contains(&throwable.class()) {
        let number = throwable.get("code").and_then(Value::as_i64);
        let number = number.and_then(|number| i32::try_from(number).ok());
        let (code, origin) =
            number.map_or((Code::Unknown, Origin::Remote), rpc_exception::from_number);
        let text = throwable.message().unwrap_or(throwable.class()).to_owned();
        return Status::new(code, text)
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

/// Of the two that there are, the one that Dubbo Java 3.3.6 writes and reads.
const GENERIC_EXCEPTION: &str = "com.alibaba.dubbo.rpc.service.GenericException";

/// The fields of every exception.
const INHERITED: [&str; 4] = [
    "suppressedExceptions",
    "stackTrace",
    "cause",
    "detailMessage",
];
