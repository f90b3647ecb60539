//! What holds for all connections of a port.

use std::time::Duration;

use dubbo_core::url::{Key, Url, UrlError, UrlValue};

use crate::dubbo::parameters::Heartbeat;

/// The settings of a port, from the URL of a service on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    /// After how much silence a connection is closed.
    pub(super) silence: Option<Duration>,
    /// How many connections there may be.
    pub(super) connections: usize,
    /// How many calls of one connection may be under way. Beyond, it is not read from.
    pub(super) connection_calls: usize,
    /// How many calls of all connections may be under way. Those beyond are refused.
    pub(super) calls: usize,
}

impl Settings {
    /// Reads `heartbeat` and `heartbeat.timeout`; `accepts`, `max-calls` (any number where they are not set) and
    /// `max-connection-calls` (1000), of which 0 is any number.
    ///
    /// # Errors
    ///
    /// A parameter with a bad value.
    pub(super) fn of(url: &Url) -> Result<Self, UrlError> {
        Ok(Self {
            silence: Heartbeat::of(url)?.timeout,
            connections: url.get(&ACCEPTS)?.0,
            connection_calls: url.get(&CONNECTION_CALLS)?.0,
            calls: url.get(&CALLS)?.0,
        })
    }
}

/// Java's name; 0 is no limit.
const ACCEPTS: Key<Limit> = Key {
    name: "accepts",
    default: || Limit(usize::MAX),
};

const CONNECTION_CALLS: Key<Limit> = Key {
    name: "max-connection-calls",
    default: || Limit(1_000),
};

const CALLS: Key<Limit> = Key {
    name: "max-calls",
    default: || Limit(usize::MAX),
};

/// A number of things; 0 is any number.
struct Limit(usize);

impl UrlValue for Limit {
    fn parse(text: &str) -> Result<Self, String> {
        match usize::parse(text)? {
            0 => Ok(Self(usize::MAX)),
            limit => Ok(Self(limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Settings, UrlError> {
        let url: Url = format!("dubbo://h:1/x.Y?{query}").parse().expect(query);
        Settings::of(&url)
    }

    #[test]
    fn every_parameter_is_read() {
        let defaults = Settings {
            silence: Some(Duration::from_mins(3)),
            connections: usize::MAX,
            connection_calls: 1_000,
            calls: usize::MAX,
        };
        assert_eq!(of(""), Ok(defaults));
        assert_eq!(
            of("heartbeat=1000&accepts=5&max-connection-calls=6&max-calls=7"),
            Ok(Settings {
                silence: Some(Duration::from_secs(3)),
                connections: 5,
                connection_calls: 6,
                calls: 7,
            })
        );
        assert_eq!(of("accepts=0&max-calls=0"), Ok(defaults));
        for key in ["heartbeat", "accepts", "max-connection-calls", "max-calls"] {
            let error = of(&format!("{key}=-1")).expect_err(key);
            assert_eq!(error.key, key);
        }
    }
}
