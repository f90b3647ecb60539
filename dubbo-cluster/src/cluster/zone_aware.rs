//! Several registries behind one reference: which of them names the provider of a call.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    attachments::Attachments,
    cluster::{Candidates, Cluster, ClusterConfig, Directory, LoadBalance, Node, NodeWeight},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::ServiceKey,
    status::Status,
    url::Url,
};

use super::Failover;

/// The clusters of one reference, one for each registry, as one invoker.
///
/// `docs/spec/cluster.md` §2.9. Among the registries with an available provider it takes the first that is preferred;
/// else those in the zone that the call asks for with the attachment `registry_zone` (`registry.zone`); else, unless
/// `registry_zone_force` is `true`, all of them by chance in proportion to their weights. Without any, the first one says
/// why.
pub struct ZoneAware {
    consumer: Url,
    registries: Box<[Zoned]>,
    /// The registries once more, as what a load balance chooses from.
    candidates: Candidates,
    chance: Arc<dyn LoadBalance>,
}

/// What `cluster: zone-aware` is for the providers of one registry: [`Failover`].
///
/// Which registry a call goes to is decided before, by [`ZoneAware`], which stands above the clusters of the registries.
#[derive(Debug)]
pub struct InZone;

impl Cluster for InZone {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        Failover.join(directory, config)
    }
}

/// The cluster over the providers of one registry.
pub struct Zoned {
    /// Takes the calls.
    pub invoker: Arc<dyn Invoker>,
    /// What messages call the registry.
    pub registry: String,
    /// Whether its providers come first.
    pub preferred: bool,
    /// Where it is.
    pub zone: Option<String>,
    /// Its share of the calls.
    pub weight: u32,
}

impl ZoneAware {
    /// Joins the registries of the reference of `consumer`; `chance` decides by weight.
    pub fn new(
        consumer: Url,
        registries: impl Into<Box<[Zoned]>>,
        chance: Arc<dyn LoadBalance>,
    ) -> Self {
        let registries = registries.into();
        let nodes = registries.iter().map(|registry| {
            let weight = NodeWeight::constant(registry.weight);
            Node::new(Arc::clone(&registry.invoker), weight)
        });
        Self {
            consumer,
            candidates: Candidates::all(Arc::new(nodes.collect())),
            registries,
            chance,
        }
    }

    /// Whether `cluster` names it.
    pub fn is_called(cluster: &str) -> bool {
        NAMES.iter().any(|name| cluster.eq_ignore_ascii_case(name))
    }

    fn choose(&self, invocation: &Invocation) -> Result<&Arc<dyn Invoker>, Status> {
        let available = || {
            let registries = self.registries.iter();
            registries.filter(|registry| registry.invoker.is_available())
        };
        if let Some(preferred) = available().find(|registry| registry.preferred) {
            return Ok(&preferred.invoker);
        }
        let attachments = &invocation.attachments;
        if let Some(zone) = either(attachments, ZONE) {
            if let Some(same) = available().find(|registry| registry.zone.as_deref() == Some(zone))
            {
                return Ok(&same.invoker);
            }
            let force = either(attachments, FORCE);
            if force.is_some_and(|force| force.eq_ignore_ascii_case("true")) {
                return Err(self.nobody_in(zone, &invocation.service));
            }
        }
        // When nobody is available, the first one tells why.
        let chosen = self.by_weight(invocation);
        let chosen = chosen.or_else(|| self.registries.first());
        chosen
            .map(|registry| &registry.invoker)
            .ok_or_else(|| Status::internal("a reference that is joined from no registry"))
    }

    fn by_weight(&self, invocation: &Invocation) -> Option<&Zoned> {
        let available = |node: &Node| node.invoker.is_available();
        let chosen = self
            .chance
            .select_where(&self.candidates, invocation, &available)?;
        self.registries.get(chosen)
    }

    fn nobody_in(&self, zone: &str, service: &ServiceKey) -> Status {
        let registries: Vec<_> = self.registries.iter().map(ToString::to_string).collect();
        Status::unavailable(format!(
            "no provider available for {service} in zone `{zone}`, which the call insists on; the registries are {}",
            registries.join(", ")
        ))
        .not_processed()
    }
}

#[async_trait]
impl Invoker for ZoneAware {
    fn url(&self) -> &Url {
        &self.consumer
    }

    fn is_available(&self) -> bool {
        let mut registries = self.registries.iter();
        registries.any(|registry| registry.invoker.is_available())
    }

    fn why_unavailable(&self) -> Option<String> {
        if self.is_available() {
            return None;
        }
        let reasons = self.registries.iter().filter_map(|registry| {
            let why = registry.invoker.why_unavailable()?;
            Some(format!("{}: {why}", registry.registry))
        });
        Some(reasons.collect::<Vec<_>>().join("; "))
    }

    fn in_flight(&self) -> usize {
        let registries = self.registries.iter();
        registries
            .map(|registry| registry.invoker.in_flight())
            .sum()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let invoker = Arc::clone(self.choose(&invocation)?);
        invoker.invoke(invocation).await
    }

    async fn close(&self) {
        let closed = self
            .registries
            .iter()
            .map(|registry| registry.invoker.close());
        futures_util::future::join_all(closed).await;
    }
}

impl fmt::Debug for ZoneAware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZoneAware")
            .field("consumer", &self.consumer)
            .field("registries", &self.registries)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Zoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.registry)?;
        match &self.zone {
            Some(zone) => write!(f, " (zone `{zone}`)"),
            None => f.write_str(" (no zone)"),
        }
    }
}

impl fmt::Debug for Zoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zoned")
            .field("registry", &self.registry)
            .field("preferred", &self.preferred)
            .field("zone", &self.zone)
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Cluster, "zone-aware" | "zoneAware", |_cx| Ok(Arc::new(
    InZone
)));

/// An attachment that dubbo-go and Dubbo Java spell differently.
fn either<'a>(attachments: &'a Attachments, names: [&str; 2]) -> Option<&'a str> {
    let mut values = names.iter().filter_map(|name| attachments.get(name));
    values.find(|value| !value.is_empty())
}

const NAMES: [&str; 2] = ["zone-aware", "zoneAware"];

const ZONE: [&str; 2] = ["registry_zone", "registry.zone"];
const FORCE: [&str; 2] = ["registry_zone_force", "registry.zone.force"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        loadbalance::{Clock, Random},
        testing::{Scripted, invocation},
    };

    /// Registries at ports 1 and up: preferred, zone, weight.
    fn zone_aware(registries: &[(bool, Option<&str>, u32)]) -> (ZoneAware, Vec<Arc<Scripted>>) {
        let providers: Vec<_> = (1..).take(registries.len()).map(Scripted::at).collect();
        let zoned: Vec<_> = registries
            .iter()
            .zip(&providers)
            .map(|(&(preferred, zone, weight), provider)| Zoned {
                invoker: Arc::clone(provider) as _,
                registry: format!("registry memory://{}", provider.url().port().expect("set")),
                preferred,
                zone: zone.map(str::to_owned),
                weight,
            })
            .collect();
        let consumer = "consumer://h/a.B".parse().expect("a URL");
        let chance = Arc::new(Random::from_seed(7, Clock::new(|| 0)));
        (ZoneAware::new(consumer, zoned, chance), providers)
    }

    fn asking(attachments: &[(&'static str, &str)]) -> Invocation {
        let mut invocation = invocation();
        for (name, value) in attachments {
            invocation.attachments.insert(*name, (*value).to_owned());
        }
        invocation
    }

    fn chosen(zone_aware: &ZoneAware, invocation: &Invocation) -> Result<u16, String> {
        let invoker = zone_aware.choose(invocation);
        invoker
            .map(|invoker| invoker.url().port().expect("set"))
            .map_err(|status| status.message().to_owned())
    }

    #[test]
    fn cluster_t26_preference_then_zone_then_weight_decide() {
        let (zone_aware, providers) = zone_aware(&[
            (true, None, 100),
            (false, Some("hz"), 100),
            (false, Some("sh"), 200),
            (false, None, 50),
        ]);
        assert_eq!(
            chosen(&zone_aware, &asking(&[("registry_zone", "hz")])),
            Ok(1),
            "preferred"
        );
        providers[0].set_available(false);
        for (attachments, want) in [
            (&[("registry_zone", "hz")][..], Ok(2)),
            (
                &[("registry.zone", "sh"), ("registry.zone.force", "true")],
                Ok(3),
            ),
            (
                &[("registry_zone", "bj"), ("registry_zone_force", "TRUE")],
                Err(
                    "no provider available for a.B in zone `bj`, which the call insists on; the registries are \
                     registry memory://1 (no zone), registry memory://2 (zone `hz`), registry memory://3 (zone `sh`), \
                     registry memory://4 (no zone)",
                ),
            ),
        ] {
            let got = chosen(&zone_aware, &asking(attachments));
            assert_eq!(
                got.as_ref().map_err(String::as_str),
                want.as_ref().map_err(|e| *e)
            );
        }
        let mut counts = [0_i32; 5];
        let elsewhere = asking(&[("registry_zone", "bj")]);
        for _ in 0..35_000 {
            counts[usize::from(chosen(&zone_aware, &elsewhere).expect("someone"))] += 1;
        }
        assert_eq!(counts[1], 0, "it is not available");
        for (registry, want, tolerance) in [(2, 10_000, 338), (3, 20_000, 371), (4, 5_000, 262)] {
            assert!((counts[registry] - want).abs() <= tolerance, "{counts:?}");
        }
    }

    #[test]
    fn without_any_provider_every_registry_says_why() {
        let (zone_aware, providers) = zone_aware(&[(false, None, 1), (false, None, 1)]);
        assert_eq!(zone_aware.why_unavailable(), None);
        for (provider, why) in providers.iter().zip(["it is empty", "it is down"]) {
            provider.set_unreachable(why);
        }
        assert_eq!(chosen(&zone_aware, &asking(&[])), Ok(1));
        assert!(!zone_aware.is_available());
        assert_eq!(
            zone_aware.why_unavailable().as_deref(),
            Some("registry memory://1: it is empty; registry memory://2: it is down")
        );
    }

    #[tokio::test]
    async fn closing_it_closes_all() {
        let (zone_aware, providers) = zone_aware(&[(false, None, 1), (false, None, 1)]);
        zone_aware.close().await;
        assert!(providers.iter().all(|provider| provider.is_closed()));
    }
}
