//! The URLs of providers: what an instance and one of its services say, together.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use dubbo_core::{discovery::ServiceInstance, url::Url};

use super::view::InstanceView;
use crate::{
    instance::keys,
    model::{MetadataInfo, ServiceInfo},
};

/// One service that answers a request, ready to be joined with the instances that serve it.
///
/// `docs/spec/metadata.md` §6.2: the service's parameters win over those of the instance, but for environment, tag and
/// weight, which are the instance's. What the consumer says comes on top later, in its directory.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) service: Arc<ServiceInfo>,
    /// What the URLs of all its providers have in common.
    common: Url,
}

impl Offer {
    pub(super) fn new(
        service: &Arc<ServiceInfo>,
        info: &MetadataInfo,
        extend_params: &BTreeMap<String, String>,
    ) -> Arc<Self> {
        let methods: HashSet<_> = service.methods().collect();
        let mut params: BTreeMap<_, _> = service
            .params
            .iter()
            .map(|(key, value)| (with_methods(key, &methods), value.clone()))
            .collect();
        params.insert("interface".to_owned(), service.name.clone());
        for (key, value) in [("group", &service.group), ("version", &service.version)] {
            // The parameters repeat them for dubbo-go; the fields count.
            params.remove(key);
            if !value.is_empty() {
                params.insert(key.to_owned(), value.clone());
            }
        }
        for (key, value) in [
            ("application", Some(&info.app)),
            (keys::TAG, info.tag.as_ref()),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                params
                    .entry(key.to_owned())
                    .or_insert_with(|| value.clone());
            }
        }
        params.remove(keys::ENVIRONMENT);
        for (key, value) in extend_params {
            params.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let path = if service.path.is_empty() {
            &service.name
        } else {
            &service.path
        };
        Arc::new(Self {
            service: Arc::clone(service),
            common: Url::new(&*service.protocol, "")
                .with_path(path)
                .with_params(params),
        })
    }

    /// Where `view` serves it. `None` if it says no port for the protocol.
    pub(super) fn url(&self, view: &InstanceView) -> Option<Url> {
        let instance = &view.instance;
        let metadata = &instance.metadata;
        // The service's parameters and the consumer's win, but for these.
        let is_own = |key: &str| [keys::ENVIRONMENT, keys::TAG, WEIGHT].contains(&key);
        let own = metadata.texts().filter(|(key, value)| {
            if is_own(key) {
                return !value.is_empty() || self.common.param(key).is_none();
            }
            !is_about_the_instance(key) && self.common.param(key).is_none()
        });
        let url = self
            .common
            .with_host(Arc::clone(&instance.host))
            .with_port(self.port(view)?)
            .with_params(own.map(|(key, value)| (Arc::clone(key), Arc::clone(value))));
        Some(match registered_weight(instance) {
            Some(weight) => url.with_param(WEIGHT, weight),
            None => url,
        })
    }

    /// `docs/spec/metadata.md` §1.7.
    fn port(&self, view: &InstanceView) -> Option<u16> {
        let ServiceInfo { port, protocol, .. } = &*self.service;
        if *port > 0 {
            return u16::try_from(*port).ok();
        }
        if view.endpoints.is_empty() {
            return Some(view.instance.port).filter(|port| *port != 0);
        }
        view.endpoints.port(protocol)
    }
}

/// `<method>.<key>`, as metadata has it, becomes `methods.<method>.<key>`.
fn with_methods(key: &str, methods: &HashSet<&str>) -> String {
    match key.split_once('.') {
        Some((method, _)) if methods.contains(method) => format!("methods.{key}"),
        _ => key.to_owned(),
    }
}

/// What tells how the instance is found and asked, and nothing about calls.
fn is_about_the_instance(key: &str) -> bool {
    let is_tag = key == keys::TAG;
    (key.starts_with("dubbo.") && !is_tag) || [keys::META_V, "id", "registry.id"].contains(&key)
}

/// The weight that the registry has, if somebody set one.
fn registered_weight(instance: &ServiceInstance) -> Option<String> {
    (instance.weight != DEFAULT_WEIGHT).then(|| instance.weight.to_string())
}

const WEIGHT: &str = "weight";
const DEFAULT_WEIGHT: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consumer::view::{EndpointsRead, Serves},
        revision::Algorithm,
    };

    const FIXTURE: &[(&str, &str)] = &[
        (
            "dubbo.metadata.revision",
            "222f165004459af76f0540482d98ac81",
        ),
        ("dubbo.metadata.storage-type", "local"),
        ("meta-v", "2.0.0"),
        ("timestamp", "1700000000000"),
        (
            "dubbo.endpoints",
            r#"[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#,
        ),
    ];

    fn url(
        service: ServiceInfo,
        params: &[(&str, &str)],
        metadata: &[(&str, &str)],
        change: impl FnOnce(&mut ServiceInstance),
    ) -> Option<Url> {
        extended(service, params, metadata, &[], change)
    }

    fn extended(
        service: ServiceInfo,
        params: &[(&str, &str)],
        metadata: &[(&str, &str)],
        extend_params: &[(&str, &str)],
        change: impl FnOnce(&mut ServiceInstance),
    ) -> Option<Url> {
        let owned = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            pairs.collect::<BTreeMap<_, _>>()
        };
        let mut instance = ServiceInstance::new("demo-provider", "10.0.0.1", 20000);
        instance.metadata = metadata.iter().copied().collect();
        change(&mut instance);
        let service = Arc::new(ServiceInfo {
            params: owned(params),
            ..service
        });
        let mut info = MetadataInfo::new("demo-provider", [Arc::clone(&service)], Algorithm::R1);
        info.tag = Some("blue".to_owned());
        let extend_params = owned(extend_params);
        Offer::new(&service, &info, &extend_params).url(&InstanceView {
            id: instance.id().into(),
            endpoints: EndpointsRead::default().of(&instance),
            instance: Arc::new(instance),
            serves: Serves::Nothing,
        })
    }

    fn tri() -> ServiceInfo {
        ServiceInfo {
            name: "a.B".into(),
            protocol: "tri".into(),
            ..ServiceInfo::default()
        }
    }

    #[test]
    fn the_worked_example_of_the_specification() {
        let service = ServiceInfo {
            group: "g1".into(),
            version: "1.0.0".into(),
            path: "a.B".into(),
            ..tri()
        };
        let params = [
            ("application", "demo-provider"),
            ("interface", "a.B"),
            ("group", "g1"),
            ("version", "1.0.0"),
            ("methods", "SayHello,Greet"),
            ("Greet.timeout", "1000"),
            ("release", "dubbo-rust-4.0.0"),
            ("side", "provider"),
            ("dubbo.tag", "gray"),
        ];
        let url = url(service, &params, FIXTURE, |_| {}).expect("a port");
        assert_eq!(
            url.to_string(),
            "tri://10.0.0.1:50051/a.B?application=demo-provider&dubbo.tag=gray&group=g1&interface=a.B&\
             methods=SayHello,Greet&methods.Greet.timeout=1000&release=dubbo-rust-4.0.0&side=provider&\
             timestamp=1700000000000&version=1.0.0"
        );
    }

    #[test]
    fn what_the_consumer_adds_wins_over_the_instance_and_not_over_the_service() {
        for (params, metadata, rack, timeout) in [
            (&[][..], &[][..], "ours", "77"),
            (&[], &[("rack", "theirs"), ("timeout", "5")], "ours", "77"),
            (&[("rack", "r7"), ("timeout", "5")], &[], "r7", "5"),
        ] {
            let extend_params = [("rack", "ours"), ("timeout", "77")];
            let url = extended(tri(), params, metadata, &extend_params, |_| {}).expect("a port");
            let said = [url.param("rack"), url.param("timeout")];
            assert_eq!(said, [Some(rack), Some(timeout)], "{params:?} {metadata:?}");
        }
    }

    /// Case 95.
    #[test]
    fn environment_tag_and_weight_are_the_instances() {
        let params = [
            ("environment", "dev"),
            ("weight", "50"),
            ("timeout", "5"),
            ("group", "x"),
        ];
        let said = |metadata: &[(&str, &str)], weight: u32| {
            let url = url(tri(), &params, metadata, |i| i.weight = weight).expect("a port");
            ["environment", "dubbo.tag", "weight", "timeout", "group"]
                .map(|key| url.param(key).unwrap_or("-").to_owned())
                .join(" ")
        };
        assert_eq!(said(&[], 100), "- blue 50 5 -");
        assert_eq!(
            said(
                &[
                    ("environment", "prod"),
                    ("dubbo.tag", "red"),
                    ("timeout", "9")
                ],
                200
            ),
            "prod red 200 5 -"
        );
        assert_eq!(said(&[("weight", "70")], 100), "- blue 70 5 -");
    }

    #[test]
    fn metadata_a21_the_port_is_the_services_or_the_endpoints_or_the_instances() {
        let with = |protocol: &str, port: i32| ServiceInfo {
            protocol: protocol.into(),
            port,
            ..tri()
        };
        let only_dubbo = &[("dubbo.endpoints", r#"[{"port":20000,"protocol":"dubbo"}]"#)][..];
        for (service, metadata, want) in [
            (with("tri", 0), FIXTURE, Some(50051)),
            (with("dubbo", 0), FIXTURE, Some(20000)),
            (with("tri", -1), FIXTURE, Some(50051)),
            (with("tri", 7001), FIXTURE, Some(7001)),
            (with("tri", 70_000), FIXTURE, None),
            (with("tri", 0), only_dubbo, None),
            (with("tri", 0), &[], Some(20000)),
            (
                with("tri", 0),
                &[("dubbo.endpoints", "broken")],
                Some(20000),
            ),
        ] {
            let port = url(service.clone(), &[], metadata, |_| {}).and_then(|url| url.port());
            assert_eq!(port, want, "{service:?} {metadata:?}");
        }
    }
}
