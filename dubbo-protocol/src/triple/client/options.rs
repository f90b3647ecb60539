//! What a URL says about connections, read once when a service is referred to.

use std::time::Duration;

use dubbo_core::url::{Key, Url, UrlError, UrlValue};

use crate::{endpoint::options, triple::silence::KeepAlive};

/// How connections to one address are made and kept. References that agree on it share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ConnectOptions {
    /// `connections`: how many. Java's 0, "shared", is one. Over HTTP/1.1 it is the most that there may be.
    pub(super) connections: usize,
    /// `connect.timeout`: how long an attempt may take, from the first packet to the peer's SETTINGS.
    pub(super) timeout: Duration,
    /// Whether and how a silent peer is probed: `keep-alive-interval` and `keep-alive-timeout`. HTTP/1.1 has no probe: a
    /// connection that was silent for the interval is not trusted with a call, and replaced.
    pub(super) keep_alive: Option<KeepAlive>,
}

impl ConnectOptions {
    /// Reads them from `url`, for connections of `version`.
    ///
    /// # Errors
    ///
    /// A value that is none, or that could only fail every call.
    pub(super) fn read(url: &Url, version: HttpVersion) -> Result<Self, UrlError> {
        let interval = url.get(&KEEP_ALIVE_INTERVAL)?;
        let connections = options::connections(url)?;
        let is_set = url.param("connections").is_some();
        Ok(Self {
            connections: match version {
                HttpVersion::Http1 if !is_set => HTTP1_CONNECTIONS,
                _ => connections,
            },
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

/// `triple.http-version`: over what calls travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// `1.1`: a connection carries one call at a time.
    Http1,
    /// `2`: a connection carries all calls.
    Http2,
}

impl HttpVersion {
    /// What `url` says.
    ///
    /// # Errors
    ///
    /// It is none of them.
    pub(super) fn read(url: &Url) -> Result<Self, UrlError> {
        url.get(&HTTP_VERSION)
    }
}

impl UrlValue for HttpVersion {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "2" => Ok(Self::Http2),
            "1.1" => Ok(Self::Http1),
            _ => Err("expected `2` or `1.1`".to_owned()),
        }
    }
}

const HTTP_VERSION: Key<HttpVersion> = Key {
    name: "triple.http-version",
    default: || HttpVersion::Http2,
};

/// How many connections of HTTP/1.1 there may be to an address where `connections` says nothing: as many calls at once.
const HTTP1_CONNECTIONS: usize = 32;

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
        ConnectOptions::read(&url, HttpVersion::read(&url)?)
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
    fn calls_over_http_1_have_a_connection_each_up_to_a_bound() {
        for (query, want) in [
            ("triple.http-version=2", 1),
            ("triple.http-version=1.1", 32),
            ("triple.http-version=1.1&connections=3", 3),
            ("triple.http-version=1.1&connections=0", 1),
        ] {
            assert_eq!(read(query).expect(query).connections, want, "{query}");
        }
    }

    #[test]
    fn values_that_cannot_work_are_refused_by_name() {
        for (query, key) in [
            ("triple.http-version=1", "triple.http-version"),
            ("triple.http-version=3", "triple.http-version"),
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
