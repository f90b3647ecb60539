//! From what an instance serves to what a registry is told of it.

use std::collections::BTreeMap;

use dubbo_core::discovery::ServiceInstance;

use super::{MetaVersion, MetadataServiceParams, Partition, Storage, budget, keys};

/// All that an instance says about itself (`docs/spec/metadata.md` §7.3).
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// The application.
    pub application: &'a str,
    /// Where it is reached, and the ports of its protocols.
    pub partition: &'a Partition,
    /// The revision of what it serves.
    pub revision: &'a str,
    /// Where its metadata is read.
    pub storage: Storage,
    /// Its `MetadataService`, if it has one.
    pub metadata_service: Option<&'a (MetadataServiceParams, MetaVersion)>,
    /// When it started, in milliseconds since the epoch.
    pub started_ms: u64,
    /// Its tag.
    pub tag: Option<&'a str>,
    /// Its environment.
    pub environment: Option<&'a str>,
    /// The id of the report that holds its metadata, where there are several.
    pub cluster: Option<&'a str>,
    /// Whatever else it says. A key of [`keys`] in it has no effect.
    pub labels: &'a BTreeMap<String, String>,
}

impl Draft<'_> {
    /// The instance. If its metadata is longer than Nacos takes, what it can do without is left out, with a warning that
    /// names it: labels, longest first, then the timestamp (`docs/spec/metadata.md` §1.6).
    pub fn instance(&self) -> ServiceInstance {
        let Partition {
            host,
            port,
            endpoints,
            ..
        } = self.partition;
        let mut instance = ServiceInstance::new(self.application, &**host, *port);
        let metadata = &mut instance.metadata;
        let mut set = |key: &str, value: String| metadata.insert(key.to_owned(), value);

        // Labels first: what has a meaning of its own replaces them.
        for (key, value) in self.labels {
            set(key, value.clone());
        }
        set(keys::STORAGE_TYPE, self.storage.as_str().to_owned());
        set(keys::REVISION, self.revision.to_owned());
        set(keys::ENDPOINTS, endpoints.to_json());
        if let Some((params, version)) = self.metadata_service {
            set(keys::METADATA_SERVICE_PARAMS, params.to_json());
            set(keys::META_V, version.as_str().to_owned());
        }
        set(keys::TIMESTAMP, self.started_ms.to_string());
        for (key, value) in [
            (keys::TAG, self.tag),
            (keys::ENVIRONMENT, self.environment),
            (keys::CLUSTER, self.cluster),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                set(key, value.to_owned());
            }
        }

        let left_out = budget::fit(&mut instance.metadata);
        if !left_out.is_empty() {
            tracing::warn!(
                application = self.application,
                instance = instance.id(),
                left_out = left_out.join(", "),
                limit = budget::LIMIT,
                "the metadata of the instance is longer than Nacos takes"
            );
        }
        let length = budget::length(&instance.metadata);
        if length > budget::LIMIT {
            tracing::warn!(
                application = self.application,
                instance = instance.id(),
                length,
                limit = budget::LIMIT,
                "Nacos will refuse the instance: all that is left in its metadata is needed"
            );
        }
        instance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Endpoints;

    fn partition() -> Partition {
        Partition {
            host: "10.0.0.1".into(),
            port: 50051,
            endpoints: Endpoints::from_iter([("tri".into(), 50051), ("dubbo".into(), 20000)]),
            services: Vec::new(),
        }
    }

    fn draft<'a>(partition: &'a Partition, labels: &'a BTreeMap<String, String>) -> Draft<'a> {
        Draft {
            application: "demo",
            partition,
            revision: "222f165004459af76f0540482d98ac81",
            storage: Storage::Local,
            metadata_service: None,
            started_ms: 1_700_000_000_000,
            tag: None,
            environment: None,
            cluster: None,
            labels,
        }
    }

    #[test]
    fn tag_and_environment_stand_in_the_instance() {
        let (partition, labels) = (partition(), BTreeMap::new());
        let instance = Draft {
            tag: Some("gray"),
            environment: Some("prod"),
            ..draft(&partition, &labels)
        }
        .instance();
        assert_eq!(instance.metadata["dubbo.tag"], "gray");
        assert_eq!(instance.metadata["environment"], "prod");
    }

    #[test]
    fn what_is_absent_is_not_written() {
        let (partition, labels) = (partition(), BTreeMap::new());
        let instance = Draft {
            tag: Some(""),
            ..draft(&partition, &labels)
        }
        .instance();
        let keys: Vec<_> = instance.metadata.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "dubbo.endpoints",
                "dubbo.metadata.revision",
                "dubbo.metadata.storage-type",
                "timestamp"
            ]
        );
    }

    #[test]
    fn labels_replace_nothing_and_go_first_when_there_is_too_much() {
        let labels = BTreeMap::from([
            ("dubbo.metadata.revision".into(), "mine".into()),
            ("zone".into(), "a".into()),
            ("long".into(), "x".repeat(900)),
        ]);
        let partition = partition();
        let instance = draft(&partition, &labels).instance();
        assert_eq!(
            instance.metadata["dubbo.metadata.revision"],
            "222f165004459af76f0540482d98ac81"
        );
        assert_eq!(instance.metadata["zone"], "a");
        assert!(!instance.metadata.contains_key("long"));
        assert!(instance.metadata.contains_key("timestamp"));
    }
}
