//! Who may do what at the port for operators (`docs/spec/config.md` §6.2).

use std::{collections::BTreeSet, fmt, net::IpAddr, str::FromStr};

use dubbo_core::invocation::Peer;
use subtle::ConstantTimeEq as _;

use crate::config::{ApplicationConfig, PermissionLevel, Secret};

/// What the configuration lets callers do.
#[derive(Debug)]
pub(super) struct Access {
    /// What they may do of whom nothing is known.
    anonymous: PermissionLevel,
    accepts_foreign: bool,
    whitelist: Vec<Network>,
    /// The commands that everybody may use, in lower case.
    allowed: BTreeSet<String>,
    token: Option<Secret>,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caller {
    level: PermissionLevel,
    /// It has shown a token that is not ours.
    is_wrong: bool,
}

impl Access {
    pub(super) fn of(config: &ApplicationConfig) -> Self {
        let listed = config.qos_accept_foreign_ip_whitelist.iter().flatten();
        let commands = config.qos_anonymous_access_allow_commands.iter().flatten();
        Self {
            anonymous: config
                .qos_anonymous_access_permission_level
                .unwrap_or(PermissionLevel::Public),
            accepts_foreign: config.qos_accept_foreign_ip == Some(true),
            // What is none has been refused by then.
            whitelist: listed.filter_map(|text| text.parse().ok()).collect(),
            allowed: commands.map(|name| name.to_ascii_lowercase()).collect(),
            token: config.qos_token.clone(),
        }
    }

    /// Who `peer` is, with the token that it shows.
    ///
    /// # Errors
    ///
    /// It may not be here at all.
    pub(super) fn caller(&self, peer: &Peer, token: Option<&str>) -> Result<Caller, String> {
        let ip = peer.remote.ip().to_canonical();
        let is_known = self.whitelist.iter().any(|network| network.has(ip));
        let is_right = |token: &str| {
            let own = self.token.as_ref().map(|own| own.expose().as_bytes());
            own.is_some_and(|own| own.ct_eq(token.as_bytes()).into())
        };
        let shown = token.map(is_right);
        let guarded = self.anonymous != PermissionLevel::None;
        let level = match (ip.is_loopback(), shown, is_known) {
            (true, ..) | (_, Some(true), _) => PermissionLevel::Private,
            (_, _, true) if guarded => PermissionLevel::Protected.max(self.anonymous),
            (_, _, true) => PermissionLevel::Private,
            _ if guarded => self.anonymous,
            // Whoever may be here may do all in Java. Here it takes the token, which has to be set for that.
            _ if self.accepts_foreign => PermissionLevel::Public,
            _ => {
                return Err(format!(
                    "Foreign Ip Not Permitted, Consider Config It In Whitelist: {ip} is in no network of \
                     `application.qos-accept-foreign-ip-whitelist`"
                ));
            }
        };
        Ok(Caller {
            level,
            is_wrong: shown == Some(false),
        })
    }

    /// Whether the caller may use `command`, which takes this level.
    ///
    /// # Errors
    ///
    /// Why not, and what helps.
    pub(super) fn allows(
        &self,
        caller: Caller,
        command: &str,
        level: PermissionLevel,
    ) -> Result<(), String> {
        if caller.level >= level || self.allowed.contains(&command.to_ascii_lowercase()) {
            return Ok(());
        }
        let mut refusal = format!(
            "`{command}` takes the permission level {level}, and you have {}",
            caller.level
        );
        refusal.push_str(match (caller.is_wrong, &self.token) {
            (true, _) => ": the token is not that of `application.qos-token`",
            (false, Some(_)) => {
                ": show the token of `application.qos-token` (Authorization: Bearer <token>)"
            }
            (false, None) => {
                ": ask from this machine, or set `application.qos-token` or \
                 `application.qos-accept-foreign-ip-whitelist`"
            }
        });
        Err(refusal)
    }
}

/// Addresses that have their first bits in common: `10.0.0.0/8`, or one alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    fn has(self, ip: IpAddr) -> bool {
        let ends_in_common = |own: u128, other: u128, width: u32| {
            let rest = width - self.bits;
            own.checked_shr(rest) == other.checked_shr(rest) || self.bits == 0
        };
        match (self.address, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                ends_in_common(u32::from(own).into(), u32::from(ip).into(), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => ends_in_common(own.into(), ip.into(), 128),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("expected an address such as `10.0.0.7` or `10.0.0.0/8`, found `{text}`");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| bad())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.trim().parse().map_err(|_| bad())?,
            None => width,
        };
        if bits > width {
            return Err(format!(
                "`{text}` has more than the {width} bits of its address"
            ));
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use PermissionLevel::{None as Nobody, Private, Protected, Public};

    fn peer(ip: &str) -> Peer {
        let ip: IpAddr = ip.parse().expect(ip);
        let here = SocketAddr::new(ip, 1);
        Peer::new(here, here)
    }

    fn access(level: PermissionLevel, foreign: bool, token: Option<&str>) -> Access {
        let mut config = ApplicationConfig::new()
            .qos_anonymous_access_permission_level(level)
            .qos_accept_foreign_ip(foreign)
            .qos_accept_foreign_ip_whitelist(["10.1.0.0/16", "2001:db8::7"])
            .qos_anonymous_access_allow_commands(["ls"]);
        config.qos_token = token.map(Into::into);
        Access::of(&config)
    }

    #[test]
    fn callers_have_the_level_of_where_they_come_from_or_of_their_token() {
        for (level, foreign, from, token, want) in [
            (Public, false, "127.0.0.1", None, Some(Private)),
            (Public, false, "::1", None, Some(Private)),
            (Public, false, "::ffff:127.0.0.1", None, Some(Private)),
            (Public, false, "10.1.2.3", None, Some(Protected)),
            (Public, false, "::ffff:10.1.2.3", None, Some(Protected)),
            (Public, false, "2001:db8::7", None, Some(Protected)),
            (Public, false, "10.2.0.1", None, Some(Public)),
            (Public, false, "10.2.0.1", Some("right"), Some(Private)),
            (Public, false, "10.2.0.1", Some("wrong"), Some(Public)),
            (Private, false, "10.2.0.1", None, Some(Private)),
            (Private, false, "10.1.0.1", None, Some(Private)),
            (Nobody, false, "10.2.0.1", None, None),
            (Nobody, false, "10.2.0.1", Some("right"), Some(Private)),
            (Nobody, false, "10.1.0.1", None, Some(Private)),
            (Nobody, true, "10.2.0.1", None, Some(Public)),
            (Nobody, true, "10.2.0.1", Some("right"), Some(Private)),
        ] {
            let access = access(level, foreign, Some("right"));
            let caller = access.caller(&peer(from), token);
            let got = caller.as_ref().map(|caller| caller.level).ok();
            assert_eq!(got, want, "{level} {foreign} {from} {token:?}");
        }
        let without = access(Public, false, None);
        let caller = without.caller(&peer("10.2.0.1"), Some("")).expect("public");
        assert_eq!(caller.level, Public, "no token is not an empty one");
    }

    #[test]
    fn a_command_takes_its_level_unless_everybody_may_use_it() {
        let access = access(Public, false, Some("right"));
        let caller = access.caller(&peer("10.2.0.1"), None).expect("public");
        assert_eq!(access.allows(caller, "live", Public), Ok(()));
        assert_eq!(access.allows(caller, "LS", Protected), Ok(()));
        let refusal = access
            .allows(caller, "offline", Protected)
            .expect_err("refused");
        assert_eq!(
            refusal,
            "`offline` takes the permission level PROTECTED, and you have PUBLIC: show the token of \
             `application.qos-token` (Authorization: Bearer <token>)"
        );
        let wrong = access.caller(&peer("10.2.0.1"), Some("x")).expect("public");
        let refusal = access
            .allows(wrong, "offline", Protected)
            .expect_err("refused");
        assert!(
            refusal.ends_with("the token is not that of `application.qos-token`"),
            "{refusal}"
        );
    }

    #[test]
    fn networks_are_addresses_with_or_without_a_number_of_bits() {
        for (network, ip, want) in [
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.8", false),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
        ] {
            let network: Network = network.parse().expect(network);
            assert_eq!(network.has(ip.parse().expect(ip)), want, "{network} {ip}");
        }
        for bad in ["", "10.0.0", "host", "10.0.0.0/33", "10.0.0.0/x", "::/129"] {
            assert!(bad.parse::<Network>().is_err(), "{bad:?}");
        }
    }
}
