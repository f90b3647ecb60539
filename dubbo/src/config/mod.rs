//! The configuration: dubbo-go's `dubbo.yaml`, the same in code, and one report of all that is wrong with it.
//!
//! From weak to strong: [`defaults`], the file, the file of the active profile, the document of the config center, the
//! [`Environment`], code. [`load`] takes all but code, which comes between [`read`] and [`Draft::check`]:
//!
//! ```
//! # use dubbo_core::extension::Extensions;
//! use dubbo::config::{self, Environment, LoadOptions};
//!
//! # let extensions = Extensions::none();
//! let file = "
//! dubbo:
//!   application:
//!     name: order-center
//!     version: 1.10
//! ";
//! let options = LoadOptions::text("dubbo.yaml", file)
//!     .environment(Environment::from_iter([("DUBBO_APPLICATION_OWNER", "shop")]));
//!
//! let mut draft = config::read(&options)?;
//! draft.config.application.version = Some("1.11".to_owned());
//! let loaded = draft.check(&extensions)?;
//! assert_eq!(loaded.config.application.owner.as_deref(), Some("shop"));
//! assert_eq!(loaded.warnings, []);
//! # Ok::<_, config::ConfigErrors>(())
//! ```
//!
//! The keys are those of `docs/spec/config.md` §1, and what they mean is on the fields of [`Config`]. Three things are
//! stricter than in dubbo-go: an unknown key is an error (a warning under `dubbo.strict: false`), so is a value of the
//! wrong type, and so is every key whose feature does not exist here. A key that dubbo-go reads nowhere either is accepted
//! with a warning.

mod center;
mod changes;
mod check;
pub mod defaults;
mod env;
mod error;
mod format;
mod load;
mod locate;
mod merge;
mod model;
mod names;
pub(crate) mod observe;
mod placeholder;
mod resolve;
mod sources;

pub use crate::instance::live_keys;
pub use dubbo_core::yaml::{Location, Problem, ProblemKind};
pub use dubbo_protocol::{Compression, TripleDialect, UnknownCompression, UnknownDialect};

pub use self::{
    center::CenterDocument,
    changes::{Change, Tree, changes},
    env::Environment,
    error::ConfigErrors,
    format::Format,
    load::{Draft, LoadOptions, Loaded, load, read},
    model::{
        AggregationConfig, ApplicationConfig, ApplicationMigrationConfig, CompressionConfig,
        Config, ConfigCenterConfig, ConfiguredRule, ConsumerConfig, CorsConfig, EnvConfig,
        Hessian2Config, Layered, LimitsConfig, LogAppender, LogFileConfig, LogFormat, LogLevel,
        LogTraceConfig, LoggerConfig, MetadataCacheConfig, MetadataConfig, MetadataReportConfig,
        MetadataType, MethodConfig, MetricsConfig, MigrationConfig, OpenApiConfig, OtelConfig,
        OtelExporter, OtelPropagator, OtelSampleMode, OtelTracingConfig, PermissionLevel,
        ProbeConfig, PrometheusConfig, PrometheusExporterConfig, ProtocolConfig, ProviderConfig,
        PushgatewayConfig, ReferenceConfig, ReflectionConfig, RegistryConfig, RegistryType,
        RulesConfig, Secret, Serialization, ServiceConfig, ShutdownConfig, TlsConfig, TripleConfig,
        TripleServerConfig,
    },
    sources::Sources,
};

pub(crate) use self::{
    changes::shown,
    check::Served,
    model::{compression, told::Told},
    names::{FILE_CACHE, direct_url},
};

#[cfg(test)]
mod tests;
