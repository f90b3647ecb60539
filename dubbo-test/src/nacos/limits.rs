//! What Nacos refuses by its form (`docs/spec/nacos-2.5.1.md` §3).

use std::collections::BTreeMap;

use super::answer::Refusal;

/// The parts of a request that are checked; blank ones pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parameters<'a> {
    pub(super) namespace: &'a str,
    pub(super) data_id: &'a str,
    pub(super) service: &'a str,
    pub(super) group: &'a str,
    /// Several, with commas between them.
    pub(super) clusters: &'a str,
    pub(super) cluster: &'a str,
    pub(super) ip: &'a str,
    pub(super) port: i32,
    pub(super) metadata: Option<&'a BTreeMap<String, String>>,
}

impl Parameters<'_> {
    /// The first thing that is wrong, in the order in which Nacos looks.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        text("namespaceId/tenant", self.namespace, 64, |s| {
            s.chars().all(|c| word(c) || c == '-')
        })?;
        text("dataId", self.data_id, 256, is_key)?;
        text("serviceName", self.service, 512, is_service)?;
        text("group", self.group, 128, is_key)?;
        for cluster in self.clusters.split(',').chain([self.cluster]) {
            text("cluster", cluster, 64, |s| {
                s.chars().all(|c| word(c) || c == '-')
            })?;
        }
        text("ip", self.ip, 128, |s| s.chars().all(is_plain))?;
        if !(0..=65535).contains(&self.port) {
            return Err(illegal("port", "the value should be between 0 and 65535."));
        }
        let metadata = self.metadata.into_iter().flatten();
        let texts = metadata.flat_map(|(key, value)| [key, value]);
        let len: usize = texts.filter(|text| !is_blank(text)).map(|s| len(s)).sum();
        if len > 1024 {
            return Err(too_long("Metadata", 1024));
        }
        Ok(())
    }
}

pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn text(name: &str, value: &str, max: usize, legal: fn(&str) -> bool) -> Result<(), Refusal> {
    if is_blank(value) {
        return Ok(());
    }
    if len(value) > max {
        return Err(too_long(name, max));
    }
    if !legal(value) {
        return Err(illegal(
            name,
            "illegal characters should not appear in the param.",
        ));
    }
    Ok(())
}

fn is_key(text: &str) -> bool {
    text.chars()
        .all(|c| word(c) || matches!(c, '-' | ':' | '.'))
}

/// The first character is only compared with `@`: what Nacos tests is `^(?!@).((?!@@)[^\u4E00-\u9FA5\s])*$`.
fn is_service(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next();
    first.is_some_and(|c| !matches!(c, '@' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'))
        && chars.as_str().chars().all(is_plain)
        && !chars.as_str().contains("@@")
}

fn is_plain(c: char) -> bool {
    !matches!(c, '\u{4E00}'..='\u{9FA5}' | ' ' | '\t'..='\r')
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// As Java counts: emoji are two.
fn len(text: &str) -> usize {
    text.encode_utf16().count()
}

fn too_long(name: &str, max: usize) -> Refusal {
    illegal(name, &format!("the param length should not exceed {max}."))
}

fn illegal(name: &str, why: &str) -> Refusal {
    let text = format!("Param check invalid:Param '{name}' is illegal, {why}");
    Refusal::typed(400, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_at_and_beyond_their_limits() {
        const ILLEGAL: &str = "illegal characters should not appear in the param.";
        let long = |name, max: usize| (name, "x".repeat(max), None);
        let longer = |name, max: usize| {
            let why = format!("the param length should not exceed {max}.");
            (name, "x".repeat(max + 1), Some(why))
        };
        let legal = |name, text: &str| (name, text.to_owned(), None);
        let refused = |name, text: &str| (name, text.to_owned(), Some(ILLEGAL.to_owned()));
        for (name, value, want) in [
            long("namespaceId/tenant", 64),
            longer("namespaceId/tenant", 64),
            legal("namespaceId/tenant", "a-b_1"),
            refused("namespaceId/tenant", "a.b"),
            long("dataId", 256),
            longer("dataId", 256),
            legal("dataId", "a.b:c_d-1"),
            refused("dataId", "a$b"),
            refused("dataId", "a/b"),
            refused("dataId", "a b"),
            refused("dataId", "中"),
            long("serviceName", 512),
            longer("serviceName", 512),
            legal("serviceName", "a$:/,%*@b.é\u{3000}😀"),
            legal("serviceName", " "),
            refused("serviceName", "a b"),
            refused("serviceName", "a中"),
            refused("serviceName", "a@@b"),
            refused("serviceName", "@a"),
            long("group", 128),
            longer("group", 128),
            refused("group", "a/b"),
            long("cluster", 64),
            longer("cluster", 64),
            refused("cluster", "a.b"),
            refused("cluster", "a,b"),
            long("ip", 128),
            longer("ip", 128),
            legal("ip", "::1"),
            refused("ip", "a b"),
            refused("ip", "a中"),
        ] {
            let mut parameters = Parameters::default();
            let field = match name {
                "namespaceId/tenant" => &mut parameters.namespace,
                "dataId" => &mut parameters.data_id,
                "serviceName" => &mut parameters.service,
                "group" => &mut parameters.group,
                "cluster" => &mut parameters.cluster,
                _ => &mut parameters.ip,
            };
            *field = &value;
            let want = want.map(|why| illegal(name, &why));
            assert_eq!(parameters.check().err(), want, "{name} {value:?}");
        }
    }

    #[test]
    fn metadata_is_counted_as_java_counts() {
        for (key, value, fits) in [
            ("k", "中".repeat(1023), true),
            ("k", "中".repeat(1024), false),
            ("k", "😀".repeat(512), false),
            ("", "v".repeat(1024), true),
            ("", "v".repeat(1025), false),
            ("k", " ".repeat(2000), true),
        ] {
            let metadata = BTreeMap::from([(key.to_owned(), value)]);
            let parameters = Parameters {
                metadata: Some(&metadata),
                ..Parameters::default()
            };
            assert_eq!(parameters.check().is_ok(), fits, "{metadata:?}");
        }
    }

    #[test]
    fn several_clusters_are_checked_one_by_one() {
        let clusters = |clusters| Parameters {
            clusters,
            ..Parameters::default()
        };
        assert_eq!(clusters("a,b").check(), Ok(()));
        assert!(clusters("a,b.c").check().is_err());
    }

    #[test]
    fn ports_have_sixteen_bits() {
        for (port, fits) in [(-1, false), (0, true), (65535, true), (65536, false)] {
            let parameters = Parameters {
                port,
                ..Parameters::default()
            };
            assert_eq!(parameters.check().is_ok(), fits, "{port}");
        }
    }
}
