use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Poll,
};

use async_trait::async_trait;
use dubbo_core::{
    extension,
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    status::{Code, Origin, Status},
};

/// Makes what a handler did not mean to say an error of the application, which callers read and never try again: a panic
/// with its text, and an error without a code of its own with the type and text of what is behind it.
///
/// Without it a panic is told by its code alone: its text may hold what no caller is to know.
struct Exception;

#[async_trait]
impl Filter for Exception {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let method = invocation.method.clone();
        let mut call = None;
        let mut invocation = Some(invocation);
        let result = std::future::poll_fn(|cx| {
            let polled = catch_unwind(AssertUnwindSafe(|| {
                // What stands behind may panic before it gives a future, too.
                let call = match invocation.take() {
                    Some(invocation) => call.insert(next.run(invocation)),
                    None => call
                        .as_mut()
                        .expect("invariant: it was made when it was polled first"),
                };
                call.as_mut().poll(cx)
            }));
            match polled {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
                Err(panic) => Poll::Ready(Err(panic)),
            }
        })
        .await;
        match result {
            Ok(result) => result.map_err(foreign),
            Err(panic) => {
                let text = text(&*panic);
                tracing::error!(
                    service = method.service().interface(),
                    method = method.name(),
                    panic = text,
                    "the handler of a call panicked"
                );
                Err(Status::business(format!("panic: {text}")))
            }
        }
    }
}

/// An error that has no meaning to the framework, of the application.
fn foreign(status: Status) -> Status {
    let is_of_framework = status.origin() == Origin::Framework && !status.is_not_processed();
    if status.code() != Code::Unknown || !is_of_framework {
        return status;
    }
    let name = std::error::Error::source(&status).map(type_of);
    let text = match name {
        Some(name) => format!("{name}: {}", status.message()),
        None => status.message().to_owned(),
    };
    Status::business(text)
        .with_attachments(status.attachments().clone())
        .with_details(status.details().to_vec())
        .with_source(status)
}

/// What an error calls itself: the first word of its `Debug` form, which for a derived one is its type or variant.
fn type_of(error: &(dyn std::error::Error + 'static)) -> String {
    let shown = format!("{error:?}");
    let word = shown.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')));
    let word = word.into_iter().next().unwrap_or_default();
    if word.is_empty() {
        "error".to_owned()
    } else {
        word.to_owned()
    }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}

extension!(dyn Filter, "exception", |_cx| Ok(Arc::new(Exception)));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::tests::rig::{Provider, invocation};

    #[derive(Debug, thiserror::Error)]
    #[error("no row")]
    struct RowMissing;

    #[tokio::test]
    async fn panics_and_foreign_errors_are_the_applications_own_and_say_what_they_are() {
        let panicking = Provider::new(|_| panic!("lost {}", "it"));
        let status = panicking.through("exception", "").await.expect_err("fails");
        assert_eq!(
            (status.code(), status.message()),
            (Code::Business, "panic: lost it")
        );

        let cases = [
            (
                Status::unknown("no row").with_source(RowMissing),
                (Code::Business, "RowMissing: no row"),
            ),
            (Status::unknown("x"), (Code::Business, "x")),
            (Status::not_found("x"), (Code::NotFound, "x")),
            (
                Status::unknown("x").with_origin(Origin::Remote),
                (Code::Unknown, "x"),
            ),
        ];
        for (status, want) in cases {
            let failing = Provider::new(move |_| Err(status.clone()));
            let got = failing.through("exception", "").await.expect_err("fails");
            assert_eq!((got.code(), got.message()), want);
        }
        let working = Provider::echoing();
        let chain = working.chain("exception", "");
        chain.invoke(invocation()).await.expect("works");
    }
}
