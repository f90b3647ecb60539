//! What a URL of this protocol may set, for both sides.

use std::time::Duration;

use dubbo_core::url::{Key, Url, UrlError};

/// `payload`: how many bytes the body of a frame may have, in both directions. 8 MiB where no parameter says otherwise,
/// as in Java; whatever a frame can have for 0 and less.
///
/// # Errors
///
/// A value that is no whole number.
pub(crate) fn payload_limit(url: &Url) -> Result<usize, UrlError> {
    let limit = usize::try_from(url.get(&PAYLOAD)?).unwrap_or(0);
    Ok(match limit {
        0 => LARGEST,
        limit => limit.min(LARGEST),
    })
}

/// When a connection on which nothing happens shows that it is alive, and when it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Heartbeat {
    /// How long nothing may be heard before a heartbeat is sent; `None` sends none.
    pub(crate) interval: Option<Duration>,
    /// How long nothing may be heard at all; `None` waits for ever.
    pub(crate) timeout: Option<Duration>,
}

impl Heartbeat {
    /// `heartbeat`, 60 s, and `heartbeat.timeout`, three times that; 0 switches each off.
    ///
    /// # Errors
    ///
    /// A value that is no duration, and a timeout that leaves less than two intervals: one lost heartbeat would end a
    /// connection that is well.
    pub(crate) fn of(url: &Url) -> Result<Self, UrlError> {
        let interval = url.get(&INTERVAL)?;
        let timeout = url.get(&TIMEOUT)?.unwrap_or(interval * 3);
        if !timeout.is_zero() && timeout < interval * 2 {
            return Err(UrlError {
                key: TIMEOUT.name.to_owned(),
                value: url.param(TIMEOUT.name).unwrap_or_default().to_owned(),
                reason: format!(
                    "it must be at least twice `{}`, which is {interval:?}",
                    INTERVAL.name
                ),
            });
        }
        let some = |duration: Duration| (!duration.is_zero()).then_some(duration);
        Ok(Self {
            interval: some(interval),
            timeout: some(timeout),
        })
    }
}

const PAYLOAD: Key<i64> = Key {
    name: "payload",
    default: || i64::try_from(DEFAULT_PAYLOAD).unwrap_or(i64::MAX),
};

/// 8 MiB.
pub(crate) const DEFAULT_PAYLOAD: usize = 8 << 20;

/// What a caller can do about a body that is over its own limit.
pub(crate) const RAISE_PAYLOAD: &str =
    "to allow more, set `payload` in the `params` of the reference in `dubbo.consumer.references`";

/// The length of a body is an `i32`.
const LARGEST: usize = i32::MAX as usize;

const INTERVAL: Key<Duration> = Key {
    name: "heartbeat",
    default: || Duration::from_mins(1),
};

const TIMEOUT: Key<Option<Duration>> = Key {
    name: "heartbeat.timeout",
    default: || None,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn url(params: &[(&str, &str)]) -> Url {
        Url::new("dubbo", "h").with_params(params.iter().copied())
    }

    #[test]
    fn the_limit_of_a_body_is_that_of_java_and_may_be_switched_off() {
        for (text, want) in [
            ("", 8 << 20),
            ("16777216", 16 << 20),
            ("0", LARGEST),
            ("-1", LARGEST),
            ("9223372036854775807", LARGEST),
        ] {
            assert_eq!(
                payload_limit(&url(&[("payload", text)])),
                Ok(want),
                "{text}"
            );
        }
        let error = payload_limit(&url(&[("payload", "8MB")])).expect_err("no number");
        assert_eq!(error.key, "payload");
    }

    #[test]
    fn a_connection_is_given_up_after_three_heartbeats_unless_told_otherwise() {
        let secs = |secs| Some(Duration::from_secs(secs));
        for (interval, timeout, want) in [
            ("", "", (secs(60), secs(180))),
            ("10000", "", (secs(10), secs(30))),
            ("10s", "20s", (secs(10), secs(20))),
            ("0", "", (None, None)),
            ("0", "5s", (None, secs(5))),
            ("5s", "0", (secs(5), None)),
        ] {
            let url = url(&[("heartbeat", interval), ("heartbeat.timeout", timeout)]);
            let got = Heartbeat::of(&url).expect("legal");
            assert_eq!((got.interval, got.timeout), want, "{interval} {timeout}");
        }
        let error = Heartbeat::of(&url(&[("heartbeat.timeout", "100s")])).expect_err("too short");
        assert_eq!(
            error.reason,
            "it must be at least twice `heartbeat`, which is 60s"
        );
    }
}
