//! The address that others reach this machine at.

use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    str::FromStr,
};

use dubbo_core::{url::Url, yaml::Problem};

use crate::config::Environment;

/// What registries are told instead of the address that is listened on.
///
/// `DUBBO_IP_TO_REGISTRY` and `DUBBO_PORT_TO_REGISTRY`, as in dubbo-go and Dubbo Java: how a container publishes the
/// address of its host.
#[derive(Debug, Default)]
pub(super) struct ToRegistry {
    host: Option<String>,
    port: Option<u16>,
}

impl ToRegistry {
    /// Reads the two variables.
    pub(super) fn of(environment: &Environment) -> Result<Self, Problem> {
        let host = environment.parsed("DUBBO_IP_TO_REGISTRY", "an IP address or a host name")?;
        Ok(Self {
            host: host.map(|Host(host)| host),
            port: environment.parsed("DUBBO_PORT_TO_REGISTRY", "a port from 0 to 65535")?,
        })
    }

    /// Whether all that is published has one port, whatever it is bound to.
    pub(super) fn has_one_port(&self) -> bool {
        self.port.is_some()
    }

    /// The address of this machine, as it is published.
    pub(super) fn own_host(&self) -> String {
        let host = self.host.clone();
        host.unwrap_or_else(|| outward().to_string())
    }

    /// What to publish of a service that is bound to `url`.
    pub(super) fn published(&self, url: &Url) -> Url {
        let url = &without_hidden(url);
        let host = self.host.clone();
        let url = url.with_host(host.unwrap_or_else(|| reachable(url.host())));
        match self.port {
            Some(port) => url.with_port(port),
            None => url,
        }
    }
}

/// Without what is for nobody else: secrets and switches whose names begin with a dot, as in dubbo-go and Dubbo Java.
pub(super) fn without_hidden(url: &Url) -> Url {
    let hidden = url.params().filter(|(key, _)| key.starts_with('.'));
    hidden.fold(url.clone(), |url, (key, _)| url.without_param(key))
}

/// An address without a port.
struct Host(String);

impl FromStr for Host {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_name = || {
            let mut chars = text.chars();
            chars.all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
        };
        let is_host = text.parse::<IpAddr>().is_ok() || is_name();
        is_host.then(|| Self(text.to_owned())).ok_or(())
    }
}

/// `ip` itself, unless it stands for all addresses: then the one that others can use.
pub(super) fn reachable(ip: &str) -> String {
    match ip.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => outward().to_string(),
        _ => ip.to_owned(),
    }
}

/// The address that this machine would use to reach others; loopback on a machine without a network.
fn outward() -> IpAddr {
    // Connecting a UDP socket sends nothing: it only asks the routing table.
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .and_then(|socket| {
            socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
            socket.local_addr()
        })
        .map(|address| address.ip())
        .ok()
        .filter(|ip| !ip.is_unspecified())
        .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(bound: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let environment = variables.iter().copied().collect();
        let to_registry = ToRegistry::of(&environment).map_err(|problem| problem.to_string())?;
        let url = bound.parse().expect(bound);
        Ok(to_registry.published(&url).address())
    }

    #[test]
    fn what_is_published_is_what_is_bound_or_what_the_environment_says() {
        const IP: &str = "DUBBO_IP_TO_REGISTRY";
        const PORT: &str = "DUBBO_PORT_TO_REGISTRY";
        for (variables, want) in [
            (&[][..], Ok("10.0.0.7:1")),
            (&[(IP, "192.0.2.9")], Ok("192.0.2.9:1")),
            (&[(PORT, "30001")], Ok("10.0.0.7:30001")),
            (&[(IP, "node.example"), (PORT, "9")], Ok("node.example:9")),
            (&[(IP, ""), (PORT, "")], Ok("10.0.0.7:1")),
            (
                &[(IP, "not an ip:3/x")],
                Err(
                    "environment variable DUBBO_IP_TO_REGISTRY: expected an IP address or a host name, found `not an ip:3/x`",
                ),
            ),
            (&[(IP, "2001:db8::7")], Ok("[2001:db8::7]:1")),
            (
                &[(PORT, "many")],
                Err(
                    "environment variable DUBBO_PORT_TO_REGISTRY: expected a port from 0 to 65535, found `many`",
                ),
            ),
        ] {
            let got = published("tri://10.0.0.7:1/a.B", variables);
            assert_eq!(
                got.as_deref().map_err(String::as_str),
                want,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn what_stands_for_all_addresses_is_published_as_one_that_others_can_use() {
        assert_eq!(reachable("10.0.0.7"), "10.0.0.7");
        assert_eq!(reachable("node.example"), "node.example");
        for all in ["0.0.0.0", "::"] {
            let found: IpAddr = reachable(all).parse().expect("an address");
            assert!(!found.is_unspecified(), "{all}");
        }
    }
}
