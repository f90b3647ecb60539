//! What a registry's URL says about the connection.

use std::{fmt, time::Duration};

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

use super::tls::Tls;

/// Where the members are and how to speak to them. Those whose options are equal share a client.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::etcd) struct Options {
    /// What messages call them.
    scheme: String,
    /// `host:port` of each member.
    pub(super) members: Vec<String>,
    /// User and password.
    pub(super) login: Option<(String, String)>,
    pub(super) tls: Option<Tls>,
    /// How long the members keep what a silent client has shown.
    pub(super) session: Duration,
    /// How long a request may take.
    pub(super) timeout: Duration,
}

impl Options {
    /// Reads the options of a registry's URL, and has a look at the files that it names.
    pub(in crate::etcd) fn of_url(url: &Url) -> Result<Self, BoxError> {
        if !url.path().is_empty() {
            return Err(format!(
                "`{}` has the path `/{}` after the address, which Dubbo has no use for: \
                 the parameter `group` says below which key everything stands",
                url.protocol(),
                url.path()
            )
            .into());
        }
        let session = url.get(&SESSION)?;
        let timeout = url.get(&TIMEOUT)?;
        for (key, value, least) in [
            (SESSION.name, session, SHORTEST_SESSION),
            (TIMEOUT.name, timeout, Duration::from_millis(1)),
        ] {
            if value < least || value > LONGEST {
                return Err(format!(
                    "parameter `{key}` is {value:?}, where {least:?} to {LONGEST:?} make sense"
                )
                .into());
            }
        }
        let login = match (url.username(), url.password()) {
            ("", "") => None,
            ("", _) => return Err("there is a password, and no user that it is of".into()),
            (user, password) => Some((user.to_owned(), password.to_owned())),
        };
        let tls = Tls::of_url(url)?;
        if let Some(tls) = &tls {
            tls.load()?;
        }
        Ok(Self {
            scheme: url.protocol().to_owned(),
            members: members(url),
            login,
            tls,
            session,
            timeout,
        })
    }

    /// What tells two clients apart. It has the password in it.
    pub(in crate::etcd) fn key(&self) -> String {
        let Self {
            scheme: _,
            members,
            login,
            tls,
            session,
            timeout,
        } = self;
        format!("{members:?} {login:?} {tls:?} {session:?} {timeout:?}")
    }

    /// What messages call the members.
    pub(super) fn address(&self) -> String {
        format!("{}://{}", self.scheme, self.members.join(","))
    }

    /// The length of a session as etcd counts it.
    pub(super) fn session_seconds(&self) -> i64 {
        let seconds = self.session.as_millis().div_ceil(1000);
        seconds.try_into().unwrap_or(i64::MAX)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}

/// The host of `url` and its backups, each with a port.
fn members(url: &Url) -> Vec<String> {
    let address = url.address();
    let backups = url.param("backup").unwrap_or_default().split(',');
    let named = address.split(',').chain(backups).map(str::trim);
    let mut members: Vec<String> = Vec::new();
    for member in named.filter(|member| !member.is_empty()) {
        let has_port = member
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
            && !member.ends_with(']');
        let member = if has_port {
            member.to_owned()
        } else {
            format!("{member}:{PORT}")
        };
        if !members.contains(&member) {
            members.push(member);
        }
    }
    members
}

/// dubbo-go's default; it cannot be set there.
const SESSION: Key<Duration> = Key {
    name: "session",
    default: || Duration::from_secs(30),
};

/// dubbo-go's default.
const TIMEOUT: Key<Duration> = Key {
    name: "timeout",
    default: || Duration::from_secs(5),
};

/// etcd counts whole seconds.
const SHORTEST_SESSION: Duration = Duration::from_secs(1);

const LONGEST: Duration = Duration::from_hours(24);

const PORT: u16 = 2379;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> Result<Options, String> {
        let url: Url = url.parse().expect(url);
        Options::of_url(&url).map_err(|error| error.to_string())
    }

    #[test]
    fn members_are_the_host_and_its_backups() {
        for (url, want) in [
            ("etcdv3://h", &["h:2379"][..]),
            ("etcdv3://h:1?backup=i:2,%20j,", &["h:1", "i:2", "j:2379"]),
            (
                "etcdv3://[::1]:1?backup=[::2]:3,[::3]",
                &["[::1]:1", "[::2]:3", "[::3]:2379"],
            ),
            ("etcdv3://a:1,b:2", &["a:1", "b:2"]),
            ("etcdv3://a:1?backup=a:1", &["a:1"]),
        ] {
            assert_eq!(options(url).expect(url).members, want, "{url}");
        }
    }

    #[test]
    fn times_are_dubbos() {
        let times = |url: &str| {
            let options = options(url).expect(url);
            (options.session_seconds(), options.timeout)
        };
        assert_eq!(times("etcdv3://h"), (30, Duration::from_secs(5)));
        assert_eq!(
            times("etcdv3://h?session=4001&timeout=1500ms"),
            (5, Duration::from_millis(1500))
        );
    }

    #[test]
    fn only_those_with_equal_options_share() {
        let key = |rest: &str| options(&format!("etcdv3://{rest}")).expect(rest).key();
        assert_eq!(key("h?group=/g1"), key("h:2379?group=/g2"));
        for other in ["i", "u:p@h", "h?backup=i", "h?session=1s", "h?timeout=1s"] {
            assert_ne!(key("h"), key(other), "{other}");
        }
        assert_ne!(key("u:p@h"), key("u:q@h"));
        let alias: Url = "etcd://h".parse().expect("valid");
        assert_eq!(Options::of_url(&alias).expect("valid").key(), key("h"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (url, want) in [
            (
                "etcdv3://h/prefix",
                "`/prefix` after the address, which Dubbo has no use for",
            ),
            ("etcdv3://h?session=999ms", "`session` is 999ms"),
            ("etcdv3://h?timeout=0", "`timeout` is 0ns"),
            ("etcdv3://h?timeout=25h", "`timeout` is 90000s"),
            ("etcdv3://h?timeout=soon", "`timeout` is \"soon\""),
            ("etcdv3://:secret@h", "no user that it is of"),
            ("etcdv3://h?tls-cert-file=c.pem", "`ca-cert-file`"),
            ("etcdv3://h?ca-cert-file=/no/such.pem", "/no/such.pem"),
        ] {
            let error = options(url).expect_err(url);
            assert!(error.contains(want), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_password_is_in_no_message() {
        let options = options("etcdv3://u:secret@h").expect("valid");
        let messages = format!("{options:?} {}", options.address());
        assert!(!messages.contains("secret"), "{messages}");
    }
}
