//! Who is asked, and how to get there: an address, or registries.

use std::{path::PathBuf, str::FromStr, time::Duration};

use dubbo::{
    Instance, Url,
    config::{ConsumerConfig, ReferenceConfig, RegistryConfig, RegistryType, TlsConfig},
};

use crate::{duration, fail::Failure};

/// How to get to a service.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Reach {
    #[command(flatten)]
    pub(crate) registries: Registries,
    /// The group of the service
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// The version of the service
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) service_version: Option<String>,
}

/// Where providers are looked for, and for how long.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Registries {
    /// Looks for providers here: `nacos://h:p`, `zookeeper://h:p`, `etcdv3://h:p` or `file:///folder`, with `user:password@`
    /// and `?namespace=…&group=…` where there are such; may be repeated
    #[arg(long, value_name = "URL")]
    registry: Vec<Address>,
    /// How providers are looked for in these registries: by the application, by the interface, or both
    #[arg(long, value_enum, default_value = "all", value_name = "KIND")]
    registry_type: Kind,
    /// Takes registries, references and TLS from this configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The authorities that the certificates of servers must come from, as PEM; switches TLS on
    #[arg(long, value_name = "FILE")]
    ca: Option<String>,
    /// The own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<String>,
    /// The key of the own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<String>,
    /// The name that the certificate of the server must be for
    #[arg(long, value_name = "NAME", requires = "ca")]
    server_name: Option<String>,
    /// How long one attempt, one request to a registry and the wait for a provider may take
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration::parse)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    All,
    Interface,
    Service,
}

impl Reach {
    /// The options of a client of a service, which tries nothing again.
    pub(crate) fn reference(&self, target: Option<&Target>) -> ReferenceConfig {
        let mut options = ReferenceConfig::new()
            .timeout(self.registries.timeout)
            .retries(0);
        if let Some(target) = target {
            options = options.url([target.0.as_str()]);
        }
        options.group.clone_from(&self.group);
        options.version.clone_from(&self.service_version);
        options
    }

    /// `[group/]interface[:version]` of the service `interface`.
    pub(crate) fn service_key(&self, interface: &str) -> String {
        let group = self.group.iter().map(|group| format!("{group}/"));
        let version = self.service_version.iter().map(|v| format!(":{v}"));
        let parts = group.chain([interface.to_owned()]).chain(version);
        parts.collect()
    }

    /// How long one attempt may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.registries.timeout
    }

    /// What calls the service at `target`, or one that registries list.
    pub(crate) fn instance(&self, target: Option<&Target>) -> Result<Instance, Failure> {
        self.registries.instance(target)
    }
}

impl Registries {
    /// An instance of its own, which provides nothing and is shown nowhere.
    pub(crate) fn instance(&self, target: Option<&Target>) -> Result<Instance, Failure> {
        if target.is_none() && self.registry.is_empty() && self.config.is_none() {
            return Err(Failure::usage(
                "nobody to ask: there is neither an address nor a registry",
            )
            .advise(
                "begin with an address, `tri://host:port` or `dubbo://host:port`, or say `--registry URL` or `--config \
                 FILE`",
            ));
        }
        let mut builder = match &self.config {
            Some(file) => Instance::load(file)?,
            None => Instance::builder().application("dubbo-cli"),
        };
        for (index, Address(address)) in self.registry.iter().enumerate() {
            let kind = match self.registry_type {
                Kind::All => RegistryType::All,
                Kind::Interface => RegistryType::Interface,
                Kind::Service => RegistryType::Service,
            };
            let registry = address.clone().registry_type(kind).timeout(self.timeout);
            builder = builder.registry(format!("registry-{}", index + 1), registry);
        }
        if self.ca.is_some() || self.cert.is_some() {
            let mut tls = TlsConfig::new();
            tls.ca_cert_file.clone_from(&self.ca);
            tls.tls_cert_file.clone_from(&self.cert);
            tls.tls_key_file.clone_from(&self.key);
            tls.tls_server_name.clone_from(&self.server_name);
            builder = builder.tls(tls);
        }
        let consumer = ConsumerConfig::new().max_wait_time_for_service_discovery(self.timeout);
        Ok(builder.consumer(consumer).build()?)
    }
}

/// Ends an instance that has only called others.
pub(crate) async fn end(instance: Instance) {
    instance.shutdown(Duration::from_secs(1)).await;
}

/// The address of a provider.
#[derive(Debug, Clone)]
pub(crate) struct Target(String);

impl Target {
    /// The address that `words` begins with, if it does, and the words behind it.
    pub(crate) fn split(words: &[String]) -> Result<(Option<Self>, &[String]), Failure> {
        match words.split_first() {
            Some((first, rest)) if first.contains("://") => Ok((Some(first.parse()?), rest)),
            Some((first, _)) if is_bare_address(first) => Err(Failure::usage(format!(
                "`{first}` does not say the protocol"
            ))
            .advise(format!("write `tri://{first}` or `dubbo://{first}`"))),
            _ => Ok((None, words)),
        }
    }

    /// The address of one of the providers that a registry lists.
    pub(crate) fn of_provider(provider: &Url) -> Self {
        Self(provider.origin())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it speaks Triple, and can be asked what it serves.
    pub(crate) fn is_triple(&self) -> bool {
        self.0.starts_with("tri://")
    }
}

impl FromStr for Target {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let url: Url = text
            .parse()
            .map_err(|error| Failure::usage(format!("`{text}` is no address: {error}")))?;
        match url.protocol() {
            "dubbo" | "tri" => {}
            "etcd" | "etcdv3" | "file" | "memory" | "nacos" | "zookeeper" => {
                return Err(
                    Failure::usage(format!("`{text}` is the address of a registry"))
                        .advise(format!("say `--registry {text}`")),
                );
            }
            other => {
                return Err(
                    Failure::usage(format!("services are not called by `{other}://`"))
                        .advise("write `tri://host:port` or `dubbo://host:port`"),
                );
            }
        }
        if url.port().is_none_or(|port| port == 0) {
            return Err(Failure::usage(format!("`{text}` has no port"))
                .advise(format!("write `{}://host:port`", url.protocol())));
        }
        Ok(Self(url.origin()))
    }
}

/// Whether this is `host:port`, which no service is called.
fn is_bare_address(word: &str) -> bool {
    let (host, port) = word.rsplit_once(':').unwrap_or(("", ""));
    !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
}

/// A registry, from its URL.
#[derive(Debug, Clone)]
struct Address(RegistryConfig);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let Some((scheme, rest)) = address.split_once("://") else {
            return Err(
                "write a URL, such as `nacos://127.0.0.1:8848` or `file:///tmp/registry`"
                    .to_owned(),
            );
        };
        let (credentials, hosts) = rest.rsplit_once('@').unwrap_or(("", rest));
        let mut registry = RegistryConfig::at(format!("{scheme}://{hosts}"));
        if !credentials.is_empty() {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            registry = registry.username(user);
            if !password.is_empty() {
                registry = registry.password(password);
            }
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("`{pair}` is no parameter: write `key=value`"))?;
            registry = match key {
                "group" => registry.group(value),
                "namespace" => registry.namespace(value),
                _ => registry.param(key, value),
            };
        }
        Ok(Self(registry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_protocol_a_host_and_a_port() {
        for (text, want) in [
            ("tri://127.0.0.1:50051", Ok("tri://127.0.0.1:50051")),
            ("dubbo://h:20880/a.B?x=y", Ok("dubbo://h:20880")),
            ("tri://[::1]:80", Ok("tri://[::1]:80")),
            ("tri://h", Err("has no port")),
            ("tri://:80", Err("has no host")),
            ("tri://h:0", Err("has no port")),
            ("nacos://h:8848", Err("--registry nacos://h:8848")),
            ("http://h:80", Err("`http://`")),
            ("tri://h:port", Err("no address")),
        ] {
            let got = text.parse::<Target>();
            match (got, want) {
                (Ok(target), Ok(want)) => assert_eq!(target.as_str(), want),
                (Err(failure), Err(want)) => {
                    assert!(failure.to_string().contains(want), "{failure}");
                }
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }

    #[test]
    fn a_word_that_is_an_address_without_a_protocol_is_told_apart_from_a_service() {
        for (word, want) in [
            ("127.0.0.1:50051", true),
            ("localhost:80", true),
            ("greet.Greeter/Greet", false),
            ("greet.Greeter:1.0.0", false),
            ("greet.Greeter:1", true),
            (":80", false),
        ] {
            assert_eq!(is_bare_address(word), want, "{word}");
        }
    }

    #[test]
    fn a_registry_is_read_from_its_url() {
        let text = "nacos://u:p@10.0.0.1:8848,10.0.0.2:8848?namespace=dev&group=g&x=y";
        let Address(registry) = text.parse().expect(text);
        let want = RegistryConfig::at("nacos://10.0.0.1:8848,10.0.0.2:8848")
            .username("u")
            .password("p")
            .namespace("dev")
            .group("g")
            .param("x", "y");
        assert_eq!(registry, want);
        for wrong in ["10.0.0.1:8848", "nacos://h:1?namespace"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
