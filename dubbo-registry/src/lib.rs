//! Where providers are found: the registries that are built in.
//!
//! `docs/spec/registry.md` says what is registered, where, and who sees it. Plugins that this crate links: registry
//! `memory`.

mod backend;
mod center;
mod clients;
mod errors;
mod instances;
mod interface;
mod keys;
mod layout;
pub mod matching;
pub mod memory;
mod reconcile;
mod report;

#[cfg(test)]
mod tests {
    use dubbo_core::{extension::Extensions, registry::Registry};

    #[test]
    fn what_is_linked_is_what_the_documentation_says() {
        let linked = Extensions::linked().expect("no duplicates");
        assert_eq!(linked.names::<dyn Registry>(), ["memory"]);
    }
}
