//! What this client shows.
//!
//! Nacos knows one list for each connection and service. A new one takes its place, and whoever takes back one of its
//! instances takes all of them back. nacos-sdk shows again the list that it was last given, so an empty one is what to
//! leave with. r-nacos is another server with the same protocol: there lists add up, the empty one is refused, and
//! instances are taken back one by one. Which of the two a server does is found out when it first matters.

use std::{collections::BTreeMap, mem, time::Duration};

use futures_util::future::{join_all, try_join_all};
use nacos_sdk::api::naming::{NamingService, ServiceInstance};
use tokio::time::{Instant, sleep};

use super::{
    Failure, Why,
    generation::Generation,
    naming::probe_service,
    shared::{Service, Shared},
};
use crate::nacos::instance::Instance;

/// What is shown where.
#[derive(Default)]
pub(super) struct Publications {
    /// What this client shows, or may still show after a failure.
    shown: BTreeMap<Service, Vec<Instance>>,
    /// Whether a list takes the place of the one before; `None` as long as nobody knows.
    replaces: Option<bool>,
}

impl Publications {
    /// Begins to show `instances`; those that have to go.
    fn begin(&mut self, service: &Service, instances: &[Instance]) -> Vec<Instance> {
        let before = self.shown.entry(service.clone()).or_default();
        let is_new = |one: &&Instance| !before.iter().any(|other| other.id() == one.id());
        let new: Vec<_> = instances.iter().filter(is_new).cloned().collect();
        before.extend(new);
        let is_gone = |one: &&Instance| !instances.iter().any(|other| other.id() == one.id());
        before.iter().filter(is_gone).cloned().collect()
    }

    /// Nothing else is shown any more.
    fn done(&mut self, service: &Service, instances: Vec<Instance>) {
        if instances.is_empty() {
            self.shown.remove(service);
        } else {
            self.shown.insert(service.clone(), instances);
        }
    }
}

impl Shared {
    /// Makes `instances` all that this client shows in a service.
    pub(super) async fn show(
        &self,
        group: &str,
        service: &str,
        instances: Vec<Instance>,
    ) -> Result<(), Failure> {
        let generation = self.generation(|| format!("register in {service}"))?;
        let service: Service = (group.into(), service.into());
        let instances = unique(instances);
        let gone = generation.publications.lock().begin(&service, &instances);
        let list = instances.iter().map(Instance::to_sdk).collect();
        let sent = self
            .request_of(
                &generation,
                || format!("register {} in {} of {group}", ids(&instances), service.1),
                |naming| batch(naming, service.clone(), list),
            )
            .await;
        generation.learn(instances.is_empty(), sent)?;
        if !gone.is_empty() && !self.replaces(&generation).await? {
            self.take_back(&generation, &service, &gone).await?;
        }
        self.until_listed(&service, &instances, &gone).await;
        generation.publications.lock().done(&service, instances);
        Ok(())
    }

    /// Waits until lists are as they were asked to be: a server makes the one of a service that others follow anew after a
    /// while. Not for long, as another client may show the same.
    async fn until_listed(
        &self,
        (group, service): &Service,
        shown: &[Instance],
        gone: &[Instance],
    ) {
        let end = Instant::now() + LISTED;
        while let Ok(found) = self.read(group, service).await {
            let is_there = |one: &&Instance| found.iter().any(|other| other.is_as(one));
            let is_gone = |one: &&Instance| !found.iter().any(|other| other.id() == one.id());
            let mut visible = shown.iter().filter(|one| one.enabled);
            if Instant::now() >= end
                || (visible.all(|one| is_there(&one)) && gone.iter().all(|one| is_gone(&one)))
            {
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// Shows nothing any more through this client.
    pub(super) async fn leave_all(&self, generation: &Generation) {
        let shown = mem::take(&mut generation.publications.lock().shown);
        let leaving = shown.into_iter().map(|(service, gone)| async move {
            if let Err(failure) = self.leave(generation, &service, &gone).await {
                let error = failure.into_error();
                tracing::debug!(%error, "goes with the connection instead");
            }
        });
        join_all(leaving).await;
    }

    async fn leave(
        &self,
        generation: &Generation,
        service: &Service,
        gone: &[Instance],
    ) -> Result<(), Failure> {
        let left = self
            .request_of(
                generation,
                || format!("leave {} of {}", service.1, service.0),
                |naming| batch(naming, service.clone(), Vec::new()),
            )
            .await;
        match left {
            Err(failure) if failure.why == Why::Unknown => {
                self.take_back(generation, service, gone).await
            }
            done => done,
        }
    }

    /// Takes `gone` back one by one.
    async fn take_back(
        &self,
        generation: &Generation,
        service: &Service,
        gone: &[Instance],
    ) -> Result<(), Failure> {
        let leaving = gone.iter().map(|instance| {
            self.request_of(
                generation,
                || format!("take {} back from {}", instance.id(), service.1),
                |naming| deregister(naming, service.clone(), instance.to_sdk()),
            )
        });
        try_join_all(leaving).await.map(|_| ())
    }

    /// Whether a list takes the place of the one before.
    async fn replaces(&self, generation: &Generation) -> Result<bool, Failure> {
        let known = generation.publications.lock().replaces;
        if let Some(known) = known {
            return Ok(known);
        }
        let sent = self
            .request_of(
                generation,
                || "find out whether lists take the place of each other".to_owned(),
                |naming| batch(naming, probe_service(), Vec::new()),
            )
            .await;
        match generation.learn(true, sent) {
            // What nobody may register there, nobody has added.
            Err(failure) if failure.why == Why::Refused => Ok(true),
            learnt => learnt.map(|()| generation.publications.lock().replaces.unwrap_or(true)),
        }
    }
}

impl Generation {
    /// Learns from the answer to a list which kind of server it is.
    fn learn(&self, is_empty: bool, sent: Result<(), Failure>) -> Result<(), Failure> {
        if !is_empty {
            return sent;
        }
        let replaces = match sent {
            Ok(()) => true,
            Err(failure) if failure.why == Why::Unknown => false,
            Err(failure) => return Err(failure),
        };
        self.publications.lock().replaces = Some(replaces);
        Ok(())
    }
}

impl Instance {
    pub(super) fn of_sdk(sdk: ServiceInstance) -> Option<Self> {
        Some(Self {
            port: sdk.port.try_into().ok()?,
            weight: sdk.weight,
            healthy: sdk.healthy,
            enabled: sdk.enabled,
            metadata: sdk.metadata.into_iter().collect(),
            host: sdk.ip,
        })
    }

    /// Whether it says the same, whatever the server makes of its health and weight.
    fn is_as(&self, other: &Self) -> bool {
        self.id() == other.id() && self.metadata == other.metadata
    }

    fn to_sdk(&self) -> ServiceInstance {
        ServiceInstance {
            ip: self.host.clone(),
            port: self.port.into(),
            weight: self.weight,
            healthy: self.healthy,
            enabled: self.enabled,
            metadata: self.metadata.clone().into_iter().collect(),
            ..ServiceInstance::default()
        }
    }
}

async fn batch(
    naming: NamingService,
    (group, service): Service,
    list: Vec<ServiceInstance>,
) -> nacos_sdk::api::error::Result<()> {
    let (group, service) = (group.to_string(), service.to_string());
    naming
        .batch_register_instance(service, Some(group), list)
        .await
}

async fn deregister(
    naming: NamingService,
    (group, service): Service,
    instance: ServiceInstance,
) -> nacos_sdk::api::error::Result<()> {
    let (group, service) = (group.to_string(), service.to_string());
    naming
        .deregister_instance(service, Some(group), instance)
        .await
}

/// Each address once, as a server has it: the last one counts.
fn unique(instances: Vec<Instance>) -> Vec<Instance> {
    let by_id = instances.into_iter().map(|one| (one.id(), one));
    by_id.collect::<BTreeMap<_, _>>().into_values().collect()
}

fn ids(instances: &[Instance]) -> String {
    let ids: Vec<_> = instances.iter().map(Instance::id).collect();
    if ids.is_empty() {
        "nothing".to_owned()
    } else {
        ids.join(", ")
    }
}

/// How long a list may stay as it was.
const LISTED: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(100);
