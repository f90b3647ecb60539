//! A panic in a handler or filter ends its own call, not the connection that carries other calls.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    invocation::RpcResult,
    status::{Origin, Status},
};

/// Runs a call; a panic in it is an `internal` status with the panic's text.
///
/// # Errors
///
/// Those of the call, and code 13 for a panic.
pub async fn guard(call: Pin<Box<dyn Future<Output = RpcResult> + Send + '_>>) -> RpcResult {
    let mut call = call;
    std::future::poll_fn(|cx| poll_guarded(cx, |cx| call.as_mut().poll(cx)))
        .await
        .unwrap_or_else(Err)
}

/// Runs `f`; a panic in it is an `internal` status.
///
/// # Errors
///
/// Code 13 for a panic.
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| to_status(&*panic))
}

/// Polls once; a panic is an `internal` status. What panicked must not be polled again.
pub fn poll_guarded<T>(
    cx: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
) -> Poll<Result<T, Status>> {
    match catch(|| poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(panicked) => Poll::Ready(Err(panicked)),
    }
}

fn to_status(panic: &(dyn Any + Send)) -> Status {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!(panic = text, "the handler of a call panicked");
    Status::internal(format!("the handler panicked: {text}")).with_origin(Origin::Business)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Code;

    #[tokio::test]
    async fn a_panic_is_an_internal_status_with_its_text() {
        let call = Box::pin(async { panic!("lost {}", "it") });
        let status = guard(call).await.expect_err("panics");
        assert_eq!(status.code(), Code::Internal);
        assert_eq!(status.message(), "the handler panicked: lost it");
    }
}
