use dubbo_core::yaml::Section;

use super::settings;

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
        /// `metadata-type`, by default `local`: where consumers get the metadata of this application from.
        metadata_type: Option<MetadataType>,
        /// `metadata-service-port`, by default that of the first protocol that can serve it: where consumers ask this
        /// program for its metadata.
        metadata_service_port: Option<u16>,
        /// `metadata-service-protocol`, by default `tri` where there is a server of it, else `dubbo`: how they ask.
        metadata_service_protocol: Option<String>,
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
            metadata_type: s.choice("metadata-type", &METADATA_TYPES),
            metadata_service_port: s.integer("metadata-service-port", 1..=u16::MAX),
            metadata_service_protocol: s.string("metadata-service-protocol"),
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

const METADATA_TYPES: [(&str, MetadataType); 2] = [
    ("local", MetadataType::Local),
    ("remote", MetadataType::Remote),
];
