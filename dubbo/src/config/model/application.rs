use dubbo_core::yaml::Section;

use super::{ApplicationMigrationConfig, RegistryType, registry::TYPES, settings};

settings! {
    /// `dubbo.application`: what this program is called (`docs/spec/config.md` §1.8).
    ///
    /// All of it is published with every service, in the URL parameters named below. What is not set is not published;
    /// dubbo-go publishes sample values such as `organization=dubbo-go` there.
    pub struct ApplicationConfig {
        /// `name`, by default `dubbo.io`: the name in registries, in `application`, and in what consumers see.
        name: Option<String>,
        /// `organization`, published as `organization`.
        organization: Option<String>,
        /// `module`, published as `module`.
        module: Option<String>,
        /// `owner`, published as `owner`.
        owner: Option<String>,
        /// `environment`, published as `environment`.
        environment: Option<String>,
        /// `group`: the group of every service and reference that sets none.
        group: Option<String>,
        /// `version`: the version of every service and reference that sets none.
        version: Option<String>,
        /// `tag`, published as `application.tag`: the tag of every service that sets none.
        tag: Option<String>,
        /// `weight`, by default 100: the share of calls that an instance of this application is to have, whatever weights
        /// its services have. Where the registry has weights it is the registry's too.
        weight: Option<u32>,
        /// `protocol`, by default `tri`, else `dubbo`, else the first by name: the protocol whose port stands for the whole
        /// instance in registries.
        protocol: Option<String>,
        /// `metadata-type`, by default `local`: where consumers get the metadata of this application from.
        metadata_type: Option<MetadataType>,
        /// `metadata-service-port`, by default that of the first protocol that can serve it: where consumers ask this
        /// program for its metadata.
        metadata_service_port: Option<u16>,
        /// `metadata-service-protocol`, by default `tri` where there is a server of it, else `dubbo`: how they ask.
        metadata_service_protocol: Option<String>,
        /// `register-mode`, as that of a registry: for those that do not say it themselves.
        register_mode: Option<RegistryType>,
        /// `migration`: how references that are followed both ways migrate.
        migration: ApplicationMigrationConfig,
    }
}

impl<T: Into<String>> From<T> for ApplicationConfig {
    /// The application of this name.
    fn from(name: T) -> Self {
        Self::new().name(name)
    }
}

impl ApplicationConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            name: s.string("name"),
            organization: s.string("organization"),
            module: s.string("module"),
            owner: s.string("owner"),
            environment: s.string("environment"),
            group: s.string("group"),
            version: s.string("version"),
            tag: s.string("tag"),
            weight: s.integer("weight", 1..=MAX_WEIGHT),
            protocol: s.string("protocol"),
            metadata_type: s.choice("metadata-type", &METADATA_TYPES),
            metadata_service_port: s.integer("metadata-service-port", 1..=u16::MAX),
            metadata_service_protocol: s.string("metadata-service-protocol"),
            register_mode: s.choice("register-mode", &TYPES),
            migration: ApplicationMigrationConfig::read(s),
        }
    }
}

/// Where consumers get an application's metadata from (`docs/spec/metadata.md` §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataType {
    /// `local`: from the application itself, which serves it.
    Local,
    /// `remote`: from the metadata report, or from the application where that fails.
    Remote,
}

/// As much as consumers add up for thousands of instances without trouble. Registries take more.
const MAX_WEIGHT: u32 = 10_000;

const METADATA_TYPES: [(&str, MetadataType); 2] = [
    ("local", MetadataType::Local),
    ("remote", MetadataType::Remote),
];
