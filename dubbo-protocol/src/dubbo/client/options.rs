//! What a URL says about connections, read once when a service is referred to.

use std::time::Duration;

use dubbo_core::url::{Url, UrlError};

use super::super::parameters::{Heartbeat, payload_limit};
use crate::endpoint::options;

/// How connections to one address are made and kept. References that agree on it share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ConnectOptions {
    /// `connections`: how many.
    pub(super) connections: usize,
    /// `connect.timeout`: how long an attempt may take.
    pub(super) timeout: Duration,
    /// When a silent peer is asked for a sign of life, and when it is given up.
    pub(super) heartbeat: Heartbeat,
    /// `payload`: how many bytes the body of a request or a response may have.
    pub(super) payload: usize,
}

impl ConnectOptions {
    /// Reads them from `url`.
    ///
    /// # Errors
    ///
    /// A value that is none, or that could only fail every call.
    pub(super) fn read(url: &Url) -> Result<Self, UrlError> {
        Ok(Self {
            connections: options::connections(url)?,
            timeout: options::connect_timeout(url)?,
            heartbeat: Heartbeat::of(url)?,
            payload: payload_limit(url)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ConnectOptions, UrlError> {
        let url: Url = format!("dubbo://h:1/x.Y?{query}").parse().expect(query);
        ConnectOptions::read(&url)
    }

    #[test]
    fn every_key_is_read_and_has_a_default() {
        let seconds = Duration::from_secs;
        for (query, connections, timeout, heartbeat, payload) in [
            ("", 1, seconds(3), seconds(60), 8 << 20),
            (
                "connections=4&connect.timeout=500&heartbeat=2s&payload=16777216",
                4,
                Duration::from_millis(500),
                seconds(2),
                16 << 20,
            ),
        ] {
            assert_eq!(
                read(query).expect(query),
                ConnectOptions {
                    connections,
                    timeout,
                    heartbeat: Heartbeat {
                        interval: Some(heartbeat),
                        timeout: Some(heartbeat * 3),
                    },
                    payload,
                }
            );
        }
    }

    #[test]
    fn values_that_cannot_work_are_refused_by_name() {
        for (query, key) in [
            ("connections=10000", "connections"),
            ("connect.timeout=0", "connect.timeout"),
            ("heartbeat=x", "heartbeat"),
            ("heartbeat=1000&heartbeat.timeout=1999", "heartbeat.timeout"),
            ("payload=much", "payload"),
        ] {
            assert_eq!(read(query).expect_err(query).key, key);
        }
    }
}
