//! What a registry's URL says about the connection.

use std::{fmt, time::Duration};

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

/// Where the ensemble is and how to speak to it. Those whose options are equal share a client.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::zookeeper) struct Options {
    /// `host:port` of each server.
    pub(super) servers: Vec<String>,
    /// `user:password`.
    pub(super) login: Option<String>,
    /// How long the servers keep what a silent client has shown.
    pub(super) session: Duration,
    /// How long a request may take, and how long a server may be silent before another one is tried.
    pub(super) timeout: Duration,
    /// The most bytes that a request may have.
    pub(super) largest: usize,
}

impl Options {
    /// Reads the options of a registry's URL.
    pub(in crate::zookeeper) fn of_url(url: &Url) -> Result<Self, BoxError> {
        if !url.path().is_empty() {
            return Err(format!(
                "`{}` names the node `/{}` after the address, which Dubbo has no use for: \
                 the parameter `group` says below which node everything stands",
                url.protocol(),
                url.path()
            )
            .into());
        }
        let session = url.get(&SESSION)?;
        let timeout = url.get(&TIMEOUT)?;
        for (key, value) in [(SESSION.name, session), (TIMEOUT.name, timeout)] {
            if value < Duration::from_millis(1) || value > LONGEST {
                return Err(format!(
                    "parameter `{key}` is {value:?}, where 1 ms to {LONGEST:?} make sense"
                )
                .into());
            }
        }
        let first = url.with_port(url.port().unwrap_or(PORT)).address();
        let backups = url.param("backup").unwrap_or_default().split(',');
        let backups = backups.map(str::trim).filter(|server| !server.is_empty());
        let has_login = !url.username().is_empty() || !url.password().is_empty();
        Ok(Self {
            servers: std::iter::once(first)
                .chain(backups.map(str::to_owned))
                .collect(),
            login: has_login.then(|| format!("{}:{}", url.username(), url.password())),
            session,
            timeout,
            largest: url.get(&LARGEST)?,
        })
    }

    /// What tells two clients apart. It has the password in it.
    pub(in crate::zookeeper) fn key(&self) -> String {
        let Self {
            servers,
            login,
            session,
            timeout,
            largest,
        } = self;
        format!("{servers:?} {login:?} {session:?} {timeout:?} {largest}")
    }

    /// What messages call the ensemble.
    pub(super) fn address(&self) -> String {
        format!("zookeeper://{}", self.servers.join(","))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}

/// Java's name and default.
const SESSION: Key<Duration> = Key {
    name: "session",
    default: || Duration::from_mins(1),
};

/// dubbo-go's default. Java waits 30 s.
const TIMEOUT: Key<Duration> = Key {
    name: "timeout",
    default: || Duration::from_secs(5),
};

/// ZooKeeper's own name and default: a server drops the connection on which more arrives.
const LARGEST: Key<usize> = Key {
    name: "jute.maxbuffer",
    default: || 1_048_575,
};

/// A session's length is a 32-bit number of milliseconds on the wire.
const LONGEST: Duration = Duration::from_hours(24);

const PORT: u16 = 2181;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> Result<Options, String> {
        let url: Url = url.parse().expect(url);
        Options::of_url(&url).map_err(|error| error.to_string())
    }

    #[test]
    fn servers_are_the_host_and_its_backups() {
        for (url, want) in [
            ("zookeeper://h", &["h:2181"][..]),
            ("zookeeper://h:1?backup=i:2,%20j", &["h:1", "i:2", "j"]),
            (
                "zookeeper://[::1]:1?backup=[::2]:3",
                &["[::1]:1", "[::2]:3"],
            ),
            ("zookeeper://a:1,b:2", &["a:1", "b:2"]),
        ] {
            assert_eq!(options(url).expect(url).servers, want, "{url}");
        }
    }

    #[test]
    fn times_are_dubbos() {
        let seconds = |url: &str| {
            let options = options(url).expect(url);
            (options.session.as_secs_f64(), options.timeout.as_secs_f64())
        };
        assert_eq!(seconds("zookeeper://h"), (60.0, 5.0));
        assert_eq!(
            seconds("zookeeper://h?session=4000&timeout=1500ms"),
            (4.0, 1.5)
        );
    }

    #[test]
    fn only_those_with_equal_options_share() {
        let key = |rest: &str| options(&format!("zookeeper://{rest}")).expect(rest).key();
        assert_eq!(key("h?group=/g1"), key("h:2181?group=/g2"));
        for other in [
            "i",
            "u@h",
            "u:p@h",
            "h?backup=i",
            "h?session=1s",
            "h?timeout=1s",
        ] {
            assert_ne!(key("h"), key(other), "{other}");
        }
        assert_ne!(key("u:p@h"), key("u:q@h"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (url, want) in [
            (
                "zookeeper://h/chroot",
                "`/chroot` after the address, which Dubbo has no use for",
            ),
            ("zookeeper://h?session=0", "`session` is 0ns"),
            ("zookeeper://h?timeout=25h", "`timeout` is 90000s"),
            ("zookeeper://h?timeout=soon", "`timeout` is \"soon\""),
            ("zookeeper://h?jute.maxbuffer=1m", "`jute.maxbuffer`"),
        ] {
            let error = options(url).expect_err(url);
            assert!(error.contains(want), "{url}: {error}");
        }
    }

    #[test]
    fn a_password_is_in_no_message() {
        let options = options("zookeeper://u:secret@h").expect("valid");
        let messages = format!("{options:?} {}", options.address());
        assert!(!messages.contains("secret"), "{messages}");
    }
}
