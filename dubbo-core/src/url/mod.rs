//! Dubbo's URL: how a provider, a consumer or a registry is written down.
//!
//! `protocol://[user[:password]@]host[:port][/path][?key=value&…]` (`docs/spec/registry.md` §1). It is the form for
//! the wire, registries and logs only: whoever needs an option on a hot path reads it from the URL once, into a typed
//! value.

pub mod keys;
mod parse;
mod value;

use std::{fmt, str::FromStr, sync::Arc};

pub use parse::UrlParseError;
pub use value::{Key, UrlValue};

use crate::{service::ServiceKey, text_map::TextMap};

/// An immutable URL. Cloning it copies a pointer; changing it makes a new one, which has what stays in common with it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Url(Arc<Parts>);

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Parts {
    protocol: Arc<str>,
    /// User name and password. Few have one.
    user: Option<Box<(String, String)>>,
    host: Arc<str>,
    port: Option<u16>,
    path: Arc<str>,
    params: TextMap,
}

impl Url {
    /// A URL of `protocol` at `host`, without port, path and parameters. IPv6 hosts are given without brackets.
    pub fn new(protocol: impl Into<Arc<str>>, host: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(Parts {
            protocol: protocol.into(),
            host: host.into(),
            ..Parts::default()
        }))
    }

    /// Reads a whole URL that was percent-encoded once more, as registries store it.
    pub fn decode(encoded: &str) -> Result<Self, UrlParseError> {
        parse::decode_component(encoded)?.parse()
    }

    /// The URL percent-encoded as a whole, as registries store it: Java and Go read it to the same text.
    pub fn encode(&self) -> String {
        parse::encode_component(&self.to_string())
    }

    /// The protocol, such as `tri`.
    pub fn protocol(&self) -> &str {
        &self.0.protocol
    }

    /// The user name; empty when there is none.
    pub fn username(&self) -> &str {
        self.0.user.as_ref().map_or("", |user| &user.0)
    }

    /// The password; empty when there is none.
    pub fn password(&self) -> &str {
        self.0.user.as_ref().map_or("", |user| &user.1)
    }

    /// The host, without brackets.
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// The port, if one is written.
    pub fn port(&self) -> Option<u16> {
        self.0.port
    }

    /// `host`, or `host:port` when there is a port; IPv6 in brackets.
    pub fn address(&self) -> String {
        let host = parse::bracketed(&self.0.host);
        match self.0.port {
            Some(port) => format!("{host}:{port}"),
            None => host.into_owned(),
        }
    }

    /// `protocol://host:port`: what messages call the server or the program that it names. No user, password, path or
    /// parameter is in it.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.protocol(), self.address())
    }

    /// The path, without its leading slash.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// One parameter. An empty value is a value.
    pub fn param(&self, key: &str) -> Option<&str> {
        self.0.params.get(key)
    }

    /// All parameters, by key.
    pub fn params(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.params.iter()
    }

    /// A parameter as a typed value; its default when it is absent or empty.
    ///
    /// # Errors
    ///
    /// A value that does not parse is an error that names key and value, never the default.
    pub fn get<T: UrlValue>(&self, key: &Key<T>) -> Result<T, UrlError> {
        self.read(key.name).map(|v| v.unwrap_or_else(key.default))
    }

    /// A parameter for one method: `methods.{method}.{key}` (Go), `{method}.{key}` (Java), then `{key}`.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn get_for<T: UrlValue>(&self, method: &str, key: &Key<T>) -> Result<T, UrlError> {
        for name in [
            format!("methods.{method}.{}", key.name),
            format!("{method}.{}", key.name),
        ] {
            if let Some(value) = self.read(&name)? {
                return Ok(value);
            }
        }
        self.get(key)
    }

    /// The service it is about: `interface` (or the path), `group` and `version`.
    pub fn service_key(&self) -> ServiceKey {
        let interface = self.param("interface").unwrap_or_else(|| self.path());
        ServiceKey::new(interface)
            .with_group(self.param("group").unwrap_or_default())
            .with_version(self.param("version").unwrap_or_default())
    }

    /// The same URL with another protocol.
    pub fn with_protocol(&self, protocol: impl Into<Arc<str>>) -> Self {
        self.changed(|parts| parts.protocol = protocol.into())
    }

    /// The same URL at another host.
    pub fn with_host(&self, host: impl Into<Arc<str>>) -> Self {
        self.changed(|parts| parts.host = host.into())
    }

    /// The same URL at another port.
    pub fn with_port(&self, port: u16) -> Self {
        self.changed(|parts| parts.port = Some(port))
    }

    /// The same URL with another path.
    pub fn with_path(&self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.changed(|parts| parts.path = path.trim_start_matches('/').into())
    }

    /// The same URL for this user.
    pub fn with_credentials(
        &self,
        username: impl Into<String>,
        password: impl Into<String>,
    ) -> Self {
        self.changed(|parts| {
            let user = (username.into(), password.into());
            let is_none = user.0.is_empty() && user.1.is_empty();
            parts.user = (!is_none).then(|| Box::new(user));
        })
    }

    /// The same URL with one parameter set.
    pub fn with_param(&self, key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        self.changed(|parts| parts.params.insert(key, value))
    }

    /// The same URL with several parameters set.
    pub fn with_params<K: Into<Arc<str>>, V: Into<Arc<str>>>(
        &self,
        params: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.changed(|parts| parts.params.extend(params))
    }

    /// The same URL without one parameter.
    pub fn without_param(&self, key: &str) -> Self {
        self.changed(|parts| {
            parts.params.remove(key);
        })
    }

    fn read<T: UrlValue>(&self, name: &str) -> Result<Option<T>, UrlError> {
        match self.param(name) {
            None | Some("") => Ok(None),
            Some(text) => T::parse(text).map(Some).map_err(|reason| UrlError {
                key: name.to_owned(),
                value: text.to_owned(),
                reason,
            }),
        }
    }

    fn changed(&self, change: impl FnOnce(&mut Parts)) -> Self {
        let mut parts = Parts::clone(&self.0);
        change(&mut parts);
        Self(Arc::new(parts))
    }
}

impl fmt::Display for Url {
    /// The plain text. Parameter values keep their characters, but for those that would end them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, self.password())
    }
}

impl fmt::Debug for Url {
    /// As `Display`, with the password hidden.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = if self.password().is_empty() {
            ""
        } else {
            "***"
        };
        self.write(f, hidden)
    }
}

impl FromStr for Url {
    type Err = UrlParseError;

    fn from_str(text: &str) -> Result<Self, UrlParseError> {
        parse::parse(text).map(|parts| Self(Arc::new(parts)))
    }
}

impl Url {
    fn write(&self, f: &mut fmt::Formatter<'_>, password: &str) -> fmt::Result {
        let parts = &self.0;
        if !parts.protocol.is_empty() {
            write!(f, "{}://", parts.protocol)?;
        }
        if !self.username().is_empty() || !password.is_empty() {
            f.write_str(&parse::escape_name(self.username()))?;
            if !password.is_empty() {
                write!(f, ":{}", parse::escape_name(password))?;
            }
            f.write_str("@")?;
        }
        f.write_str(&self.address())?;
        if !parts.path.is_empty() {
            write!(f, "/{}", parts.path)?;
        }
        for (index, (key, value)) in parts.params.iter().enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            write!(
                f,
                "{mark}{}={}",
                parse::escape_name(key),
                parse::escape_value(value)
            )?;
        }
        Ok(())
    }
}

/// A parameter whose value is not what its key needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parameter `{key}` is {value:?}: {reason}")]
pub struct UrlError {
    /// The parameter.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_messages_call_it_has_no_secret_in_it() {
        for (text, want) in [
            ("nacos://u:p@h:1/a/b?x=y", "nacos://h:1"),
            ("tri://[::1]:1", "tri://[::1]:1"),
            ("memory://here", "memory://here"),
        ] {
            assert_eq!(text.parse::<Url>().expect(text).origin(), want);
        }
    }

    #[test]
    fn a_url_reads_back_what_it_writes() {
        for text in [
            "tri://10.0.0.1:50051/greet.Greeter?group=g&interface=greet.Greeter&version=1.0",
            "tri://[::1]:50051/x.Y?a=",
            "nacos://user:secret@10.0.0.1:8848",
            "nacos://:secret@10.0.0.1:8848",
            "memory://local",
            "10.0.0.1:20880",
            "tri://h/x?list=a,b&odd=a%26b%25c",
            "tri://us%3Aer:p%2Fw@h/x?k%3D=v=1/2:3",
        ] {
            let url: Url = text.parse().expect(text);
            assert_eq!(url.to_string(), text);
            assert_eq!(Url::decode(&url.encode()).expect(text), url);
        }
    }

    #[test]
    fn a_registry_node_is_encoded_as_java_and_go_read_it() {
        let url: Url = "tri://10.0.0.1:50051/x.Y?side=provider&methods=*&v=a~b"
            .parse()
            .expect("valid");
        assert_eq!(
            url.encode(),
            "tri%3A%2F%2F10.0.0.1%3A50051%2Fx.Y%3Fmethods%3D%2A%26side%3Dprovider%26v%3Da%7Eb"
        );
    }

    #[test]
    fn several_addresses_become_one_and_its_backups() {
        let url: Url = "zookeeper://a:2181, b:2182 ,c?x=1".parse().expect("valid");
        assert_eq!((url.host(), url.port()), ("a", Some(2181)));
        assert_eq!(url.param("backup"), Some("b:2182,c"));
    }

    #[test]
    fn broken_text_says_what_is_wrong() {
        for (text, want) in [
            ("", "it is empty"),
            ("tri://", "no host"),
            ("tri://h:port/x", "port \"port\""),
            ("tri://h:70000", "port \"70000\""),
            ("tri://[::1", "`[` without `]`"),
            ("tri://[::1]x", "\"x\" after `]`"),
            ("tri://h]", "is no host"),
            ("tri://h o", "is no host"),
            ("tri://h/a b", "has a space"),
            ("://h", "no protocol"),
            ("tri://h/?a=%zz", "%zz"),
            ("tri://h/?a=%ff", "not UTF-8"),
        ] {
            let error = text.parse::<Url>().expect_err(text).to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn typed_parameters_never_fall_back_from_a_bad_value() {
        let url: Url =
            "tri://h?timeout=1500&retries=x&methods.pay.timeout=2s&get.timeout=250ms&empty="
                .parse()
                .expect("valid");
        let timeout = |method| url.get_for(method, &keys::TIMEOUT);
        assert_eq!(timeout("other"), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(timeout("pay"), Ok(Some(Duration::from_secs(2))));
        assert_eq!(timeout("get"), Ok(Some(Duration::from_millis(250))));
        let error = url.get(&keys::RETRIES).expect_err("not a number");
        assert_eq!((error.key.as_str(), error.value.as_str()), ("retries", "x"));
    }

    #[test]
    fn a_password_is_never_in_a_log() {
        let url: Url = "nacos://user:secret@h".parse().expect("valid");
        assert!(!format!("{url:?}").contains("secret"));
    }
}
