//! The settings as types: one struct a section, spelled as `docs/spec/config.md` §1 spells its keys.

mod application;
pub(crate) mod compression;
mod consumer;
mod cors;
mod getty;
mod hessian2;
mod labels;
mod limits;
mod logger;
mod metadata;
mod metrics;
mod migration;
mod openapi;
mod otel;
mod protocol;
mod provider;
mod reflection;
mod registry;
mod retry;
mod rules;
mod secret;
mod settings;
mod shutdown;
mod tls;
pub(super) mod told;
mod triple_server;

use std::collections::BTreeMap;

use dubbo_cluster::resend::PolicyDocument;
use dubbo_core::yaml::{Node, Section};

pub use dubbo_cluster::router::ConfiguredRule;

use self::settings::settings;
pub use self::{
    application::{ApplicationConfig, MetadataType, PermissionLevel},
    compression::CompressionConfig,
    consumer::{ConsumerConfig, ReferenceConfig},
    cors::CorsConfig,
    hessian2::Hessian2Config,
    labels::EnvConfig,
    limits::LimitsConfig,
    logger::{LogAppender, LogFileConfig, LogFormat, LogLevel, LogTraceConfig, LoggerConfig},
    metadata::{MetadataCacheConfig, MetadataConfig, MetadataReportConfig},
    metrics::{
        AggregationConfig, MetricsConfig, ProbeConfig, PrometheusConfig, PrometheusExporterConfig,
        PushgatewayConfig,
    },
    migration::{ApplicationMigrationConfig, MigrationConfig},
    openapi::OpenApiConfig,
    otel::{OtelConfig, OtelExporter, OtelPropagator, OtelSampleMode, OtelTracingConfig},
    protocol::{ProtocolConfig, TripleConfig},
    provider::{MethodConfig, ProviderConfig, Serialization, ServiceConfig},
    reflection::ReflectionConfig,
    registry::{RegistryConfig, RegistryType},
    rules::{ConfigCenterConfig, RulesConfig},
    secret::Secret,
    settings::Layered,
    shutdown::ShutdownConfig,
    tls::TlsConfig,
    triple_server::TripleServerConfig,
};

settings! {
    /// Everything that is set under `dubbo`.
    ///
    /// What is not set is `None` or empty and means what [`defaults`](crate::config::defaults) says. Each field can be set
    /// by the method of its name, so a configuration is written in code as it is in YAML:
    ///
    /// ```
    /// use std::time::Duration;
    /// use dubbo::config::{ApplicationConfig, Config, ConsumerConfig, ProtocolConfig, ReferenceConfig};
    ///
    /// let config = Config::new()
    ///     .application(ApplicationConfig::new().name("order-center"))
    ///     .protocol("tri", ProtocolConfig::tri().port(20_000))
    ///     .consumer(
    ///         ConsumerConfig::new()
    ///             .request_timeout(Duration::from_secs(2))
    ///             .reference("Users", ReferenceConfig::new().interface("shop.UserService").retries(0)),
    ///     );
    /// assert_eq!(config.consumer.references["Users"].retries, Some(0));
    /// ```
    pub struct Config {
        /// `application`: what this program is called.
        application: ApplicationConfig,
        /// `labels`: what every instance of this program says about itself besides: a map, or a text such as
        /// `zone=east;rack=r7`.
        labels[label]: BTreeMap<String, String>,
        /// `env`: which environment variables every instance says about itself.
        env: EnvConfig,
        /// `protocols`, by id: what this program serves. None means one: `tri` on its default port.
        protocols[protocol]: BTreeMap<String, ProtocolConfig>,
        /// `registries`, by id: where providers and consumers find each other. None means that nothing is registered.
        registries[registry]: BTreeMap<String, RegistryConfig>,
        /// `metadata`: how metadata is made, published and fetched.
        metadata: MetadataConfig,
        /// `metadata-report`: a store of metadata and mappings beside those of the registries.
        metadata_report: MetadataReportConfig,
        /// `config-center`: where rules are kept, if not in the registries.
        config_center: ConfigCenterConfig,
        /// `rules`: rules in files.
        rules: RulesConfig,
        /// `router`: rules for calls that count until somebody else says others.
        router: Option<Vec<ConfiguredRule>>,
        /// `migration`, `migration-file`: moving from interfaces to applications.
        migration: MigrationConfig,
        /// `provider`: the services of this program.
        provider: ProviderConfig,
        /// `consumer`: the services that this program calls.
        consumer: ConsumerConfig,
        /// `retry`: how calls are tried again, and what becomes of those that fail for good.
        retry: Option<PolicyDocument>,
        /// `metrics`: what is counted of calls.
        metrics: MetricsConfig,
        /// `otel`: what goes to OpenTelemetry.
        otel: OtelConfig,
        /// `shutdown`: how this program ends.
        shutdown: ShutdownConfig,
        /// `logger`: what is logged, and how.
        logger: LoggerConfig,
        /// `tls_config`: the certificates of this program, and those that it trusts.
        tls_config: TlsConfig,
        /// `hessian2`: what peers may send in hessian2.
        hessian2: Hessian2Config,
        /// `custom`: settings of the program itself, of any shape. Nothing here reads them; placeholders can name them.
        custom: Option<Node>,
        /// `strict`, by default true: whether an unknown key and a placeholder without a value are errors. If false they
        /// are warnings.
        strict: Option<bool>,
    }
}

impl Config {
    /// Reads the section `dubbo`.
    pub(crate) fn read(s: &mut Section<'_, '_>) -> Self {
        s.no_effect(
            "tracing",
            "dubbo-go does not read these OpenTracing settings either",
        );
        s.no_effect("event-dispatcher-type", UNREAD_IN_GO);
        s.no_effect("cache_file", UNREAD_IN_GO);
        s.section("profiles", |profiles| {
            profiles.string("active");
        });
        Self {
            application: s.section("application", ApplicationConfig::read),
            labels: labels::read(s),
            env: s.section("env", EnvConfig::read),
            protocols: s.entries("protocols", ProtocolConfig::read),
            registries: s.entries("registries", RegistryConfig::read),
            metadata: s.section("metadata", MetadataConfig::read),
            metadata_report: s.section("metadata-report", MetadataReportConfig::read),
            config_center: s.section("config-center", ConfigCenterConfig::read),
            rules: s.section("rules", RulesConfig::read),
            router: read_router(s),
            migration: MigrationConfig::read(s),
            provider: s.section("provider", ProviderConfig::read),
            consumer: s.section("consumer", ConsumerConfig::read),
            retry: retry::read(s),
            metrics: s.section("metrics", MetricsConfig::read),
            otel: s.section("otel", OtelConfig::read),
            shutdown: s.section("shutdown", ShutdownConfig::read),
            logger: s.section("logger", LoggerConfig::read),
            tls_config: s.section("tls_config", TlsConfig::read),
            hessian2: s.section("hessian2", Hessian2Config::read),
            custom: s.node("custom").map(std::borrow::Cow::into_owned),
            strict: s.bool("strict"),
        }
    }
}

fn read_router(s: &mut Section<'_, '_>) -> Option<Vec<ConfiguredRule>> {
    let rules = s.items("router", ConfiguredRule::read).concat();
    (!rules.is_empty()).then_some(rules)
}

/// Why a key that dubbo-go knows and never reads has no effect here.
const UNREAD_IN_GO: &str = "dubbo-go does not read it either";
