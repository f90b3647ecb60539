//! Where providers are found: the registries that are built in.
//!
//! `docs/spec/registry.md` says what is registered, where, and who sees it. Plugins that this crate links: registries
//! `file` and `memory`, and with the features of their names `etcd` (its plugins are called `etcdv3`, or `etcd`),
//! `nacos` and `zookeeper`, which are service discovery, metadata report and config center too.

mod backend;
mod center;
mod clients;
mod errors;
#[cfg(feature = "etcd")]
mod etcd;
pub mod file;
#[cfg(test)]
mod flaky;
mod instances;
mod interface;
mod keys;
mod layout;
pub mod matching;
pub mod memory;
#[cfg(feature = "nacos")]
mod nacos;
mod parameters;
mod plain;
mod reconcile;
mod report;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
mod tree;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use parameters::parameters;

#[cfg(test)]
mod tests {
    use dubbo_core::{extension::Extensions, registry::Registry};

    #[test]
    fn what_is_linked_is_what_the_documentation_says() {
        let linked = Extensions::linked().expect("no duplicates");
        let mut registries = Vec::new();
        registries.extend(cfg!(feature = "etcd").then_some("etcdv3"));
        registries.extend(["file", "memory"]);
        registries.extend(cfg!(feature = "nacos").then_some("nacos"));
        registries.extend(cfg!(feature = "zookeeper").then_some("zookeeper"));
        assert_eq!(linked.names::<dyn Registry>(), registries);
    }
}
