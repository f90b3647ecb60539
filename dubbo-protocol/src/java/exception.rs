//! Java's exceptions and our statuses.

use std::error::Error;

use dubbo_core::status::{Code, Origin, Status};
use dubbo_hessian2::{Value, java::Throwable};

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

/// The exception that a call ended with, if it was one of Java's: its class, message and fields.
///
/// A generic caller gets class and message alone, because that is all that travels to it.
pub fn thrown(status: &Status) -> Option<&Throwable> {
    let mut error: &(dyn Error + 'static) = status;
    loop {
        error = error.source()?;
        if let Some(throwable) = error.downcast_ref() {
            return Some(throwable);
        }
        // One status may stand for another; what stands behind any other error was not thrown at the caller.
        error.downcast_ref::<Status>()?;
    }
}

/// What a provider writes for `status`: the exception that it holds, or one of a class that every Java has. Never
/// `java.lang.Throwable`, which Java refuses to read (`docs/spec/dubbo-protocol.md` §5.3).
pub(crate) fn to_throwable(status: &Status) -> Throwable {
    if let Some(throwable) = thrown(status) {
        return throwable.clone();
    }
    if status.code() == Code::Business {
        return Throwable::new("java.lang.RuntimeException", status.message());
    }
    let number = rpc_exception::to_number(status);
    let message = if number == rpc_exception::BIZ {
        // The number does not say which code it was.
        status.to_string()
    } else {
        status.message().to_owned()
    };
    Throwable::new(RPC_EXCEPTIONS[0], message).with_field("code", Value::Int(number))
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

/// The exception that Java answers a generic call with in place of `throwable` (`docs/spec/dubbo-protocol.md` §13.4):
/// Java and Go know the class in that package, and no class of the application's.
pub(crate) fn to_generic(throwable: &Throwable) -> Throwable {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let of_generic = of_generic(throwable);
    let inner = of_generic.as_ref().unwrap_or(throwable);
    Throwable::new(GENERIC_EXCEPTIONS[0], inner.to_string())
        .with_field("exceptionMessage", text(inner.message()))
        .with_field("exceptionClass", text(Some(inner.class())))
}

/// What a `GenericException` stands for.
fn of_generic(throwable: &Throwable) -> Option<Throwable> {
    if !GENERIC_EXCEPTIONS.contains(&throwable.class()) {
        return None;
    }
    let class = throwable.get("exceptionClass").and_then(Value::as_str)?;
    let message = throwable.get("exceptionMessage").and_then(Value::as_str);
    Some(Throwable::new(class, message.unwrap_or_default()))
}

/// The first is the one we write.
const RPC_EXCEPTIONS: [&str; 2] = [
    "org.apache.dubbo.rpc.RpcException",
    "com.alibaba.dubbo.rpc.RpcException",
];

/// The first is the one that Dubbo Java 3.3.6 writes.
const GENERIC_EXCEPTIONS: [&str; 2] = [
    "com.alibaba.dubbo.rpc.service.GenericException",
    "org.apache.dubbo.rpc.service.GenericException",
];
