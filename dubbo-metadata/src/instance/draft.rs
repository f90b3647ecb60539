//! From what an instance serves to what a registry is told of it.

use dubbo_core::{
    discovery::{Described, DescribedService, InstanceDraft, ServiceInstance},
    service::ServiceKey,
};

use super::{
    Customizers, Labels, MetaVersion, MetadataServiceParams, Partition, Storage, budget, keys,
};
use crate::model::MetadataInfo;

/// All that the framework knows of an instance (`docs/spec/metadata.md` §7.3).
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// Where it is reached, and the ports of its protocols.
    pub partition: &'a Partition,
    /// What it serves.
    pub info: &'a MetadataInfo,
    /// Where its metadata is read.
    pub storage: Storage,
    /// Its `MetadataService`, if it has one.
    pub metadata_service: Option<&'a (MetadataServiceParams, MetaVersion)>,
    /// What else it says. The tag, the environment and the weight win over labels of their names.
    pub labels: &'a Labels,
    /// When it started, in milliseconds since the epoch, unless its services say earlier.
    pub started_ms: u64,
    /// Its share of the calls, if that is not the usual one.
    pub weight: Option<u32>,
    /// Its tag.
    pub tag: Option<&'a str>,
    /// Its environment.
    pub environment: Option<&'a str>,
    /// The id of the report that holds its metadata, where there are several.
    pub cluster: Option<&'a str>,
}

impl Draft<'_> {
    /// The instance: what the framework writes, then what `customizers` do. If that is longer than Nacos takes, what the
    /// instance can do without is left out in the end: labels and what customizers wrote, longest first, then the timestamp
    /// (`docs/spec/metadata.md` §1.6).
    pub fn instance(&self, customizers: &Customizers) -> Drafted {
        let mut draft = InstanceDraft::new(ServiceInstance::new(&*self.info.app, "", 0));
        for (_, write) in BUILT_IN {
            write(self, &mut draft);
        }
        let mut complaints = customizers.customize(&mut draft, &self.described());
        let mut instance = draft.into_instance();
        complaints.extend(budget::fit(&mut instance.metadata).complaint());
        Drafted {
            instance,
            complaints,
        }
    }

    fn described(&self) -> Described<'_> {
        let mut described = Described::new(&self.info.app, &self.info.revision);
        let services = self.info.services.iter().map(|(key, service)| {
            let name = ServiceKey::new(&*service.name)
                .with_group(&service.group)
                .with_version(&service.version);
            let service = DescribedService::new(name, &service.protocol, &service.params);
            (key.as_str(), service)
        });
        described.services = services.collect();
        described
    }
}

/// An instance as a registry is to be told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drafted {
    /// The instance.
    pub instance: ServiceInstance,
    /// What somebody should know of how it came about: customizers that failed, and what was left out.
    pub complaints: Vec<String>,
}

/// What the framework writes, by orders below those of all others; a later one wins over an earlier one. The last of all is
/// the check of the length.
const BUILT_IN: [(u16, Write); 8] = [
    (0, |of, draft| {
        draft.set(keys::STORAGE_TYPE, of.storage.as_str());
        draft.set(keys::REVISION, &*of.info.revision);
    }),
    (10, |of, draft| {
        draft.set_address(&*of.partition.host, of.partition.port);
    }),
    (20, |of, draft| {
        draft.set(keys::ENDPOINTS, of.partition.endpoints.to_json());
    }),
    (30, |of, draft| {
        if let Some((params, version)) = of.metadata_service {
            draft.set(keys::METADATA_SERVICE_PARAMS, params.to_json());
            draft.set(keys::META_V, version.as_str());
        }
    }),
    (40, |of, draft| {
        for (label, value) in of.labels.iter() {
            draft.set(label, value);
        }
    }),
    (50, |of, draft| {
        let params = &of.partition.params;
        // A params filter may include whatever it likes.
        let others = params.entries();
        for (key, value) in others.filter(|(key, _)| !keys::OWN.contains(key)) {
            draft.set(key, value);
        }
        let started = params.timestamp_ms.unwrap_or(of.started_ms);
        draft.set(keys::TIMESTAMP, started.min(of.started_ms).to_string());
        if let Some(weight) = of.weight {
            draft.set_weight(weight);
        }
    }),
    (60, |of, draft| {
        set_if_any(draft, keys::TAG, of.tag);
        set_if_any(draft, keys::ENVIRONMENT, of.environment);
    }),
    (70, |of, draft| set_if_any(draft, keys::CLUSTER, of.cluster)),
];

type Write = fn(&Draft<'_>, &mut InstanceDraft);

fn set_if_any(draft: &mut InstanceDraft, key: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        draft.set(key, value);
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use dubbo_core::{discovery::InstanceCustomizer, extension::BoxError};

    use super::*;
    use crate::{
        instance::Endpoints,
        model::{InstanceParams, ServiceInfo},
        revision::Algorithm,
    };

    struct Fixture {
        partition: Partition,
        info: MetadataInfo,
        labels: Labels,
        metadata_service: (MetadataServiceParams, MetaVersion),
    }

    impl Fixture {
        fn new() -> Self {
            let service = ServiceInfo {
                name: "greet.Greeter".into(),
                group: "g".into(),
                version: "1".into(),
                protocol: "tri".into(),
                params: BTreeMap::from([("timeout".into(), "5".into())]),
                ..ServiceInfo::default()
            };
            Self {
                partition: Partition {
                    host: "10.0.0.1".into(),
                    port: 50051,
                    endpoints: Endpoints::from_iter([
                        ("tri".into(), 50051),
                        ("dubbo".into(), 20000),
                    ]),
                    services: Vec::new(),
                    params: InstanceParams::default(),
                },
                info: MetadataInfo::new("demo", [service.into()], Algorithm::R1),
                labels: Labels::default(),
                metadata_service: (MetadataServiceParams::new("tri", 50051), MetaVersion::V2),
            }
        }

        fn draft(&self) -> Draft<'_> {
            Draft {
                partition: &self.partition,
                info: &self.info,
                storage: Storage::Local,
                metadata_service: None,
                labels: &self.labels,
                started_ms: 1_700_000_000_000,
                weight: None,
                tag: None,
                environment: None,
                cluster: None,
            }
        }
    }

    fn labels(text: &str) -> Labels {
        text.parse().expect("labels")
    }

    fn told(draft: &Draft<'_>) -> ServiceInstance {
        let Drafted {
            instance,
            complaints,
        } = draft.instance(&Customizers::default());
        assert!(complaints.is_empty(), "{complaints:?}");
        instance
    }

    fn keys_of(instance: &ServiceInstance) -> Vec<&str> {
        instance.metadata.keys().collect()
    }

    #[test]
    fn what_the_framework_writes_stands_in_its_order_before_all_others() {
        let orders = BUILT_IN.map(|(order, _)| order);
        assert_eq!(orders, [0, 10, 20, 30, 40, 50, 60, 70]);
    }

    #[test]
    fn all_that_is_there_is_written_under_its_key() {
        let mut fixture = Fixture::new();
        fixture.labels = labels("zone=a;dubbo.tag=of the labels;weight=1");
        let instance = told(&Draft {
            metadata_service: Some(&fixture.metadata_service),
            weight: Some(50),
            tag: Some("gray"),
            environment: Some("prod"),
            cluster: Some("a"),
            storage: Storage::Remote,
            ..fixture.draft()
        });
        assert_eq!(
            (instance.id().as_str(), instance.weight),
            ("10.0.0.1:50051", 50)
        );
        let metadata: Vec<_> = instance
            .metadata
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        assert_eq!(
            metadata,
            [
                r#"dubbo.endpoints=[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#,
                r#"dubbo.metadata-service.url-params={"version":"1.0.0","port":"50051","protocol":"tri"}"#,
                "dubbo.metadata.cluster=a",
                &format!("dubbo.metadata.revision={}", fixture.info.revision),
                "dubbo.metadata.storage-type=remote",
                "dubbo.tag=gray",
                "environment=prod",
                "meta-v=2.0.0",
                "timestamp=1700000000000",
                "weight=50",
                "zone=a",
            ]
        );
    }

    #[test]
    fn what_is_absent_is_not_written_and_labels_stand_in() {
        let mut fixture = Fixture::new();
        let instance = told(&Draft {
            tag: Some(""),
            ..fixture.draft()
        });
        assert_eq!(
            keys_of(&instance),
            [
                "dubbo.endpoints",
                "dubbo.metadata.revision",
                "dubbo.metadata.storage-type",
                "timestamp"
            ]
        );
        assert_eq!(instance.weight, 100);
        fixture.labels = labels("dubbo.tag=of the labels");
        assert_eq!(
            &told(&fixture.draft()).metadata["dubbo.tag"],
            "of the labels"
        );
    }

    #[test]
    fn what_services_say_of_their_instance_is_written_but_for_what_is_the_frameworks() {
        let mut fixture = Fixture::new();
        let params = &mut fixture.partition.params;
        params.timestamp_ms = Some(1);
        params.ipv6 = Some("fe80::1".into());
        params.more = BTreeMap::from([
            ("dubbo.endpoints".into(), "[]".into()),
            ("owner".into(), "me".into()),
        ]);
        let metadata = told(&fixture.draft()).metadata;
        let said = |key: &str| metadata.get(key);
        assert_eq!(said("timestamp"), Some("1"));
        assert_eq!(said("ipv6"), Some("fe80::1"));
        assert_eq!(said("owner"), Some("me"));
        assert_ne!(said("dubbo.endpoints"), Some("[]"));
    }

    struct Talkative;

    impl InstanceCustomizer for Talkative {
        fn customize(
            &self,
            draft: &mut InstanceDraft,
            described: &Described<'_>,
        ) -> Result<(), BoxError> {
            let services = described.services.iter().map(|(key, service)| {
                format!(
                    "{key} {} {} {:?}",
                    service.service, service.protocol, service.params
                )
            });
            draft.set("services", services.collect::<Vec<_>>().join("; "));
            draft.set("longest", "x".repeat(800));
            draft.set("long", "x".repeat(400));
            Ok(())
        }
    }

    #[test]
    fn the_length_is_checked_last_of_all() {
        let mut fixture = Fixture::new();
        fixture.labels = labels(&format!("longer={}", "x".repeat(500)));
        let customizers = Customizers::new(vec![("talkative".into(), Arc::new(Talkative))]);
        let Drafted {
            instance,
            complaints,
        } = fixture
            .draft()
            .instance(&customizers.expect("an order of its own"));
        assert_eq!(
            complaints,
            [
                "the metadata of the instance is longer than the 1024 characters that Nacos takes; left out: longest, longer"
            ]
        );
        assert_eq!(
            keys_of(&instance),
            [
                "dubbo.endpoints",
                "dubbo.metadata.revision",
                "dubbo.metadata.storage-type",
                "long",
                "services",
                "timestamp"
            ],
            "labels and what customizers wrote are left out by their lengths alone"
        );
        assert_eq!(
            &instance.metadata["services"],
            r#"g/greet.Greeter:1:tri g/greet.Greeter:1 tri {"timeout": "5"}"#
        );
    }
}
