use std::{collections::BTreeMap, time::Duration};

use dubbo_core::yaml::{ProblemKind, Section};
use dubbo_protocol::java::GenericMode;

use super::{
    MethodConfig, Serialization, TripleConfig, UNREAD_IN_GO, provider::read_retries, settings,
};
use crate::config::Layered as _;

settings! {
    /// `dubbo.consumer`: the services that this program calls (`docs/spec/config.md` §1.15).
    pub struct ConsumerConfig {
        /// `filter`: the filters around each call of the references that set none, as at a service. A name means the filter
        /// of calls, that of attempts, or both (`docs/spec/cluster.md` §1.1).
        filter: Option<Vec<String>>,
        /// `registry-ids`, by default all: where references that set none look for providers.
        registry_ids: Option<Vec<String>>,
        /// `protocol`, by default `tri`: the protocol of references that set none.
        protocol: Option<String>,
        /// `request-timeout`, by default 3 s: how long one attempt may take where nothing nearer says so. 0 means no
        /// limit.
        request_timeout: Option<Duration>,
        /// `check`, by default true: whether a reference without a provider is an error at start.
        check: Option<bool>,
        /// `max-wait-time-for-service-discovery`, by default 3 s: how long `check` waits for the first provider.
        max_wait_time_for_service_discovery: Option<Duration>,
        /// `adaptive-service`, by default false: whether references go to the providers that say that they have the most
        /// room: with the cluster `adaptiveService` and the load balance `p2c`, whatever else is set.
        adaptive_service: Option<bool>,
        /// `references`, by name.
        references[reference]: BTreeMap<String, ReferenceConfig>,
    }
}

impl ConsumerConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.unsupported_switch(
            "mesh-enabled",
            "nothing makes up the addresses of a mesh; name the service of the cluster in the `url` of a reference",
        );
        for key in ["proxy", "filter-conf", "tracing-key"] {
            s.no_effect(key, UNREAD_IN_GO);
        }
        Self {
            filter: s.list("filter"),
            registry_ids: s.list("registry-ids"),
            protocol: s.string("protocol"),
            request_timeout: s.duration("request-timeout"),
            check: s.bool("check"),
            max_wait_time_for_service_discovery: s.duration("max-wait-time-for-service-discovery"),
            adaptive_service: s.bool("adaptive-service"),
            references: s.entries("references", ReferenceConfig::read),
        }
    }
}

settings! {
    /// `dubbo.consumer.references.<name>`: one service that is called (`docs/spec/config.md` §1.16).
    pub struct ReferenceConfig {
        /// `interface`, by default the one of the generated code: the name under which the service is called.
        interface: Option<String>,
        /// `url`: call exactly these addresses and ask no registry. `tri://host:port`, or `host:port` for the protocol of
        /// the reference; in YAML several stand in one text with `;` between them.
        url: Option<Vec<String>>,
        /// `filter`, by default that of the consumer.
        filter: Option<Vec<String>>,
        /// `protocol`, by default that of the consumer.
        protocol: Option<String>,
        /// `registry-ids`, by default those of the consumer.
        registry_ids: Option<Vec<String>>,
        /// `provided_by`: the applications that provide the service, instead of those that the mapping names.
        provided_by: Option<Vec<String>>,
        /// `cluster`, by default `failover`: what happens when a call fails.
        cluster: Option<String>,
        /// `loadbalance`, by default `random`: which provider takes a call.
        loadbalance: Option<String>,
        /// `retries`: attempts after the first, where the cluster makes any; by default 2, for `failback` 3. Below 0 means
        /// none, for `failback` endlessly many.
        retries: Option<i32>,
        /// `group`, by default that of the application.
        group: Option<String>,
        /// `version`, by default that of the application.
        version: Option<String>,
        /// `serialization`, by default what the provider says, as at a provider: `protobuf` or `json`, or `hessian2`.
        serialization: Option<Serialization>,
        /// `params`: further URL parameters. The settings here win over them.
        params[param]: BTreeMap<String, String>,
        /// `generic`, by default `true`: in what form the values of generic calls travel. A client of generated code has no
        /// use for it.
        generic: Option<GenericMode>,
        /// `tag`: that of calls without the attachment `dubbo.tag`. They go to providers of the same tag.
        tag: Option<String>,
        /// `force.tag`, by default false: whether calls with a tag that no provider has go to nobody. Otherwise they go to
        /// providers without a tag.
        force_tag: Option<bool>,
        /// `sticky`, by default false: stay with the provider of the last call for as long as it is there.
        sticky: Option<bool>,
        /// `timeout`, by default `consumer.request-timeout`: how long one attempt may take. 0 means no limit.
        timeout: Option<Duration>,
        /// `check`, by default that of the consumer: whether it is an error at start that there is no provider.
        check: Option<bool>,
        /// `methods`, by name: what is different for single methods.
        methods[method]: BTreeMap<String, MethodConfig>,
        /// `protocol_config.triple`: the settings of this reference's connections.
        triple: TripleConfig,
    }
}

impl ReferenceConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        if s.node("scope").is_some() {
            let message = "not supported: `protocol: injvm` calls the service of this instance, any other protocol one beyond \
                           it; leave it out";
            s.error("scope", ProblemKind::Unsupported, message);
        }
        let why = "there is no `mesh-enabled` here; the port stands in the reference's `url`";
        s.no_effect("mesh-provider-port", why);
        if s.bool("async") == Some(true) {
            s.no_effect("async", "every call is a future");
        }
        s.no_effect("tracing-key", UNREAD_IN_GO);
        let (protocol, mut triple) = read_protocol(s);
        s.deprecated(
            "keep-alive-interval",
            "protocol_config.triple.keep-alive-interval",
        );
        s.deprecated(
            "keep-alive-timeout",
            "protocol_config.triple.keep-alive-timeout",
        );
        triple.complete_from(&TripleConfig {
            keep_alive_interval: s.duration("keep-alive-interval"),
            keep_alive_timeout: s.duration("keep-alive-timeout"),
            ..TripleConfig::default()
        });
        Self {
            interface: s.string("interface"),
            url: s.list_by("url", ';'),
            filter: s.list("filter"),
            protocol,
            registry_ids: s.list("registry-ids"),
            // Dubbo Java has the other spelling.
            provided_by: s.list("provided_by").or_else(|| s.list("provided-by")),
            cluster: s.string("cluster"),
            loadbalance: s.string("loadbalance"),
            retries: read_retries(s),
            group: s.string("group"),
            version: s.string("version"),
            serialization: Serialization::read(s),
            params: s.texts("params"),
            generic: read_generic(s),
            tag: s.string("tag"),
            force_tag: s.bool("force.tag"),
            sticky: s.bool("sticky"),
            timeout: s.duration("timeout"),
            check: s.bool("check"),
            methods: MethodConfig::read_all(s, MethodConfig::read_consumer),
            triple,
        }
    }
}

fn read_generic(s: &mut Section<'_, '_>) -> Option<GenericMode> {
    let text = s.string("generic")?;
    // dubbo-go's other word for a client of generated code.
    if text == "false" {
        return None;
    }
    let mode: Result<GenericMode, _> = text.parse();
    mode.map_err(|error| s.error("generic", ProblemKind::Type, error.to_string()))
        .ok()
}

/// The protocol may be named in two places, which must agree.
fn read_protocol(s: &mut Section<'_, '_>) -> (Option<String>, TripleConfig) {
    let protocol = s.string("protocol");
    s.section("protocol_config", |inner| {
        let name = inner.string("name");
        if let (Some(outer), Some(name)) = (&protocol, &name)
            && !outer.eq_ignore_ascii_case(name)
        {
            let message = format!("`{name}`, but the reference's `protocol` is `{outer}`");
            inner.error("name", ProblemKind::Conflict, message);
        }
        (
            protocol.or(name),
            inner.section("triple", TripleConfig::read_client),
        )
    })
}
