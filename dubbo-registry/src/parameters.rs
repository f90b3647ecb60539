//! Which parameters the registries of this crate read from their URLs.

#[cfg(feature = "etcd")]
use crate::etcd;
#[cfg(feature = "nacos")]
use crate::nacos;
#[cfg(feature = "zookeeper")]
use crate::zookeeper;
use crate::{file, keys, memory};

/// The parameters that the plugins of this crate called `registry` read from their URL; `None` if there are none of that
/// name. Whoever reads a configuration can tell by it what nobody would look at.
pub fn parameters(registry: &str) -> Option<impl Iterator<Item = &'static str>> {
    let own = match registry.to_ascii_lowercase().as_str() {
        #[cfg(feature = "etcd")]
        "etcdv3" | "etcd" => etcd::PARAMETERS,
        "file" => file::PARAMETERS,
        "memory" => memory::PARAMETERS,
        #[cfg(feature = "nacos")]
        "nacos" => nacos::PARAMETERS,
        #[cfg(feature = "zookeeper")]
        "zookeeper" => zookeeper::PARAMETERS,
        _ => return None,
    };
    Some(own.iter().chain(keys::PARAMETERS).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_others_are_not_known() {
        assert!(parameters("consul").is_none());
        let known: Vec<_> = parameters("MEMORY").expect("is one").collect();
        assert!(
            known.contains(&"group") && known.contains(&"ttl"),
            "{known:?}"
        );
    }

    /// Each line of the table is about one parameter or about several.
    #[cfg(all(feature = "etcd", feature = "nacos", feature = "zookeeper"))]
    #[test]
    fn the_table_in_the_documentation_of_a_registry_has_exactly_those_that_it_reads() {
        use std::collections::BTreeSet;

        for (registry, documentation) in [
            ("etcdv3", include_str!("etcd/mod.rs")),
            ("nacos", include_str!("nacos/mod.rs")),
            ("zookeeper", include_str!("zookeeper/mod.rs")),
        ] {
            let rows = documentation
                .lines()
                .filter_map(|line| line.strip_prefix("//! | `")?.split(" | ").next());
            let documented: BTreeSet<_> = rows
                .flat_map(|row| row.split(','))
                .map(|name| name.trim_matches([' ', '`']))
                .collect();
            let read: BTreeSet<_> = parameters(registry).expect("is one").collect();
            assert_eq!(documented, read, "{registry}");
        }
    }
}
