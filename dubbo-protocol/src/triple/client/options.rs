//! What a URL says about connections, read once when a service is referred to.

use std::time::Duration;

use dubbo_core::url::{Key, Url, UrlError};

use crate::{endpoint::options, triple::silence::KeepAlive};

/// How connections to one address are made and kept. References that agree on it share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ConnectOptions {
    /// `connections`: how many. Java's 0, "shared", is one.
    pub(super) connections: usize,
    /// `connect.timeout`: how long an attempt may take, from the first packet to the peer's SETTINGS.
    pub(super) timeout: Duration,
    /// Whether and how a silent peer is probed: `keep-alive-interval` and `keep-alive-timeout`.
    pub(super) keep_alive: Option<KeepAlive>,
}

impl ConnectOptions {
    /// Reads them from `url`.
    ///
    /// # Errors
    ///
    /// A value that is none, or that could only fail every call.
    pub(super) fn read(url: &Url) -> Result<Self, UrlError> {
        let interval = url.get(&KEEP_ALIVE_INTERVAL)?;
        Ok(Self {
            connections: options::connections(url)?,
            timeout: options::connect_timeout(url)?,
            keep_alive: if interval.is_zero() {
                None
            } else {
                let timeout = options::positive(url, &KEEP_ALIVE_TIMEOUT)?;
                Some(KeepAlive { interval, timeout })
            },
        })
    }
}

const KEEP_ALIVE_INTERVAL: Key<Duration> = Key {
    name: "keep-alive-interval",
    default: || Duration::from_secs(10),
};
const KEEP_ALIVE_TIMEOUT: Key<Duration> = Key {
    name: "keep-alive-timeout",
    default: || Duration::from_secs(20),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ConnectOptions, UrlError> {
        let url: Url = format!("tri://h:1/x.Y?{query}").parse().expect(query);
        ConnectOptions::read(&url)
    }

    #[test]
    fn defaults_are_those_of_dubbo_go() {
        assert_eq!(
            read("").expect("no parameter"),
            ConnectOptions {
                connections: 1,
                timeout: Duration::from_secs(3),
                keep_alive: Some(KeepAlive {
                    interval: Duration::from_secs(10),
                    timeout: Duration::from_secs(20),
                }),
            }
        );
    }

    #[test]
    fn every_key_is_read() {
        let options =
            "connections=4&connect.timeout=500&keep-alive-interval=30s&keep-alive-timeout=5s";
        let options = read(options).expect("valid");
        assert_eq!(options.connections, 4);
        assert_eq!(options.timeout, Duration::from_millis(500));
        let keep_alive = options.keep_alive.expect("on");
        assert_eq!(keep_alive.interval, Duration::from_secs(30));
        assert_eq!(keep_alive.timeout, Duration::from_secs(5));
        let off = read("keep-alive-interval=0&keep-alive-timeout=0").expect("off");
        assert_eq!(off.keep_alive, None);
    }

    #[test]
    fn values_that_cannot_work_are_refused_by_name() {
        for (query, key) in [
            ("keep-alive-interval=x", "keep-alive-interval"),
            // No clock can say when that is.
            (
                "keep-alive-interval=5000000000000000h",
                "keep-alive-interval",
            ),
            ("keep-alive-timeout=0s", "keep-alive-timeout"),
        ] {
            assert_eq!(read(query).expect_err(query).key, key);
        }
    }
}
