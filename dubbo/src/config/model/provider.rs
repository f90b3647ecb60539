use std::{collections::BTreeMap, time::Duration};

use dubbo_core::{
    service::ServiceDescriptor,
    yaml::{ProblemKind, Section},
};

use super::{LimitsConfig, Secret, UNREAD_IN_GO, settings};

settings! {
    /// `dubbo.provider`: the services of this program (`docs/spec/config.md` §1.13).
    pub struct ProviderConfig {
        /// What applies to every service that does not set it itself: any key of a service but `interface`, written
        /// directly under `provider`.
        defaults: ServiceConfig,
        /// `services`, by name.
        services[service]: BTreeMap<String, ServiceConfig>,
    }
}

impl ProviderConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.no_effect(
            "adaptive-service-verbose",
            "who asks is told with each answer how much room is left",
        );
        for key in ["register", "proxy", "filter_conf", "config_type"] {
            s.no_effect(key, UNREAD_IN_GO);
        }
        Self {
            defaults: ServiceConfig::read_common(s),
            services: s.entries("services", ServiceConfig::read),
        }
    }
}

settings! {
    /// `dubbo.provider.services.<name>`: one service (`docs/spec/config.md` §1.14).
    pub struct ServiceConfig {
        /// `interface`, by default the one of the generated code: the name under which the service is called.
        interface: Option<String>,
        /// `filter`: the filters around each call, in order, behind those that are built in. `default` says where among them
        /// the built-in ones stand, `-name` takes a filter out, and `-default` all that are built in
        /// (`docs/spec/cluster.md` §6.1).
        filter: Option<Vec<String>>,
        /// `registry-ids`, by default all: where the service is registered. An empty list is all of them, too.
        registry_ids: Option<Vec<String>>,
        /// `protocol-ids`, by default all: which protocols serve it. An empty list is all of them, too.
        protocol_ids: Option<Vec<String>>,
        /// `group`, by default that of the application.
        group: Option<String>,
        /// `version`, by default that of the application.
        version: Option<String>,
        /// `cluster`: published, as a hint for consumers of other implementations that set none.
        cluster: Option<String>,
        /// `loadbalance`: published as such a hint, too.
        loadbalance: Option<String>,
        /// `retries`: attempts after the first; published as such a hint, too.
        retries: Option<i32>,
        /// `serialization`, by default what the service is defined for: `protobuf` for one of a proto file, `hessian2` for
        /// a Java interface. `json`, for one of a proto file: consumers that do not say otherwise send messages as JSON, and
        /// are answered so. Both are read in any case.
        serialization: Option<Serialization>,
        /// `params`: further URL parameters. The settings here win over them.
        params[param]: BTreeMap<String, String>,
        /// `not_register`, by default false: serve it and tell no registry.
        not_register: Option<bool>,
        /// `tag`, published as `dubbo.tag`, by default that of the application: routers send calls with the same tag here.
        tag: Option<String>,
        /// `weight`, by default 100 and then not published: the share of calls the service wants.
        weight: Option<u32>,
        /// `warmup`, by default 10 min: how long after its start the service takes less than its share. A bare number
        /// counts seconds, as in dubbo-go.
        warmup: Option<Duration>,
        /// `token`: only calls that carry it are served; `true` or `default` makes one up at each start. Consumers learn it
        /// from the registry.
        token: Option<Secret>,
        /// `accesslog`: `true` for an event of each call, or the path of a file, which needs `accesslog.allow-file: true`
        /// among `params`.
        accesslog: Option<String>,
        /// `auth`, by default false: only calls that are signed with a known key are served.
        auth: Option<bool>,
        /// `adaptive-service`, by default false: whether a limit of calls at once is found and kept.
        adaptive_service: Option<bool>,
        /// `tps.*`, `execute.*`: how many calls are taken.
        limits: LimitsConfig,
        /// `methods`, by name: what is different for single methods.
        methods[method]: BTreeMap<String, MethodConfig>,
    }
}

impl ServiceConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            interface: s.string("interface"),
            ..Self::read_common(s)
        }
    }

    fn read_common(s: &mut Section<'_, '_>) -> Self {
        if s.bool("param.sign") == Some(true) {
            let message = "not supported: dubbo-go signs the JSON of its own structs, which no other implementation \
                           writes alike; leave it out or set it to `false`";
            s.error("param.sign", ProblemKind::Unsupported, message);
        }
        if s.node("scope").is_some() {
            let message = "not supported: a service is exported by the protocols that `protocol-ids` names, those of `injvm` \
                           for this instance alone; leave it out";
            s.error("scope", ProblemKind::Unsupported, message);
        }
        s.no_effect("tracing-key", UNREAD_IN_GO);
        Self {
            interface: None,
            filter: s.list("filter"),
            registry_ids: s.list("registry-ids"),
            protocol_ids: s.list("protocol-ids"),
            group: s.string("group"),
            version: s.string("version"),
            cluster: s.string("cluster"),
            loadbalance: s.string("loadbalance"),
            retries: read_retries(s),
            serialization: Serialization::read(s),
            params: s.texts("params"),
            not_register: s.bool("not_register"),
            tag: s.string("tag"),
            weight: s.integer("weight", 0..=MAX_COUNT),
            warmup: s.duration_in_seconds("warmup"),
            token: s.string("token").map(Secret::from),
            accesslog: s.string("accesslog"),
            auth: s.bool("auth"),
            adaptive_service: s.bool("adaptive-service"),
            limits: LimitsConfig::read(s),
            methods: MethodConfig::read_all(s, MethodConfig::read),
        }
    }
}

settings! {
    /// One item of `methods`: what is different for one method of a service or a reference.
    pub struct MethodConfig {
        /// `timeout`: how long one attempt may take. 0 means no limit. A provider's value is published, as a hint for
        /// consumers of other implementations that set none.
        timeout: Option<Duration>,
        /// `retries`: attempts after the first; a provider's value is such a hint, too.
        retries: Option<i32>,
        /// `loadbalance`; a provider's value is such a hint, too.
        loadbalance: Option<String>,
        /// `cluster`: what happens when a call fails; a provider's value is such a hint, too.
        cluster: Option<String>,
        /// `sticky`, by default false: stay with the provider of the last call for as long as it is there.
        sticky: Option<bool>,
        /// `params`: further URL parameters, which plugins read for this method before those of the service.
        params[param]: BTreeMap<String, String>,
        /// `weight`: the share of this method's calls that a provider wants. A consumer has no use for it.
        weight: Option<u32>,
        /// `tps.*`, `execute.*`: how many calls a provider takes. A consumer has no use for it.
        limits: LimitsConfig,
    }
}

impl MethodConfig {
    /// Reads `methods`, a list whose items have a `name` each.
    pub(super) fn read_all(
        s: &mut Section<'_, '_>,
        read: fn(&mut Section<'_, '_>) -> Self,
    ) -> BTreeMap<String, Self> {
        let mut methods = BTreeMap::new();
        s.items("methods", |item| {
            let method = read(item);
            match item.string("name") {
                None => item.error("name", ProblemKind::Missing, "required: the method's name"),
                Some(name) if methods.contains_key(&name) => {
                    let message = format!("a second entry for the method `{name}`");
                    item.error("name", ProblemKind::Duplicate, message);
                }
                Some(name) => drop(methods.insert(name, method)),
            }
        });
        methods
    }

    fn read(s: &mut Section<'_, '_>) -> Self {
        let of_others = "consumers of this framework go by the weight of the service; it is published for those of others";
        s.no_effect("weight", of_others);
        Self {
            weight: s.integer("weight", 0..=MAX_COUNT),
            limits: LimitsConfig::read_of_method(s),
            ..Self::read_common(s)
        }
    }

    /// Reads what a consumer can use.
    pub(super) fn read_consumer(s: &mut Section<'_, '_>) -> Self {
        LimitsConfig::refuse(s);
        s.no_effect("weight", "a weight is the provider's to set");
        Self::read_common(s)
    }

    fn read_common(s: &mut Section<'_, '_>) -> Self {
        Self {
            timeout: s.duration("timeout"),
            retries: read_retries(s),
            loadbalance: s.string("loadbalance"),
            cluster: s.string("cluster"),
            sticky: s.bool("sticky"),
            params: s.texts("params"),
            weight: None,
            limits: LimitsConfig::default(),
        }
    }
}

/// How the arguments and the result of a call are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Serialization {
    /// `hessian2`: values of Java, for a service without a proto file.
    Hessian2,
    /// `json`: messages of a proto file in their JSON form, which dubbo-go's peers read too.
    Json,
    /// `protobuf`: messages of a proto file.
    Protobuf,
}

impl Serialization {
    /// The one in which the messages of `descriptor`'s methods are written, unless somebody says otherwise.
    pub(crate) fn of(descriptor: &ServiceDescriptor) -> Self {
        if descriptor.is_java() {
            Self::Hessian2
        } else {
            Self::Protobuf
        }
    }

    /// Its name in YAML and in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hessian2 => "hessian2",
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        }
    }

    /// What is wrong with it for `descriptor`, if anything is.
    pub(crate) fn misfit(self, descriptor: &ServiceDescriptor) -> Option<String> {
        let why = match (self, descriptor.is_java()) {
            (Self::Hessian2, true) | (Self::Json | Self::Protobuf, false) => return None,
            (Self::Hessian2, false) => {
                "defined in a proto file: its messages are written as `protobuf` or `json`"
            }
            (Self::Json, true) => {
                "a Java interface: its messages are written as `hessian2`, and no peer reads their arguments as JSON \
                 within gRPC's framing"
            }
            (Self::Protobuf, true) => "a Java interface: its messages are written as `hessian2`",
        };
        Some(format!(
            "`serialization` is `{}`, but `{}` is {why}",
            self.name(),
            descriptor.interface()
        ))
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let name = s.string("serialization")?;
        match name.to_ascii_lowercase().as_str() {
            "hessian2" => return Some(Self::Hessian2),
            "protobuf" => return Some(Self::Protobuf),
            "json" => return Some(Self::Json),
            "fastjson2" | "msgpack" => {
                let message =
                    format!("`{name}` is not supported; `protobuf`, `json` and `hessian2` are");
                s.error("serialization", ProblemKind::Unsupported, message);
            }
            _ => {
                let message = format!("expected `protobuf`, `json` or `hessian2`, found `{name}`");
                s.error("serialization", ProblemKind::Type, message);
            }
        }
        None
    }
}

/// Below zero means what zero means, as in Dubbo Java (`docs/spec/cluster.md` §2.2).
pub(super) fn read_retries(s: &mut Section<'_, '_>) -> Option<i32> {
    let text = s.string("retries")?;
    match text.parse::<i64>() {
        Ok(..0) => Some(-1),
        _ => s.integer("retries", 0..=i32::MAX),
    }
}

/// The largest number that the other implementations can read, too.
pub(super) const MAX_COUNT: u32 = i32::MAX.unsigned_abs();
