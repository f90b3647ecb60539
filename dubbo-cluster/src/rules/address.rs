//! How rules name addresses.

use std::net::IpAddr;

use super::string_match::glob;

/// An address, or several with one word (`docs/spec/cluster.md` §4.5, §5).
///
/// - `10.0.0.1`, `10.0.0.1:20880`: a host, and one of its ports; `[::1]:20880` for IPv6.
/// - `10.20.0.0/16`, `10.20.0.0/16:20880`: a network (CIDR).
/// - `10.0.1-5.*`: parts of an IPv4 address as ranges or `*`. Another `*` stands for anything, as `10.20.*`.
/// - `0.0.0.0:20880`: a port of any host; `0.0.0.0` and `*`: all.
///
/// A port of `*` is any, and so is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPattern {
    text: String,
    host: Host,
    /// `None` is any.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Any,
    Network {
        base: IpAddr,
        bits: u8,
    },
    /// Each of the four parts from the one number to the other.
    Parts([(u8, u8); 4]),
    Glob(String),
    Name(String),
}

impl AddressPattern {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// What is wrong with it: no port after the colon, a network that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (host, port) = split(text);
        let port = match port {
            None | Some("*") => None,
            Some(port) => {
                let port = port.parse::<u16>();
                Some(port.map_err(|_| format!("`{text}` ends in no port"))?)
            }
        };
        let host = match host {
            "" => return Err(format!("`{text}` names no host")),
            "*" | "0.0.0.0" | "::" => Host::Any,
            host => match host.split_once('/') {
                Some((base, bits)) => network(base, bits)
                    .ok_or_else(|| format!("`{host}` is no network such as `10.20.0.0/16`"))?,
                None => parts(host).unwrap_or_else(|| name(host)),
            },
        };
        Ok(Self {
            text: text.to_owned(),
            host,
            port,
        })
    }

    /// Whether it means `port` of `host`; a pattern with a port means no address without one.
    pub fn matches(&self, host: &str, port: Option<u16>) -> bool {
        self.port.is_none_or(|wanted| port == Some(wanted)) && self.matches_host(host)
    }

    /// Whether it means `host`, whatever its port.
    pub fn matches_host(&self, host: &str) -> bool {
        match &self.host {
            Host::Any => true,
            Host::Network { base, bits } => {
                let ip = host.parse::<IpAddr>();
                ip.is_ok_and(|ip| is_in(ip.to_canonical(), *base, *bits))
            }
            Host::Parts(parts) => {
                let ip = host.parse::<std::net::Ipv4Addr>();
                ip.is_ok_and(|ip| {
                    let octets = ip.octets().into_iter().zip(parts);
                    octets
                        .into_iter()
                        .all(|(octet, (low, high))| (*low..=*high).contains(&octet))
                })
            }
            Host::Glob(pattern) => glob(pattern, host),
            Host::Name(name) => name == host,
        }
    }

    /// Whether it means every host and every port.
    pub fn is_any(&self) -> bool {
        self.host == Host::Any && self.port.is_none()
    }

    /// The port that it asks for, if it does.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Host and port, the host without brackets. An IPv6 address without brackets has no port.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some(rest) = text.strip_prefix('[')
        && let Some((host, after)) = rest.split_once(']')
    {
        return match after.split_once(':') {
            Some(("", port)) => (host, Some(port)),
            _ => (host, None),
        };
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (text, None),
    }
}

fn network(base: &str, bits: &str) -> Option<Host> {
    let base = base.parse::<IpAddr>().ok()?.to_canonical();
    let bits = bits.parse::<u8>().ok()?;
    let most = if base.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some(Host::Network { base, bits })
}

fn is_in(ip: IpAddr, base: IpAddr, bits: u8) -> bool {
    match (ip, base) {
        (IpAddr::V4(ip), IpAddr::V4(base)) => {
            let differs = ip.to_bits() ^ base.to_bits();
            bits == 0 || differs >> (32 - bits) == 0
        }
        (IpAddr::V6(ip), IpAddr::V6(base)) => {
            let differs = ip.to_bits() ^ base.to_bits();
            bits == 0 || differs >> (128 - bits) == 0
        }
        _ => false,
    }
}

/// Four parts, at least one of which is no number.
fn parts(host: &str) -> Option<Host> {
    let parts: Vec<_> = host.split('.').map(part).collect::<Option<_>>()?;
    let parts: [(u8, u8); 4] = parts.try_into().ok()?;
    Some(Host::Parts(parts))
}

fn part(text: &str) -> Option<(u8, u8)> {
    if text == "*" {
        return Some((0, u8::MAX));
    }
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    Some((low.parse().ok()?, high.parse().ok()?))
}

fn name(host: &str) -> Host {
    if host.contains('*') {
        Host::Glob(host.to_owned())
    } else {
        Host::Name(host.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_the_addresses_that_it_describes() {
        for (pattern, yes, no) in [
            (
                "10.0.0.1",
                &["10.0.0.1", "10.0.0.1:7"][..],
                &["10.0.0.2"][..],
            ),
            ("10.0.0.1:7", &["10.0.0.1:7"], &["10.0.0.1:8", "10.0.0.1"]),
            ("0.0.0.0", &["10.0.0.1:7", "h"], &[]),
            ("*", &["10.0.0.1:7", "h"], &[]),
            ("0.0.0.0:*", &["10.0.0.1:7"], &[]),
            ("0.0.0.0:7", &["10.0.0.1:7", "h:7"], &["10.0.0.1:8"]),
            (
                "10.20.0.0/16",
                &["10.20.3.4", "10.20.3.4:20880"],
                &["10.21.0.1", "h"],
            ),
            ("10.20.3.4/32:7", &["10.20.3.4:7"], &["10.20.3.4:8"]),
            ("0.0.0.0/0", &["1.2.3.4"], &["::1"]),
            ("fd00::/8", &["fd12::1"], &["fe80::1", "10.0.0.1"]),
            ("10.20.*", &["10.20.3.4", "10.20.3.4:1"], &["10.2.20.3"]),
            ("10.20.*.*", &["10.20.3.4"], &["10.21.3.4", "10.20.x.y"]),
            ("10.0.1-5.*", &["10.0.1.9", "10.0.5.0"], &["10.0.6.1"]),
            ("*.shop", &["a.shop", "a.shop:1"], &["shop.a"]),
            ("[::1]:7", &["[::1]:7"], &["[::1]:8"]),
            ("::1", &["[::1]:8"], &["[::2]:8"]),
        ] {
            let read = AddressPattern::parse(pattern).expect(pattern);
            assert_eq!(read.as_str(), pattern);
            for (addresses, want) in [(yes, true), (no, false)] {
                for address in addresses {
                    let (host, port) = split(address);
                    let port = port.map(|port| port.parse().expect("a port"));
                    assert_eq!(read.matches(host, port), want, "{pattern} {address}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (pattern, want) in [
            ("", "names no host"),
            (":7", "names no host"),
            ("h:x", "ends in no port"),
            ("h:70000", "ends in no port"),
            ("10.0.0.0/33", "no network"),
            ("x/8", "no network"),
            ("10.0.0.0/", "no network"),
        ] {
            let error = AddressPattern::parse(pattern).expect_err(pattern);
            assert!(error.contains(want), "{error}");
        }
    }
}
