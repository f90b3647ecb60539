//! How much longer a caller waits.

use std::time::Duration;

use dubbo_core::{service::MethodRef, status::Status};
use http::{HeaderMap, HeaderName};
use tokio::time::{Instant, timeout_at};

use super::super::reply::expired;

/// When the caller stops waiting, as `triple-timeout-ms` has it, or Connect's header of the same form
/// (`docs/spec/triple.md` §9.1).
///
/// # Errors
///
/// Code 3 for a value that cannot be read, 4 when that time has come already.
pub(in crate::triple::server) fn read(
    headers: &HeaderMap,
    method: &MethodRef,
) -> Result<Option<Instant>, Status> {
    let mut said = NAMES.into_iter();
    let said = said.find_map(|name| headers.get(&name).map(|value| (name, value)));
    let Some((name, value)) = said else {
        return Ok(None);
    };
    let unusable = |why: String| Status::invalid_argument(format!("`{name}` is {value:?}: {why}"));
    if value.len() > MAX_DIGITS {
        return Err(unusable(format!("more than {MAX_DIGITS} digits")));
    }
    let text = value.to_str().unwrap_or_default();
    let millis: i64 = text
        .parse()
        .map_err(|_| unusable("it should be a number of milliseconds".to_owned()))?;
    match u64::try_from(millis) {
        Err(_) | Ok(0) => Err(expired(method)),
        Ok(millis) => Ok(Instant::now().checked_add(Duration::from_millis(millis))),
    }
}

/// Does `work`, unless `deadline` is sooner.
pub(super) async fn in_time<T, E: From<Status>>(
    method: &MethodRef,
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    match deadline {
        None => work.await,
        Some(deadline) => match timeout_at(deadline, work).await {
            Ok(done) => done,
            Err(_) => Err(expired(method).into()),
        },
    }
}

/// Connect's name for it.
pub(super) const CONNECT_TIMEOUT: HeaderName = HeaderName::from_static("connect-timeout-ms");

const NAMES: [HeaderName; 2] = [
    HeaderName::from_static("triple-timeout-ms"),
    CONNECT_TIMEOUT,
];

const MAX_DIGITS: usize = 10;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::{
        service::{CallKind, MethodDescriptor, ServiceDescriptor},
        status::Code,
    };
    use http::HeaderValue;

    use super::*;

    fn method() -> MethodRef {
        let methods = vec![MethodDescriptor::new("M", CallKind::Unary)];
        MethodRef::new(Arc::new(ServiceDescriptor::new("x.S", methods)), 0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_says_how_many_milliseconds_it_waits() {
        for name in NAMES {
            for (value, want) in [
                ("1", Ok(1)),
                ("9999999999", Ok(9_999_999_999)),
                ("0", Err((Code::DeadlineExceeded, "deadline"))),
                ("-5", Err((Code::DeadlineExceeded, "deadline"))),
                (
                    "12345678901",
                    Err((Code::InvalidArgument, "more than 10 digits")),
                ),
                (
                    "abc",
                    Err((Code::InvalidArgument, "\"abc\": it should be a number")),
                ),
                (
                    "1.5",
                    Err((Code::InvalidArgument, "number of milliseconds")),
                ),
                ("", Err((Code::InvalidArgument, "number of milliseconds"))),
            ] {
                let headers =
                    HeaderMap::from_iter([(name.clone(), HeaderValue::from_static(value))]);
                match (read(&headers, &method()), want) {
                    (Ok(Some(at)), Ok(millis)) => {
                        assert_eq!(at - Instant::now(), Duration::from_millis(millis));
                    }
                    (Err(status), Err((code, text))) => {
                        assert_eq!(status.code(), code, "{value:?}");
                        assert!(status.message().contains(text), "{status}");
                    }
                    (got, want) => panic!("{value:?}: {got:?} instead of {want:?}"),
                }
            }
        }
        assert_eq!(read(&HeaderMap::new(), &method()).expect("none"), None);
    }
}
