//! What an instance says about itself in a registry (`docs/spec/metadata.md` §1.6).

mod budget;
mod customizers;
mod draft;
mod endpoints;
mod labels;
mod metadata_service;
mod partition;

pub use customizers::Customizers;
pub use draft::{Draft, Drafted};
pub use endpoints::Endpoints;
pub use labels::Labels;
pub use metadata_service::{MetaVersion, MetadataServiceParams};
pub use partition::{Exported, Partition, PortMode, partition};

/// The keys of an instance's metadata.
pub mod keys {
    /// The id of the report that holds the metadata, where there are several.
    pub const CLUSTER: &str = "dubbo.metadata.cluster";
    /// The [ports by protocol](super::Endpoints).
    pub const ENDPOINTS: &str = "dubbo.endpoints";
    /// The environment, such as `prod`.
    pub const ENVIRONMENT: &str = "environment";
    /// How long the instance does without a heartbeat, in milliseconds.
    pub const HEARTBEAT_TIMEOUT: &str = "heartbeat.timeout";
    /// The other address of the instance.
    pub const IPV6: &str = "ipv6";
    /// Which [version](super::MetaVersion) of the `MetadataService` is there.
    pub const META_V: &str = "meta-v";
    /// How to [reach the `MetadataService`](super::MetadataServiceParams).
    pub const METADATA_SERVICE_PARAMS: &str = "dubbo.metadata-service.url-params";
    /// URLs of the `MetadataService`, a JSON array: in the place of the parameters, from peers of Spring Cloud.
    pub const METADATA_SERVICE_URLS: &str = "dubbo.metadata-service.urls";
    /// The revision of what the instance serves.
    pub const REVISION: &str = "dubbo.metadata.revision";
    /// Where the metadata is [kept](super::Storage).
    pub const STORAGE_TYPE: &str = "dubbo.metadata.storage-type";
    /// The digest of what the instance consumes. Of dubbo-go only.
    pub const SUBSCRIBED_REVISION: &str = "dubbo.subscribed-services.revision";
    /// The tag, for tag routing.
    pub const TAG: &str = "dubbo.tag";
    /// When the instance started, in milliseconds since the epoch.
    pub const TIMESTAMP: &str = "timestamp";
    /// The share of the calls, where 100 is the usual one.
    pub const WEIGHT: &str = "weight";

    /// Those by which an instance and its services are found. Nobody but the framework writes them.
    pub const OWN: [&str; 6] = [
        CLUSTER,
        ENDPOINTS,
        META_V,
        METADATA_SERVICE_PARAMS,
        REVISION,
        STORAGE_TYPE,
    ];
}

/// Where the metadata of an instance is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Storage {
    /// From the instance itself, by a call.
    #[default]
    Local,
    /// From a metadata report.
    Remote,
}

impl Storage {
    /// Reads `dubbo.metadata.storage-type`: whatever is not `remote` means the instance itself, as for all peers.
    pub fn of(value: Option<&str>) -> Self {
        match value {
            Some("remote") => Self::Remote,
            _ => Self::Local,
        }
    }

    /// The value of `dubbo.metadata.storage-type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}
