//! The list of a service, as it is answered and pushed.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::{instance::Instance, key::ServiceKey};

/// What Nacos calls `ServiceInfo`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceInfo {
    /// Without the group, although each instance has it with the group.
    name: String,
    group_name: String,
    clusters: String,
    cache_millis: u32,
    hosts: Vec<Host>,
    last_ref_time: u128,
    checksum: &'static str,
    #[serde(rename = "allIPs")]
    all_ips: bool,
    reach_protection_threshold: bool,
    valid: bool,
}

/// An instance with what every instance of Nacos says besides: it counts where clients limit the size of a message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Host {
    #[serde(flatten)]
    instance: Instance,
    instance_heart_beat_interval: u32,
    instance_heart_beat_time_out: u32,
    ip_delete_timeout: u32,
    instance_id_generator: &'static str,
}

/// The enabled instances of `clusters` (all, if blank). If no larger share of them than `threshold` is healthy, all are
/// shown as healthy; a service about which nothing was ever said over HTTP has none.
pub(super) fn select(
    key: &ServiceKey,
    instances: &[Instance],
    clusters: &str,
    healthy_only: bool,
    threshold: Option<f32>,
) -> ServiceInfo {
    let wanted = |instance: &&Instance| {
        let name = instance.cluster_name.as_deref().unwrap_or_default();
        instance.enabled && (clusters.trim().is_empty() || clusters.split(',').any(|c| c == name))
    };
    let mut hosts: Vec<Instance> = instances.iter().filter(wanted).cloned().collect();
    let healthy = hosts.iter().filter(|instance| instance.healthy).count();
    hosts.retain(|instance| instance.healthy || !healthy_only);
    let protected = threshold.is_some_and(|threshold| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "Nacos divides floats as well; a test has few instances"
        )]
        let share = healthy as f32 / hosts.len() as f32;
        share <= threshold.max(0.0)
    });
    for instance in &mut hosts {
        instance.healthy |= protected;
    }
    ServiceInfo {
        name: key.name.clone(),
        group_name: key.group.clone(),
        clusters: clusters.to_owned(),
        cache_millis: 10_000,
        hosts: hosts.into_iter().map(Host::new).collect(),
        last_ref_time: unix_millis(),
        checksum: "",
        all_ips: false,
        reach_protection_threshold: protected,
        valid: true,
    }
}

/// Now, for clients: they compare it with what they got before.
pub(super) fn unix_millis() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis())
}

impl ServiceInfo {
    #[cfg(test)]
    pub(super) fn addresses(&self) -> Vec<String> {
        self.hosts.iter().map(|h| h.instance.address()).collect()
    }
}

impl Host {
    fn new(instance: Instance) -> Self {
        Self {
            instance,
            instance_heart_beat_interval: 5_000,
            instance_heart_beat_time_out: 15_000,
            ip_delete_timeout: 30_000,
            instance_id_generator: "simple",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_healthy_instances_are_shown_as_all_healthy() {
        let key = ServiceKey::new("", "G", "s");
        let sick = Instance {
            healthy: false,
            ..Instance::at("h", 2)
        };
        let instances = [Instance::at("h", 1), sick];
        for (threshold, want) in [
            (None, [true, false]),
            (Some(0.0), [true, false]),
            (Some(-1.0), [true, false]),
            (Some(0.5), [true, true]),
            (Some(0.6), [true, true]),
        ] {
            let info = select(&key, &instances, "", false, threshold);
            let healthy: Vec<_> = info.hosts.iter().map(|h| h.instance.healthy).collect();
            assert_eq!(healthy, want, "{threshold:?}");
            let reached = want == [true, true];
            assert_eq!(info.reach_protection_threshold, reached, "{threshold:?}");
        }
    }

    #[test]
    fn only_what_is_wanted_is_listed() {
        let key = ServiceKey::new("", "G", "s");
        let of = |cluster: &str, port| Instance {
            cluster_name: Some(cluster.to_owned()),
            ..Instance::at("h", port)
        };
        let disabled = Instance {
            enabled: false,
            ..of("a", 3)
        };
        let sick = Instance {
            healthy: false,
            ..of("a", 4)
        };
        let instances = [of("a", 1), of("b", 2), disabled, sick];
        for (clusters, healthy_only, want) in [
            ("", false, &["h:1", "h:2", "h:4"][..]),
            ("", true, &["h:1", "h:2"]),
            ("a", false, &["h:1", "h:4"]),
            ("a,b", true, &["h:1", "h:2"]),
            ("c", false, &[]),
        ] {
            let info = select(&key, &instances, clusters, healthy_only, None);
            assert_eq!(info.addresses(), want, "{clusters:?} {healthy_only}");
            assert_eq!(info.clusters, clusters);
        }
    }
}
