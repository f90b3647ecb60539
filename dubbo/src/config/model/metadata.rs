use std::{collections::BTreeMap, time::Duration};

use dubbo_core::yaml::Section;
use dubbo_metadata::{instance::PortMode, revision::Algorithm};

use super::{RegistryConfig, Secret, settings};

settings! {
    /// `dubbo.metadata`: how metadata is made, published and fetched (`docs/spec/metadata.md` §10). These keys are our own.
    pub struct MetadataConfig {
        /// `revision-algorithm`, by default `r1`: what revisions are computed by. `java` and `go332` give those of Dubbo Java
        /// and dubbo-go, for tools that compute them again.
        revision_algorithm: Option<Algorithm>,
        /// `port-mode`, by default `auto`: whether ports stand in the metadata. `auto`: only where a protocol listens on
        /// several; `explicit`: always.
        port_mode: Option<PortMode>,
        /// `export-in-remote`, by default true: whether the application serves its metadata although it is in the report,
        /// so that consumers can ask for what the report does not give.
        export_in_remote: Option<bool>,
        /// `publish-timeout`, by default 30 s: how long publishing into the report is tried before the application is
        /// registered as one that serves its metadata itself.
        publish_timeout: Option<Duration>,
        /// `publish-delay`, by default 1 s: how long nothing may change before a registry is told of a change. While others
        /// follow, a change waits five times as long at most.
        publish_delay: Option<Duration>,
        /// `info-cache-size`, by default 16: how many revisions are answered for that consumers may still ask for, however
        /// long ago others took their place.
        info_cache_size: Option<u32>,
        /// `info-cache-expire`, by default 10 min: how long each such revision is answered for at least, however many there
        /// are.
        info_cache_expire: Option<Duration>,
        /// `secret-params`, by default none: parameters of services that are never told to consumers by way of metadata,
        /// whatever `params-filter` says.
        secret_params: Option<Vec<String>>,
        /// `gc-dry-run`, by default false: whether stale metadata in the report is only counted and told of in the log, and
        /// not removed.
        gc_dry_run: Option<bool>,
        /// `fetch-timeout`, by default 5 s: how long one request for metadata may take.
        fetch_timeout: Option<Duration>,
        /// `fetch-concurrency`, by default 8: how many requests for metadata run at once for one registry.
        fetch_concurrency: Option<u32>,
        /// `stale-grace`, by default 30 s: how long an instance whose new metadata cannot be had is called by its old one.
        stale_grace: Option<Duration>,
        /// `mapping-required`, by default false: whether a start waits until every mapping is written, and fails when one
        /// is not.
        mapping_required: Option<bool>,
        /// `instance-customizer`, by default none: the plugins that add to what the instances of this program say about
        /// themselves ([`InstanceCustomizer`](crate::spi::discovery::InstanceCustomizer)).
        instance_customizer: Option<Vec<String>>,
        /// `cache`: what this program keeps of the metadata of others.
        cache: MetadataCacheConfig,
        /// `compat-go33`, by default true: whether what is published is written where dubbo-go 3.3 reads it, too.
        compat_go33: Option<bool>,
        /// `token`: what callers of the metadata services have to send as the attachment `token`. Consumers find it in the
        /// registry, beside where the metadata service is: it keeps out who reaches the port and not the registry. Never
        /// printed. By default none.
        token: Option<Secret>,
        /// `rate-limit`, by default 200: how many requests a second the metadata services answer each peer. 0 is no limit.
        rate_limit: Option<u32>,
        /// `admin`, by default false: whether operators can call [`metadata::admin`](crate::metadata::admin), by Triple.
        admin: Option<bool>,
    }
}

impl MetadataConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            revision_algorithm: s.choice("revision-algorithm", &ALGORITHMS),
            port_mode: s.choice("port-mode", &PORT_MODES),
            export_in_remote: s.bool("export-in-remote"),
            publish_timeout: s.duration("publish-timeout"),
            publish_delay: s.duration("publish-delay"),
            info_cache_size: s.integer("info-cache-size", 0..=1_000_000),
            info_cache_expire: s.duration("info-cache-expire"),
            secret_params: s.list("secret-params"),
            gc_dry_run: s.bool("gc-dry-run"),
            fetch_timeout: s.duration("fetch-timeout"),
            fetch_concurrency: s.integer("fetch-concurrency", 1..=1_000),
            stale_grace: s.duration("stale-grace"),
            mapping_required: s.bool("mapping-required"),
            instance_customizer: s.list("instance-customizer"),
            cache: s.section("cache", MetadataCacheConfig::read),
            compat_go33: s.bool("compat-go33"),
            token: s.string("token").map(Secret::from),
            rate_limit: s.integer("rate-limit", 0..=1_000_000),
            admin: s.bool("admin"),
        }
    }
}

settings! {
    /// `dubbo.metadata.cache`: what a consumer keeps of the metadata of providers and of mappings, so that it has the
    /// addresses that it had when it starts while a metadata report or providers do not answer (`docs/spec/metadata.md`
    /// §4.4).
    pub struct MetadataCacheConfig {
        /// `enabled`: whether it is kept in files. By default it is, for all registries but `memory` and `file`.
        /// `file-cache: "false"` in the `params` of a registry switches it off for that one, as in Dubbo Java.
        enabled: Option<bool>,
        /// `path`, by default `.dubbo/rust` in the home folder: the folder in which each application has one of its own.
        path: Option<String>,
        /// `size`, by default 64 MiB: about how much of it is kept, in memory and in the file. What instances serve now is
        /// kept in any case.
        size: Option<u64>,
    }
}

impl MetadataCacheConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enabled: s.bool("enabled"),
            path: s.string("path"),
            size: s.size("size"),
        }
    }
}

settings! {
    /// `dubbo.metadata-report`: a store of metadata and mappings beside those of the registries
    /// (`docs/spec/config.md` §1.12).
    pub struct MetadataReportConfig {
        /// `protocol`: the store's plugin. By default the scheme of `address`.
        protocol: Option<String>,
        /// `address`, as that of a registry. Empty or `N/A`, or none at all, means that there is no such store.
        address: Option<String>,
        /// `username`.
        username: Option<String>,
        /// `password`. Never printed.
        password: Option<Secret>,
        /// `timeout`, by default 5 s: how long one request to the store may take.
        timeout: Option<Duration>,
        /// `group`: a space of its own inside the store.
        group: Option<String>,
        /// `namespace`: a space of its own inside the store, for those that have them.
        namespace: Option<String>,
        /// `params`: further parameters for the plugin. They win over the settings above.
        params[param]: BTreeMap<String, String>,
    }
}

impl MetadataReportConfig {
    /// The store at `scheme://host:port`.
    pub fn at(address: impl Into<String>) -> Self {
        Self::new().address(address)
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            protocol: s.string("protocol"),
            address: s.string("address"),
            username: s.string("username"),
            password: s.string("password").map(Secret::from),
            timeout: s.duration("timeout"),
            group: s.string("group"),
            namespace: s.string("namespace"),
            params: s.texts("params"),
        }
    }

    /// The registry that would be reached by the same settings; `None` when there is no such store.
    pub(crate) fn as_registry(&self) -> Option<RegistryConfig> {
        let registry = RegistryConfig {
            protocol: self.protocol.clone(),
            address: self.address.clone(),
            timeout: self.timeout,
            group: self.group.clone(),
            namespace: self.namespace.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            params: self.params.clone(),
            ..RegistryConfig::new()
        };
        let is_set = registry.protocol.is_some() || registry.address.is_some();
        (is_set && !registry.is_off()).then_some(registry)
    }
}

const ALGORITHMS: [(&str, Algorithm); 3] = [
    ("go332", Algorithm::Go332),
    ("java", Algorithm::Java),
    ("r1", Algorithm::R1),
];

const PORT_MODES: [(&str, PortMode); 2] =
    [("auto", PortMode::Auto), ("explicit", PortMode::Explicit)];
