//! Revisions: one text for all that an application serves (`docs/spec/metadata.md` §2).
//!
//! Ours is `r1`: it depends on what is served and on nothing else, so it stays over restarts, hosts and, where the
//! instance says them, ports. Those of others are there to check what they wrote.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256, Sha512};

use crate::model::{METHODS, ServiceInfo};

/// How a revision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// dubbo-go up to 3.3.1: a sum of checksums of the names of interfaces and methods.
    Go305,
    /// dubbo-go 3.3.2: SHA-512.
    Go332,
    /// Dubbo Java: MD5.
    Java,
    /// Ours: half of a SHA-256, over parts with their lengths, so that no two sets of services look alike.
    #[default]
    R1,
}

impl Algorithm {
    /// The revision of what `app` serves; `0` when that is nothing.
    pub fn revision<'a, S: AsRef<ServiceInfo> + 'a>(
        self,
        app: &str,
        services: impl IntoIterator<Item = &'a S>,
    ) -> String {
        let mut services: Vec<&ServiceInfo> = services.into_iter().map(AsRef::as_ref).collect();
        if services.is_empty() {
            return NOTHING.to_owned();
        }
        match self {
            Self::Go305 => go305(&services),
            Self::Go332 => {
                services.sort_by_cached_key(|service| service.match_key());
                go332(app, &services)
            }
            Self::Java => {
                services.sort_by_cached_key(|service| utf16(&service.java_match_key()));
                java(app, &services)
            }
            Self::R1 => {
                services.sort_by_cached_key(|service| service.match_key());
                r1(app, &services)
            }
        }
    }
}

/// What a revision says about itself. It says nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revision {
    /// `0`: the instance serves nothing.
    Empty,
    /// A digest: what it stands for never changes.
    Strong,
    /// Nothing, or dubbo-go's `N/A`: there is no metadata to ask for.
    Unknown,
    /// A checksum of dubbo-go up to 3.3.1: the same one may stand for other services some time later.
    Weak,
}

impl Revision {
    /// What kind of revision `text` is.
    pub fn of(text: &str) -> Self {
        match text {
            NOTHING => Self::Empty,
            "" | "N/A" => Self::Unknown,
            _ if text.len() <= WEAK_DIGITS && text.bytes().all(|b| b.is_ascii_digit()) => {
                Self::Weak
            }
            _ => Self::Strong,
        }
    }
}

/// `docs/spec/metadata.md` §2.5.
fn r1(app: &str, services: &[&ServiceInfo]) -> String {
    let mut digest = Sha256::new();
    digest.update(b"dubbo-meta-r1");
    let count = |digest: &mut Sha256, count: usize| {
        let count = u32::try_from(count).expect("invariant: what is in memory has fewer parts");
        digest.update(count.to_be_bytes());
    };
    let text = |digest: &mut Sha256, text: &str| {
        count(digest, text.len());
        digest.update(text);
    };
    text(&mut digest, app);
    count(&mut digest, services.len());
    for service in services {
        for part in [
            &service.name,
            &service.group,
            &service.version,
            &service.protocol,
        ] {
            text(&mut digest, part);
        }
        digest.update(service.port.to_be_bytes());
        text(&mut digest, &service.path);
        let params: Vec<_> = service
            .params
            .iter()
            .filter(|(key, value)| *key != METHODS && !value.is_empty())
            .collect();
        count(&mut digest, params.len());
        for (key, value) in params {
            text(&mut digest, key);
            text(&mut digest, value);
        }
        let methods: BTreeSet<_> = service.methods().collect();
        count(&mut digest, methods.len());
        for method in methods {
            text(&mut digest, method);
        }
    }
    hex(&digest.finalize()[..R1_BYTES])
}

/// `docs/spec/metadata.md` §2.4.
fn java(app: &str, services: &[&ServiceInfo]) -> String {
    let mut input = app.to_owned();
    for service in services {
        let ServiceInfo { port, path, .. } = service;
        let mut params: Vec<_> = service.params.iter().collect();
        params.sort_by_cached_key(|(key, _)| utf16(key));
        let params: Vec<_> = params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let _ = write!(
            input,
            "{}{port}{path}{{{}}}",
            service.java_match_key(),
            params.join(", ")
        );
    }
    hex(&md5::compute(input).0)
}

/// `docs/spec/metadata.md` §2.3.
fn go332(app: &str, services: &[&ServiceInfo]) -> String {
    let mut input = app.to_owned();
    for service in services {
        let params: Vec<_> = service
            .params
            .iter()
            .filter(|(key, _)| *key != METHODS)
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let mut methods: Vec<_> = service
            .params
            .get(METHODS)
            .map(|methods| methods.split(',').collect())
            .unwrap_or_default();
        methods.sort_unstable();
        let ServiceInfo {
            name,
            group,
            version,
            protocol,
            port,
            path,
            ..
        } = service;
        let _ = write!(
            input,
            "{name}|{group}|{version}|{protocol}|{port}|{path}|{}|{}",
            params.join("&"),
            methods.join(",")
        );
    }
    hex(&Sha512::digest(input))
}

/// `docs/spec/metadata.md` §2.2.
fn go305(services: &[&ServiceInfo]) -> String {
    let sum = |service: &&ServiceInfo| {
        let name = &service.name;
        let of = |text: &str| u64::from(crc32fast::hash(text.as_bytes()));
        let of_methods = |methods: &mut dyn Iterator<Item = &str>| {
            methods.map(|method| of(&format!("{name}:{method}"))).sum()
        };
        match service.methods().next() {
            None => of(name),
            Some(_) => of_methods(&mut service.methods()),
        }
    };
    services.iter().map(sum).sum::<u64>().to_string()
}

/// Texts in Java's order, which differs from that of bytes beyond the basic plane.
fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// The revision of no services.
pub(crate) const NOTHING: &str = "0";

/// Half of a SHA-256: as long as Dubbo Java's revisions, and short enough for Nacos.
const R1_BYTES: usize = 16;

/// The digits of the greatest sum of 64 bits.
const WEAK_DIGITS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sums_of_checksums_are_weak() {
        for (text, want) in [
            ("0", Revision::Empty),
            ("", Revision::Unknown),
            ("N/A", Revision::Unknown),
            ("1", Revision::Weak),
            ("5915580501", Revision::Weak),
            ("18446744073709551615", Revision::Weak),
            ("222f165004459af76f0540482d98ac81", Revision::Strong),
            ("12345678901234567890123456789012", Revision::Strong),
            ("00", Revision::Weak),
            ("v1", Revision::Strong),
        ] {
            assert_eq!(Revision::of(text), want, "{text:?}");
        }
    }
}
