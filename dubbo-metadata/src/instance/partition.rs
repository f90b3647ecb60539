//! Which services make one instance: no protocol of an instance may have two ports (`docs/spec/metadata.md` §1.7).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::Endpoints;
use crate::model::{InstanceParams, ServiceInfo};

/// When the port of a service stands in its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PortMode {
    /// Only where a protocol listens on several ports. Otherwise the instance's endpoints say it, so that instances with
    /// different ports share a revision.
    #[default]
    Auto,
    /// Always.
    Explicit,
}

/// One service on one protocol, and where it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The host that consumers are told.
    pub host: String,
    /// The port that consumers are told.
    pub port: u16,
    /// What consumers are told of the service.
    pub service: Arc<ServiceInfo>,
    /// What it says of its instance.
    pub params: InstanceParams,
}

/// The services of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The host of the instance.
    pub host: String,
    /// The port of the instance: that of the protocol which [stands for it](Endpoints::main).
    pub port: u16,
    /// The ports of its protocols.
    pub endpoints: Endpoints,
    /// Its services.
    pub services: Vec<Arc<ServiceInfo>>,
    /// What its services say of it.
    pub params: InstanceParams,
}

/// Splits what is exported into instances, so that each protocol of an instance has one port; this is one instance for
/// each host, unless a protocol listens on several ports there.
///
/// Services on one port stay together, so instances never share a port, and the result depends on what is exported only,
/// not on the order; but for what services say of their instance, where the first one counts.
pub fn partition(exported: &[Exported], mode: PortMode, preferred: Option<&str>) -> Vec<Partition> {
    let mut hosts: BTreeMap<&str, BTreeMap<u16, Vec<&Arc<ServiceInfo>>>> = BTreeMap::new();
    for Exported {
        host,
        port,
        service,
        ..
    } in exported
    {
        let ports = hosts.entry(host).or_default();
        ports.entry(*port).or_default().push(service);
    }
    let mut partitions: Vec<_> = hosts
        .into_iter()
        .flat_map(|(host, ports)| of_host(host, ports, mode, preferred))
        .collect();
    for partition in &mut partitions {
        let here = exported.iter().filter(|one| {
            let mut ports = partition.endpoints.iter().map(|(_, port)| port);
            one.host == partition.host && ports.any(|port| port == one.port)
        });
        partition.params =
            InstanceParams::of_services(here.map(|one| (&*one.service, &one.params)));
    }
    partitions
}

fn of_host(
    host: &str,
    ports: BTreeMap<u16, Vec<&Arc<ServiceInfo>>>,
    mode: PortMode,
    preferred: Option<&str>,
) -> Vec<Partition> {
    let mut instances: Vec<Instance<'_>> = Vec::new();
    for (port, services) in ports {
        let protocols: BTreeSet<_> = services.iter().map(|s| s.protocol.as_str()).collect();
        let free = instances
            .iter_mut()
            .find(|instance| protocols.iter().all(|p| !instance.ports.contains_key(p)));
        let instance = match free {
            Some(instance) => instance,
            None => instances.push_mut(Instance::default()),
        };
        instance.ports.extend(protocols.iter().map(|p| (*p, port)));
        instance
            .services
            .extend(services.iter().map(|s| (port, *s)));
    }

    let is_explicit = mode == PortMode::Explicit || instances.len() > 1;
    instances
        .into_iter()
        .filter_map(|Instance { ports, services }| {
            let endpoints: Endpoints = ports
                .iter()
                .map(|(p, port)| ((*p).to_owned(), *port))
                .collect();
            let (_, port) = endpoints.main(preferred)?;
            Some(Partition {
                host: host.to_owned(),
                port,
                endpoints,
                services: services
                    .into_iter()
                    .map(|(port, service)| with_port(service, if is_explicit { port } else { 0 }))
                    .collect(),
                params: InstanceParams::default(),
            })
        })
        .collect()
}

#[derive(Default)]
struct Instance<'a> {
    ports: BTreeMap<&'a str, u16>,
    services: Vec<(u16, &'a Arc<ServiceInfo>)>,
}

fn with_port(service: &Arc<ServiceInfo>, port: u16) -> Arc<ServiceInfo> {
    let port = i32::from(port);
    if service.port == port {
        return Arc::clone(service);
    }
    Arc::new(ServiceInfo {
        port,
        ..ServiceInfo::clone(service)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(text: &str) -> Vec<Exported> {
        text.split_whitespace()
            .map(|one| {
                let parts: Vec<_> = one.split(':').collect();
                let [name, protocol, host, port] = parts[..] else {
                    panic!("{one} is not name:protocol:host:port");
                };
                Exported {
                    host: host.to_owned(),
                    port: port.parse().expect("a port"),
                    service: Arc::new(ServiceInfo {
                        name: name.to_owned(),
                        protocol: protocol.to_owned(),
                        ..ServiceInfo::default()
                    }),
                    params: InstanceParams::default(),
                }
            })
            .collect()
    }

    fn summary(partitions: &[Partition]) -> String {
        let one = |partition: &Partition| {
            let services: Vec<_> = partition
                .services
                .iter()
                .map(|s| format!("{}:{}:{}", s.name, s.protocol, s.port))
                .collect();
            let Partition { host, port, .. } = partition;
            format!("{host}:{port} {}", services.join(" "))
        };
        partitions.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_protocol_with_several_ports_makes_several_instances() {
        for (text, want) in [
            ("", ""),
            ("a:tri:h:1 b:tri:h:1", "h:1 a:tri:0 b:tri:0"),
            ("a:tri:h:50051 a:dubbo:h:20000", "h:50051 a:dubbo:0 a:tri:0"),
            (
                "a:tri:h:50051 a:dubbo:h:20000 b:tri:h:50052",
                "h:50051 a:dubbo:20000 a:tri:50051; h:50052 b:tri:50052",
            ),
            // The same service on both ports.
            ("a:tri:h:2 a:tri:h:1", "h:1 a:tri:1; h:2 a:tri:2"),
            // Two protocols on one port stay together, and no two instances have a port in common.
            (
                "a:tri:h:1 b:tri:h:2 b:dubbo:h:2",
                "h:1 a:tri:1; h:2 b:tri:2 b:dubbo:2",
            ),
            ("a:tri:g:1 a:tri:h:1", "g:1 a:tri:0; h:1 a:tri:0"),
        ] {
            let mut exported = exported(text);
            let found = partition(&exported, PortMode::Auto, None);
            assert_eq!(summary(&found), want, "{text}");
            exported.reverse();
            let mut reversed = partition(&exported, PortMode::Auto, None);
            for (reversed, found) in reversed.iter_mut().zip(&found) {
                reversed.services.sort();
                let mut services = found.services.clone();
                services.sort();
                assert_eq!(reversed.services, services, "{text}");
                assert_eq!(reversed.endpoints, found.endpoints, "{text}");
            }
        }
    }

    #[test]
    fn ports_are_explicit_on_demand_and_a_protocol_is_preferred() {
        let exported = exported("a:tri:h:50051 a:dubbo:h:20000");
        let found = partition(&exported, PortMode::Explicit, Some("dubbo"));
        assert_eq!(summary(&found), "h:20000 a:dubbo:20000 a:tri:50051");
    }

    #[test]
    fn services_say_of_the_instance_they_are_in_what_the_first_of_them_says() {
        let mut exported = exported("b:tri:h:1 a:dubbo:h:2 a:tri:h:3");
        for (exported, ipv6) in exported.iter_mut().zip(["fe80::b", "fe80::a", "fe80::3"]) {
            exported.params.ipv6 = Some(ipv6.to_owned());
        }
        let said: Vec<_> = partition(&exported, PortMode::Auto, None)
            .into_iter()
            .map(|one| (one.port, one.params.ipv6, one.params.conflicts.len()))
            .collect();
        assert_eq!(
            said,
            [
                (1, Some("fe80::b".to_owned()), 1),
                (3, Some("fe80::3".to_owned()), 0)
            ]
        );
    }
}
