//! What a registry's URL says about the connection.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

use crate::nacos::layout::limits;

/// Where the servers are and how to speak to them. Those whose options are equal share a client.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::nacos) struct Options {
    /// At least one.
    pub(super) servers: Vec<Server>,
    /// The namespace's id; empty for the public one.
    pub(super) namespace: String,
    /// User and password.
    pub(super) login: Option<(String, String)>,
    /// How long a request may take.
    pub(super) timeout: Duration,
    /// How often the server is asked for what it does not tell by itself.
    pub(super) poll: Duration,
    /// How long a server may say nothing until its client is given up.
    pub(super) session: Duration,
}

impl Options {
    /// Reads the options of a registry's URL.
    pub(in crate::nacos) fn of_url(url: &Url) -> Result<Self, BoxError> {
        let protocol = url.protocol();
        if !url.path().is_empty() {
            return Err(format!(
                "`{protocol}` names the path `/{}` after the address: clients speak gRPC, which knows none, and the \
                 one of logins is always `/nacos`",
                url.path()
            )
            .into());
        }
        for (keys, why) in REFUSED {
            if let Some((key, _)) = url.params().find(|(key, _)| keys.contains(key)) {
                return Err(
                    format!("`{protocol}` does not know the parameter `{key}`: {why}").into(),
                );
            }
        }
        let [timeout, poll, session] = [&TIMEOUT, &POLL, &SESSION].map(|key| url.get(key));
        let (timeout, poll, session) = (timeout?, poll?, session?);
        for (key, value) in [
            (TIMEOUT.name, timeout),
            (POLL.name, poll),
            (SESSION.name, session),
        ] {
            if value < Duration::from_millis(1) || value > LONGEST {
                return Err(format!(
                    "parameter `{key}` is {value:?}, where 1 ms to {LONGEST:?} make sense"
                )
                .into());
            }
        }
        let first = url.with_port(url.port().unwrap_or(PORT)).address();
        let backups = url.param("backup").unwrap_or_default();
        let servers = first.split(',').chain(backups.split(','));
        let servers = servers.map(str::trim).filter(|server| !server.is_empty());
        let namespace = url.param("namespace").unwrap_or_default();
        let namespace = if namespace == PUBLIC { "" } else { namespace };
        limits::namespace(namespace)?;
        Ok(Self {
            servers: servers.map(str::parse).collect::<Result<_, _>>()?,
            namespace: namespace.to_owned(),
            login: login(url)?,
            timeout,
            poll,
            session,
        })
    }

    /// What tells two clients apart. It has the password in it.
    pub(in crate::nacos) fn key(&self) -> String {
        let Self {
            servers,
            namespace,
            login,
            timeout,
            poll,
            session,
        } = self;
        format!("{servers:?} {namespace} {login:?} {timeout:?} {poll:?} {session:?}")
    }

    /// What messages call the servers.
    pub(super) fn address(&self) -> String {
        format!("nacos://{}", self.server_list())
    }

    /// `host:port,host:port`.
    pub(super) fn server_list(&self) -> String {
        let servers: Vec<_> = self.servers.iter().map(ToString::to_string).collect();
        servers.join(",")
    }

    /// Where in the list to begin, so that not all programs have the same server.
    pub(super) fn any_server(&self) -> usize {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.subsec_micros());
        now as usize % self.servers.len()
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    /// In brackets if it is an address of IPv6.
    host: String,
    /// Of HTTP.
    port: u16,
}

impl Server {
    /// Where it is called over HTTP.
    pub(super) fn http(&self) -> (&str, u16) {
        (self.plain_host(), self.port)
    }

    /// Where it is called over gRPC.
    pub(super) fn grpc(&self) -> (&str, u16) {
        (self.plain_host(), self.port + APART)
    }

    /// [`grpc`](Self::grpc) in messages and headers.
    pub(super) fn grpc_name(&self) -> String {
        format!("{}:{}", self.host, self.port + APART)
    }

    fn plain_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// `host:port`.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Server {
    type Err = BoxError;

    fn from_str(text: &str) -> Result<Self, BoxError> {
        let is_bare = !text.contains(':') || text.ends_with(']');
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !is_bare => (host, port.parse().ok()),
            _ => (text, Some(PORT)),
        };
        let name = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let is_host = match name {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(is_legal),
        };
        match port {
            Some(port @ 1..=HIGHEST) if is_host => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            _ => Err(format!(
                "`{text}` is no `host:port` of a Nacos server: the port is that of HTTP, 1 to {HIGHEST}, and gRPC is {APART} \
                 above it"
            )
            .into()),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}

fn login(url: &Url) -> Result<Option<(String, String)>, BoxError> {
    match (url.username(), url.password()) {
        ("", "") => Ok(None),
        (user, password) if user.is_empty() || password.is_empty() => {
            let (given, missing) = if user.is_empty() {
                ("a password", "user")
            } else {
                ("a user", "password")
            };
            let protocol = url.protocol();
            Err(format!("`{protocol}` has {given} and no {missing}: a login takes both").into())
        }
        (user, password) => Ok(Some((user.to_owned(), password.to_owned()))),
    }
}

/// What a gRPC port is above that of HTTP.
const APART: u16 = 1000;

/// dubbo-go's default.
const TIMEOUT: Key<Duration> = Key {
    name: "timeout",
    default: || Duration::from_secs(5),
};

/// Java looks for names of services every 30 s.
const POLL: Key<Duration> = Key {
    name: "poll-interval",
    default: || Duration::from_secs(30),
};

/// Java's name, of ZooKeeper. Servers of Nacos give up clients after about as long.
const SESSION: Key<Duration> = Key {
    name: "session",
    default: || Duration::from_secs(15),
};

const LONGEST: Duration = Duration::from_hours(24);
const PORT: u16 = 8848;
const HIGHEST: u16 = u16::MAX - APART;
const PUBLIC: &str = "public";

/// Parameters that others know and whose absence would not be noticed, and why they cannot be had.
const REFUSED: [(&[&str], &str); 4] = [
    (
        &[
            "tls.enable",
            "tls-enable",
            "ssl-enabled",
            "tls",
            "tls-ca-cert",
            "tls-cert",
            "tls-key",
            "ca-cert-path",
            "cert-chain-path",
            "private-key-path",
        ],
        "connections to Nacos are not encrypted here",
    ),
    (
        &[
            "accessKey",
            "secretKey",
            "accesskey",
            "secretkey",
            "access-key",
            "secret-key",
            "nacos.access",
            "nacos.secret",
            "ramRoleName",
        ],
        "clients log in with a user and a password, not with keys",
    ),
    (
        &["endpoint", "endpointPort"],
        "servers are not looked up at another address; name them in `address` and `backup`",
    ),
    (
        &["clusterName", "contextPath"],
        "instances are in the cluster `DEFAULT`, and the path of logins is `/nacos`",
    ),
];

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
            ("nacos://h", "h:8848"),
            ("nacos://h:1?backup=i:2,%20j", "h:1,i:2,j:8848"),
            (
                "nacos://[::1]:1?backup=[::2]:3,[::3]",
                "[::1]:1,[::2]:3,[::3]:8848",
            ),
            ("nacos://a:1,b:2", "a:1,b:2"),
        ] {
            assert_eq!(options(url).expect(url).server_list(), want, "{url}");
        }
    }

    #[test]
    fn the_public_namespace_has_no_name() {
        for (url, want) in [
            ("nacos://h", ""),
            ("nacos://h?namespace=", ""),
            ("nacos://h?namespace=public", ""),
            ("nacos://h?namespace=dev-1", "dev-1"),
        ] {
            assert_eq!(options(url).expect(url).namespace, want, "{url}");
        }
    }

    #[test]
    fn only_those_with_equal_options_share() {
        let key = |rest: &str| options(&format!("nacos://{rest}")).expect(rest).key();
        assert_eq!(key("h?group=g1"), key("h:8848?group=g2"));
        for other in [
            "i",
            "u:p@h",
            "h?backup=i",
            "h?namespace=n",
            "h?timeout=1s",
            "h?poll-interval=1s",
            "h?session=1s",
        ] {
            assert_ne!(key("h"), key(other), "{other}");
        }
        assert_ne!(key("u:p@h"), key("u:q@h"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (url, want) in [
            ("nacos://h/nacos", "`/nacos`"),
            ("nacos://h?timeout=0", "`timeout` is 0ns"),
            ("nacos://h?poll-interval=25h", "`poll-interval` is 90000s"),
            ("nacos://h?session=0", "`session` is 0ns"),
            ("nacos://h?timeout=soon", "`timeout` is \"soon\""),
            ("nacos://h?namespace=a.b", "namespace `a.b`"),
            ("nacos://u@h", "a user and no password"),
            ("nacos://:p@h", "a password and no user"),
            ("nacos://h:64536", "`h:64536` is no `host:port`"),
            ("nacos://h?backup=i:x", "`i:x` is no `host:port`"),
            ("nacos://h?backup=http://i", "`http://i` is no `host:port`"),
            ("nacos://h?backup=[x]:1", "`[x]:1` is no `host:port`"),
            ("nacos://h?tls.enable=true", "`tls.enable`: connections"),
            ("nacos://h?accessKey=k", "`accessKey`: clients log in"),
            ("nacos://h?nacos.access=k", "`nacos.access`: clients log in"),
            ("nacos://h?endpoint=e", "`endpoint`: servers are not"),
            ("nacos://h?clusterName=c", "`clusterName`: instances"),
        ] {
            let error = options(url).expect_err(url);
            assert!(error.contains(want), "{url}: {error}");
        }
    }

    #[test]
    fn a_password_is_in_no_message() {
        let options = options("nacos://u:secret@h").expect("valid");
        let messages = format!("{options:?} {}", options.address());
        assert!(!messages.contains("secret"), "{messages}");
    }
}
