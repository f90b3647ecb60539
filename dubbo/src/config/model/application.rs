use std::fmt;

use dubbo_core::yaml::Section;

use super::{ApplicationMigrationConfig, RegistryType, Secret, registry::TYPES, settings};

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
        /// `qos-enable`, by default false: whether operators are listened to, by HTTP and telnet (`docs/spec/config.md` §6.2).
        qos_enable: Option<bool>,
        /// `qos-check`, by default false: whether a start fails when the port for operators is taken.
        qos_check: Option<bool>,
        /// `qos-host`, by default 127.0.0.1, or all addresses where the port is that of `metrics.probe`, too: where operators
        /// are listened to. Those from elsewhere need a permission.
        qos_host: Option<String>,
        /// `qos-port`, by default 22222: the port for operators. 0 is a free one.
        qos_port: Option<u16>,
        /// `qos-token`: who shows it, as `Authorization: Bearer <token>`, may do everything, wherever it comes from.
        qos_token: Option<Secret>,
        /// `qos-accept-foreign-ip`, by default false: whether callers that are neither on this machine nor on the list may
        /// connect when the level of anonymous callers is `NONE`. It takes a `qos-token` then.
        qos_accept_foreign_ip: Option<bool>,
        /// `qos-accept-foreign-ip-whitelist`: addresses and networks, such as `10.0.0.0/8`, whose callers may do what is
        /// `PROTECTED`.
        qos_accept_foreign_ip_whitelist: Option<Vec<String>>,
        /// `qos-anonymous-access-permission-level`, by default `PUBLIC`: what callers may do that are neither on this machine
        /// nor on the list. `NONE` does not let them connect.
        qos_anonymous_access_permission_level: Option<PermissionLevel>,
        /// `qos-anonymous-access-allow-commands`: the commands that every caller may use.
        qos_anonymous_access_allow_commands: Option<Vec<String>>,
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
            qos_enable: s.bool("qos-enable"),
            qos_check: s.bool("qos-check"),
            qos_host: s.string("qos-host"),
            qos_port: s.integer("qos-port", 0..=u16::MAX),
            qos_token: s.string("qos-token").map(Secret::from),
            qos_accept_foreign_ip: s.bool("qos-accept-foreign-ip"),
            qos_accept_foreign_ip_whitelist: s.list("qos-accept-foreign-ip-whitelist"),
            qos_anonymous_access_permission_level: s
                .choice("qos-anonymous-access-permission-level", &LEVELS),
            qos_anonymous_access_allow_commands: s.list("qos-anonymous-access-allow-commands"),
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

/// What a caller of the port for operators may do (`docs/spec/config.md` §6.2), the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PermissionLevel {
    /// `NONE`: not even connect.
    None,
    /// `PUBLIC`: ask whether the program lives, is ready and has started.
    Public,
    /// `PROTECTED`: look at the program, and move its services.
    Protected,
    /// `PRIVATE`: everything.
    Private,
}

impl PermissionLevel {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Public => "PUBLIC",
            Self::Protected => "PROTECTED",
            Self::Private => "PRIVATE",
        }
    }
}

impl fmt::Display for PermissionLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const LEVELS: [(&str, PermissionLevel); 4] = [
    ("NONE", PermissionLevel::None),
    ("PUBLIC", PermissionLevel::Public),
    ("PROTECTED", PermissionLevel::Protected),
    ("PRIVATE", PermissionLevel::Private),
];

/// As much as consumers add up for thousands of instances without trouble. Registries take more.
const MAX_WEIGHT: u32 = 10_000;

const METADATA_TYPES: [(&str, MetadataType); 2] = [
    ("local", MetadataType::Local),
    ("remote", MetadataType::Remote),
];
