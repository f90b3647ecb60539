//! A panic in a handler or filter ends its own call, not the connection that carries other calls.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    extension::BoxError,
    invocation::RpcResult,
    service::MethodRef,
    status::{Origin, Status},
};

/// Runs a call of `method`; a panic in it is an `internal` status.
///
/// The panic's text is for the log alone: it may hold what no caller is to know.
///
/// # Errors
///
/// Those of the call, and code 13 for a panic.
pub async fn guard(
    method: &MethodRef,
    mut call: Pin<Box<dyn Future<Output = RpcResult> + Send + '_>>,
) -> RpcResult {
    std::future::poll_fn(|cx| poll_guarded(method, cx, |cx| call.as_mut().poll(cx)))
        .await
        .unwrap_or_else(Err)
}

/// Runs `f` for a call of `method`; a panic in it is an `internal` status.
///
/// # Errors
///
/// Code 13 for a panic.
pub fn catch<T>(method: &MethodRef, f: impl FnOnce() -> T) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| to_status(method, &*panic))
}

/// Polls once for a call of `method`; a panic is an `internal` status. What panicked must not be polled again.
pub fn poll_guarded<T>(
    method: &MethodRef,
    cx: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
) -> Poll<Result<T, Status>> {
    match catch(method, || poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(panicked) => Poll::Ready(Err(panicked)),
    }
}

/// Runs what a plugin does outside of calls; a panic in it is an error like the others.
///
/// # Errors
///
/// Those of the plugin, and the text of a panic.
pub fn guard_plugin<T>(f: impl FnOnce() -> Result<T, BoxError>) -> Result<T, BoxError> {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", text(&*panic)).into()))
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

fn to_status(method: &MethodRef, panic: &(dyn Any + Send)) -> Status {
    let text = text(panic);
    tracing::error!(
        service = method.service().interface(),
        method = method.name(),
        panic = text,
        "the handler of a call panicked"
    );
    Status::internal("the handler panicked").with_origin(Origin::Business)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        service::{CallKind, MethodDescriptor, ServiceDescriptor},
        status::Code,
    };

    #[tokio::test]
    async fn a_panic_is_an_internal_status_that_keeps_its_text_from_the_caller() {
        let methods = vec![MethodDescriptor::new("Find", CallKind::Unary)];
        let service = Arc::new(ServiceDescriptor::new("shop.Orders", methods));
        let method = MethodRef::new(service, 0);
        let call = Box::pin(async { panic!("lost {}", "it") });
        let status = guard(&method, call).await.expect_err("panics");
        assert_eq!(status.code(), Code::Internal);
        assert_eq!(status.message(), "the handler panicked");
    }

    #[test]
    fn a_panic_of_a_plugin_is_an_error() {
        assert_eq!(guard_plugin(|| Ok(1)).expect("no panic"), 1);
        let error = guard_plugin::<()>(|| panic!("no {}", "way")).expect_err("panics");
        assert_eq!(error.to_string(), "it panicked: no way");
    }
}
