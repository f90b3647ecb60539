//! What a URL says about connecting, whatever is spoken then.

use std::time::Duration;

use dubbo_core::url::{Key, Url, UrlError};

/// `connections`: how many connections to keep to the address. Java's 0, "shared", is one.
///
/// # Errors
///
/// A value that is none, or too many.
pub(crate) fn connections(url: &Url) -> Result<usize, UrlError> {
    let connections = url.get(&CONNECTIONS)?;
    if connections > MAX_CONNECTIONS {
        return Err(refused(
            url,
            &CONNECTIONS,
            format!("expected at most {MAX_CONNECTIONS}; calls share a connection"),
        ));
    }
    Ok(connections.max(1) as usize)
}

/// `connect.timeout`: how long an attempt to connect may take, until the peer is known to be there.
///
/// # Errors
///
/// A value that is none, or 0, which could only fail every attempt.
pub(crate) fn connect_timeout(url: &Url) -> Result<Duration, UrlError> {
    positive(url, &CONNECT_TIMEOUT)
}

/// A duration of more than 0.
///
/// # Errors
///
/// It is no duration, or 0.
pub(crate) fn positive(url: &Url, key: &Key<Duration>) -> Result<Duration, UrlError> {
    let value = url.get(key)?;
    if value.is_zero() {
        return Err(refused(url, key, "expected more than 0".to_owned()));
    }
    Ok(value)
}

/// What `url` says under `key` cannot be used.
pub(crate) fn refused<T>(url: &Url, key: &Key<T>, reason: String) -> UrlError {
    UrlError {
        key: key.name.to_owned(),
        value: url.param(key.name).unwrap_or_default().to_owned(),
        reason,
    }
}

const CONNECTIONS: Key<u32> = Key {
    name: "connections",
    default: || 1,
};
const CONNECT_TIMEOUT: Key<Duration> = Key {
    name: "connect.timeout",
    default: || Duration::from_secs(3),
};
const MAX_CONNECTIONS: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<(usize, Duration), UrlError> {
        let url: Url = format!("tri://h:1/x.Y?{query}").parse().expect(query);
        Ok((connections(&url)?, connect_timeout(&url)?))
    }

    #[test]
    fn one_connection_is_kept_unless_more_are_asked_for() {
        let seconds = Duration::from_secs;
        assert_eq!(read("").expect("no parameter"), (1, seconds(3)));
        assert_eq!(read("connections=0").expect("shared"), (1, seconds(3)));
        let both = read("connections=4&connect.timeout=500");
        assert_eq!(both.expect("valid"), (4, Duration::from_millis(500)));
    }

    #[test]
    fn values_that_cannot_work_are_refused_by_name() {
        for (query, key) in [
            ("connections=-1", "connections"),
            ("connections=10000", "connections"),
            ("connect.timeout=0", "connect.timeout"),
            ("connect.timeout=soon", "connect.timeout"),
        ] {
            assert_eq!(read(query).expect_err(query).key, key);
        }
    }
}
