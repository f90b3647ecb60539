//! The types and traits that every part and every plugin of the framework shares.
//!
//! A plugin depends on this crate alone. It implements one of the traits below and links itself by name:
//!
//! | plugin | trait | a configuration names it in |
//! |---|---|---|
//! | filter | [`filter::Filter`] | `filter` |
//! | cluster, load balance, router | [`cluster::Cluster`], [`cluster::LoadBalance`], [`cluster::Router`] | `cluster`, `loadbalance` |
//! | protocol | [`protocol::Protocol`] | `protocols`, the scheme of a URL |
//! | registry | [`registry::Registry`], [`discovery::ServiceDiscovery`] | `registries` |
//! | metadata report, config center | [`metadata::MetadataReport`], [`config_center::ConfigCenter`] | |
//!
//! A call is an [`invocation::Invocation`] that an [`invoker::Invoker`] takes; everything between a caller and a handler
//! is an invoker. `docs/architecture.md` follows one call from end to end.

pub mod attachments;
pub mod backoff;
pub mod call;
pub mod cluster;
#[doc(hidden)]
pub mod codegen;
pub mod config_center;
pub mod context;
pub mod discovery;
pub mod explain;
pub mod extension;
pub mod files;
pub mod filter;
pub mod http;
pub mod invocation;
pub mod invoker;
pub mod list;
pub mod metadata;
pub mod panics;
pub mod payload;
pub mod protocol;
pub mod provider;
pub mod registry;
pub mod request;
pub mod service;
pub mod status;
pub mod stream;
pub mod streaming;
pub mod subscription;
pub mod text_map;
pub mod tls;
pub mod units;
pub mod url;
pub mod yaml;

/// The traits of plugins are object-safe, and what crosses threads can: both are promises, so both are checked here.
#[cfg(test)]
mod promises {
    use super::*;

    fn shared<T: ?Sized + Send + Sync>() {}
    fn sent<T: Send>() {}

    #[test]
    fn plugins_are_objects_that_threads_share() {
        shared::<dyn cluster::Cluster>();
        shared::<dyn cluster::Directory>();
        shared::<dyn cluster::LoadBalance>();
        shared::<dyn cluster::Router>();
        shared::<dyn config_center::ConfigCenter>();
        shared::<dyn discovery::ServiceDiscovery>();
        shared::<dyn filter::Filter>();
        shared::<dyn http::HttpHandler>();
        shared::<dyn invoker::Invoker>();
        shared::<dyn metadata::MetadataReport>();
        shared::<dyn payload::Message>();
        shared::<dyn protocol::Exporter>();
        shared::<dyn protocol::Protocol>();
        shared::<dyn registry::Registry>();
    }

    #[test]
    fn values_cross_threads() {
        shared::<extension::Extensions>();
        shared::<status::Status>();
        shared::<url::Url>();
        shared::<call::Stub>();
        shared::<provider::Service>();
        shared::<payload::Payload>();
        sent::<http::HttpBody>();
        sent::<invocation::Invocation>();
        sent::<invocation::Reply>();
        sent::<streaming::Streaming<()>>();
        sent::<call::CallFuture<'static, ()>>();
    }

    #[test]
    fn what_every_call_moves_stays_small() {
        assert!(
            size_of::<invocation::Invocation>() <= 224,
            "{}",
            size_of::<invocation::Invocation>()
        );
        assert!(
            size_of::<invocation::Reply>() <= 136,
            "{}",
            size_of::<invocation::Reply>()
        );
        assert_eq!(size_of::<payload::Payload>(), 48);
        assert_eq!(size_of::<cluster::Candidates>(), 88);
    }
}
