//! Answers as messages.

use std::{collections::HashMap, time::Duration};

use dubbo_cluster::migration::{MigrationStatus, MigrationStep, ReferenceStatus};
use dubbo_core::{discovery::ServiceInstance, text_map::TextMap};
use dubbo_metadata::{
    mapping::{MappingView, RegistrationStatus},
    model::{MetadataDiff, MetadataInfo, ServiceDiff, ServiceInfo},
    published::Recorded,
};
use tokio::time::Instant;

use crate::{
    instance::{CallsSeen, ConsumerSeen},
    metadata::admin as proto,
};

/// One revision of a history, at `now`.
pub(super) fn recorded(recorded: &Recorded, now: Instant) -> proto::Revision {
    proto::Revision {
        current: recorded.superseded.is_none(),
        superseded_for_ms: recorded
            .superseded
            .map(|at| millis(now.saturating_duration_since(at))),
        ..proto::Revision::from(&*recorded.published.info)
    }
}

/// What a consumer knows of a mapping by `registry`.
pub(super) fn mapping(registry: &str, mapping: MappingView) -> proto::Mapping {
    proto::Mapping {
        registry: registry.to_owned(),
        interface: mapping.interface,
        applications: mapping.applications,
        evidence: mapping.evidence,
        lag_ms: mapping.lag.map(millis),
    }
}

impl From<&MetadataInfo> for proto::Revision {
    /// Current, as who asks for nothing else means it.
    fn from(info: &MetadataInfo) -> Self {
        let services = info.services.iter();
        Self {
            revision: info.revision.clone(),
            current: true,
            superseded_for_ms: None,
            services: services
                .map(|(key, service)| (key.clone(), proto::Service::from(&**service)))
                .collect(),
        }
    }
}

impl From<&ServiceInfo> for proto::Service {
    fn from(service: &ServiceInfo) -> Self {
        Self {
            name: service.name.clone(),
            group: service.group.clone(),
            version: service.version.clone(),
            protocol: service.protocol.clone(),
            port: service.port,
            path: service.path.clone(),
            params: service.params.clone().into_iter().collect(),
        }
    }
}

impl From<MetadataDiff> for proto::MetadataDiff {
    fn from(diff: MetadataDiff) -> Self {
        let text = diff.to_string();
        let changed = diff.changed.into_iter();
        Self {
            older: diff.older,
            newer: diff.newer,
            added: diff.added.into_iter().collect(),
            removed: diff.removed.into_iter().collect(),
            changed: changed.map(|(key, change)| (key, change.into())).collect(),
            text,
        }
    }
}

impl From<ServiceDiff> for proto::ServiceDiff {
    fn from(diff: ServiceDiff) -> Self {
        Self {
            params_added: diff.params_added.into_iter().collect(),
            params_removed: diff.params_removed.into_iter().collect(),
            params_changed: diff.params_changed.into_iter().collect(),
            port_changed: diff.port,
            path_changed: diff.path,
        }
    }
}

fn owned(metadata: &TextMap) -> HashMap<String, String> {
    let entries = metadata.iter();
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    entries.map(owned).collect()
}

impl From<&ServiceInstance> for proto::Instance {
    fn from(instance: &ServiceInstance) -> Self {
        Self {
            host: instance.host.to_string(),
            port: i32::from(instance.port),
            weight: instance.weight,
            enabled: instance.enabled,
            healthy: instance.healthy,
            metadata: owned(&instance.metadata),
        }
    }
}

impl From<RegistrationStatus> for proto::Registration {
    fn from(status: RegistrationStatus) -> Self {
        Self {
            interface: status.interface,
            report: status.report,
            written: status.written,
            error: status
                .error
                .map(|error| error.to_string())
                .unwrap_or_default(),
        }
    }
}

impl From<MigrationStatus> for proto::MigrationStatusResponse {
    fn from(status: MigrationStatus) -> Self {
        Self {
            application: status.application,
            rule_from: status.rule.unwrap_or_default(),
            refused: status.refused.unwrap_or_default(),
            references: status.references.iter().map(Into::into).collect(),
        }
    }
}

impl From<&ReferenceStatus> for proto::ReferenceMigration {
    fn from(status: &ReferenceStatus) -> Self {
        let addresses = |count: Option<usize>| count.and_then(|count| u64::try_from(count).ok());
        Self {
            service: status.service.to_string(),
            registry: status.registry.clone(),
            step: status.step.name().to_owned(),
            said_by: status.said_by.clone(),
            threshold: status.threshold,
            proportion: u32::from(status.proportion),
            wanted: status.wanted.map_or("", MigrationStep::name).to_owned(),
            refused: status.refused.clone().unwrap_or_default(),
            preferred: status.preferred.name().to_owned(),
            why: status.why.clone(),
            application_addresses: addresses(status.application_addresses),
            interface_addresses: addresses(status.interface_addresses),
            application_calls: status.application_calls,
            interface_calls: status.interface_calls,
            consumption: status.consumption(),
            migration_step_status: status.migration_step_status(),
            text: status.to_string(),
        }
    }
}

impl From<ConsumerSeen> for proto::ConsumerSeen {
    fn from(seen: ConsumerSeen) -> Self {
        Self {
            service: seen.service.to_string(),
            application: seen.application,
            by_application: Some(seen.by_application.into()),
            by_interface: Some(seen.by_interface.into()),
            unsaid: Some(seen.unsaid.into()),
        }
    }
}

impl From<CallsSeen> for proto::CallsSeen {
    fn from(seen: CallsSeen) -> Self {
        Self {
            calls: seen.calls,
            last_ms_ago: seen.last.map(millis),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
