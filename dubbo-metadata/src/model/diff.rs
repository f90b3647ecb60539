//! What differs between two revisions, told by names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{MetadataInfo, ServiceInfo};

/// What one revision has changed of another. Of parameters it has the names and never the values, which may be nobody's
/// business.
///
/// Its `Display` is one line for a log, which names the first few of what there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataDiff {
    /// The older revision.
    pub older: String,
    /// The newer revision.
    pub newer: String,
    /// The match keys of the services that only the newer one has.
    pub added: BTreeSet<String>,
    /// The match keys of the services that only the older one has.
    pub removed: BTreeSet<String>,
    /// What differs in services that both have, by their match keys.
    pub changed: BTreeMap<String, ServiceDiff>,
}

impl MetadataDiff {
    pub(super) fn between(newer: &MetadataInfo, older: &MetadataInfo) -> Self {
        let only = |of: &MetadataInfo, other: &MetadataInfo| {
            of.services
                .keys()
                .filter(|key| !other.services.contains_key(*key))
                .cloned()
                .collect()
        };
        let changed = newer.services.iter().filter_map(|(key, service)| {
            let before = older
                .services
                .get(key)
                .filter(|before| *before != service)?;
            Some((key.clone(), ServiceDiff::between(service, before)))
        });
        Self {
            older: older.revision.clone(),
            newer: newer.revision.clone(),
            added: only(newer, older),
            removed: only(older, newer),
            changed: changed.collect(),
        }
    }

    /// Whether both have the same services.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl fmt::Display for MetadataDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}: ", self.older, self.newer)?;
        if self.is_empty() {
            return f.write_str("the same services");
        }
        let added = self.added.iter().map(|key| format!("+{key}"));
        let removed = self.removed.iter().map(|key| format!("-{key}"));
        let changed = self
            .changed
            .iter()
            .map(|(key, change)| format!("~{key}({change})"));
        few(f, added.chain(removed).chain(changed))
    }
}

/// What differs between two states of one service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceDiff {
    /// The names of the parameters that only the newer one has.
    pub params_added: BTreeSet<String>,
    /// The names of the parameters that only the older one has.
    pub params_removed: BTreeSet<String>,
    /// The names of the parameters that have another value.
    pub params_changed: BTreeSet<String>,
    /// Whether the port is another.
    pub port: bool,
    /// Whether the path is another.
    pub path: bool,
}

impl ServiceDiff {
    fn between(newer: &ServiceInfo, older: &ServiceInfo) -> Self {
        let only = |of: &ServiceInfo, other: &ServiceInfo| {
            of.params
                .keys()
                .filter(|key| !other.params.contains_key(*key))
                .cloned()
                .collect()
        };
        let changed = newer.params.iter().filter(|(key, value)| {
            let before = older.params.get(*key);
            before.is_some_and(|before| before != *value)
        });
        Self {
            params_added: only(newer, older),
            params_removed: only(older, newer),
            params_changed: changed.map(|(key, _)| key.clone()).collect(),
            port: newer.port != older.port,
            path: newer.path != older.path,
        }
    }
}

impl fmt::Display for ServiceDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signed = |sign, names: &'_ BTreeSet<String>| {
            let names = names.iter().map(|name| format!("{sign}{name}"));
            names.collect::<Vec<_>>()
        };
        let params = [
            signed('+', &self.params_added),
            signed('-', &self.params_removed),
            signed('~', &self.params_changed),
        ];
        let fields = [(self.port, "~port"), (self.path, "~path")];
        let fields = fields
            .into_iter()
            .filter(|(is_other, _)| *is_other)
            .map(|(_, name)| name.to_owned());
        few(f, fields.chain(params.into_iter().flatten()))
    }
}

/// The first few, and how many more there are.
fn few(f: &mut fmt::Formatter<'_>, parts: impl Iterator<Item = String>) -> fmt::Result {
    let mut more = 0_usize;
    for (index, part) in parts.enumerate() {
        match index {
            0 => f.write_str(&part)?,
            1..FEW => write!(f, " {part}")?,
            _ => more += 1,
        }
    }
    if more > 0 {
        write!(f, " and {more} more")?;
    }
    Ok(())
}

/// How many names fit into one line.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn service(name: &str, params: &[(&str, &str)]) -> ServiceInfo {
        ServiceInfo {
            name: name.to_owned(),
            protocol: "tri".to_owned(),
            path: name.to_owned(),
            params: params
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..ServiceInfo::default()
        }
    }

    fn info(revision: &str, services: impl IntoIterator<Item = ServiceInfo>) -> MetadataInfo {
        MetadataInfo {
            revision: revision.to_owned(),
            services: services.into_iter().map(Arc::new).collect(),
            ..MetadataInfo::default()
        }
    }

    #[test]
    fn a_diff_names_services_and_parameters_and_no_values() {
        let older = info(
            "r1",
            [
                service("a.B", &[("kept", "1"), ("gone", "1"), ("token", "secret")]),
                service("a.C", &[]),
                service("a.D", &[]),
            ],
        );
        let newer = info(
            "r2",
            [
                ServiceInfo {
                    port: 7,
                    path: "other".to_owned(),
                    ..service("a.B", &[("kept", "1"), ("new", "1"), ("token", "hidden")])
                },
                service("a.D", &[]),
                service("a.E", &[]),
            ],
        );
        let diff = newer.describe(&older);
        assert_eq!(
            diff.to_string(),
            "r1 -> r2: +a.E:tri -a.C:tri ~a.B:tri(~port ~path +new -gone ~token)"
        );
        let change = &diff.changed["a.B:tri"];
        assert!(change.port && change.path);
        assert!(!diff.is_empty() && !format!("{diff:?}").contains("secret"));
    }

    #[test]
    fn two_revisions_of_one_content_differ_in_nothing() {
        let one = info("r1", [service("a.B", &[("a", "1")])]);
        let diff = info("r2", [service("a.B", &[("a", "1")])]).describe(&one);
        assert!(diff.is_empty());
        assert_eq!(diff.to_string(), "r1 -> r2: the same services");
    }

    #[test]
    fn a_line_stays_short_however_much_has_changed() {
        let many = (0..1_000).map(|index| service(&format!("a.S{index:04}"), &[]));
        let line = info("r2", many).describe(&info("r1", [])).to_string();
        assert!(line.ends_with("+a.S0007:tri and 992 more"), "{line}");
        assert!(line.len() < 150, "{line}");
    }
}
