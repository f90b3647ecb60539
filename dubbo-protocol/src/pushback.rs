//! Whether, and after how long, a call may be made again, as both protocols write it (`docs/spec/cluster.md` §7.4).

use std::time::Duration;

use dubbo_core::status::Status;

/// What is written of `status`: a wait in whole milliseconds, or [`NEVER`]; nothing where it says nothing.
pub(crate) fn written(status: &Status) -> Option<i64> {
    if status.is_done() {
        return Some(NEVER);
    }
    status.pushback().map(millis)
}

/// `status` with what a peer wrote beside it. What is no wait asks for no other call, as every gRPC client reads it (gRFC A6).
pub(crate) fn read(status: Status, text: Option<&str>) -> Status {
    match text.map(|text| text.trim().parse()) {
        None => status,
        Some(Ok(wait)) => status.with_pushback(Duration::from_millis(wait)),
        Some(Err(_)) => status.done(),
    }
}

/// Rounded up: what comes too early is refused again.
fn millis(wait: Duration) -> i64 {
    i64::try_from(wait.as_nanos().div_ceil(NANOS_PER_MILLI)).unwrap_or(i64::MAX)
}

/// The wait of those who are never to come again.
const NEVER: i64 = -1;

const NANOS_PER_MILLI: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was_meant() {
        let refused = || Status::resource_exhausted("too many");
        for (status, text, is_done, wait) in [
            (refused(), None, false, None),
            (
                refused().with_pushback(Duration::from_micros(2_500)),
                Some("3"),
                false,
                Some(3),
            ),
            (
                refused().with_pushback(Duration::ZERO),
                Some("0"),
                false,
                Some(0),
            ),
            (refused().done(), Some("-1"), true, None),
            (
                refused().with_pushback(Duration::from_secs(1)).done(),
                Some("-1"),
                true,
                None,
            ),
        ] {
            let written = written(&status).map(|number| number.to_string());
            assert_eq!(written.as_deref(), text);
            let read = read(refused(), text);
            assert_eq!(
                (read.is_done(), read.pushback()),
                (is_done, wait.map(Duration::from_millis)),
                "{text:?}"
            );
        }
        assert_eq!(
            written(&refused().with_pushback(Duration::MAX)),
            Some(i64::MAX)
        );
    }

    #[test]
    fn what_is_no_wait_is_never_tried_again() {
        for text in ["-1", "-500", "soon", "", "1.5", "99999999999999999999"] {
            let read = read(Status::unavailable("x"), Some(text));
            assert!(read.is_done() && read.pushback().is_none(), "{text:?}");
        }
    }
}
