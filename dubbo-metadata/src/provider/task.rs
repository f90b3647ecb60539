//! The one task of a provider: makes what is registered what is wanted.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use dubbo_core::{
    discovery::ServiceInstance,
    registry::{RegistryError, RegistryErrorKind},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    Shared, Waiter,
    publish::{NotPublished, Publisher},
};
use crate::{
    instance::{
        Draft, Drafted, Exported, MetaVersion, MetadataServiceParams, Partition, Storage, keys,
        partition,
    },
    jitter::EqualJitter,
    model::{MetadataDiff, MetadataInfo, ParamConflict},
    published::Published,
};

#[derive(Debug)]
pub(super) struct Task {
    shared: Arc<Shared>,
    /// For metadata that is to be read from a report.
    publisher: Option<Publisher>,
    /// What the registry was told, by the ids of the instances.
    told: BTreeMap<String, Told>,
    waiters: Vec<Waiter>,
    /// Those that the log has told of.
    conflicts: Vec<ParamConflict>,
    /// Those that the log has told of, with the ids of their instances.
    complaints: Vec<(String, String)>,
    random: fastrand::Rng,
    retries: EqualJitter,
}

#[derive(Debug)]
struct Told {
    instance: ServiceInstance,
    /// The registry has said that it is visible.
    is_visible: bool,
}

/// What is wanted, as it was when the task looked.
struct Wanted {
    exported: Vec<Exported>,
    metadata_service: Option<(MetadataServiceParams, MetaVersion)>,
    is_registered: bool,
}

/// What is wanted is not so.
struct Failure {
    error: RegistryError,
    retry: Option<Instant>,
    /// It heals by itself: whoever waits goes on waiting.
    heals: bool,
}

impl Task {
    pub(super) fn new(shared: Arc<Shared>, publisher: Option<Publisher>) -> Self {
        Self {
            random: fastrand::Rng::with_seed(shared.options.seed),
            shared,
            publisher,
            told: BTreeMap::new(),
            waiters: Vec::new(),
            conflicts: Vec::new(),
            complaints: Vec::new(),
            retries: EqualJitter::new(FIRST_RETRY, LAST_RETRY),
        }
    }

    pub(super) async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let mut changes = shared.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let wanted = self.wanted();
            let settled = settle(&shared, &mut changes);
            tokio::pin!(settled);
            // What has not settled yet waits, whatever there is to do about what has.
            loop {
                // What is under way is given up for what has settled meanwhile: a registry may be out of reach for hours.
                let again = tokio::select! {
                    biased;
                    () = &mut settled => break,
                    again = self.follow(&wanted) => again,
                };
                tokio::select! {
                    () = &mut settled => break,
                    () = at(again) => {}
                }
            }
        }
    }

    fn wanted(&mut self) -> Wanted {
        let mut state = self.shared.state.lock();
        self.waiters.append(&mut state.waiters);
        let mut exported: Vec<_> = state.exported.values().collect();
        exported.sort_by_key(|one| one.order);
        Wanted {
            exported: exported
                .into_iter()
                .map(|one| one.exported.clone())
                .collect(),
            metadata_service: state.metadata_service.clone(),
            is_registered: state.is_registered,
        }
    }

    /// Makes what is wanted so, and says when to look again without a change.
    ///
    /// It may be given up at any await: what the registry was told is noted before it is told.
    async fn follow(&mut self, wanted: &Wanted) -> Option<Instant> {
        match self.fulfil(wanted).await {
            Ok(retry) => {
                self.retries.reset();
                self.answer(wanted.is_registered, &Ok(()));
                retry
            }
            Err(Failure {
                error,
                retry,
                heals,
            }) => {
                tracing::warn!(application = self.shared.options.application, %error, "not registered");
                if !heals {
                    self.answer(wanted.is_registered, &Err(error));
                }
                retry
            }
        }
    }

    async fn fulfil(&mut self, wanted: &Wanted) -> Result<Option<Instant>, Failure> {
        let options = &self.shared.options;
        let partitions = partition(
            &wanted.exported,
            options.port_mode,
            options.protocol.as_deref(),
        );
        let published: Vec<_> = partitions.iter().map(|one| self.published(one)).collect();
        self.tell_conflicts(&partitions);
        // Whoever hears of a revision may ask for it at once.
        self.shared.history.replace(&published, Instant::now());
        if !wanted.is_registered {
            self.withdraw(&[]).await?;
            return Ok(None);
        }

        let (storage, retry) = self.publish(&published, wanted).await?;
        let drafted: Vec<_> = partitions
            .iter()
            .zip(&published)
            .map(|(partition, published)| self.draft(partition, published, storage, wanted))
            .collect();
        self.tell_complaints(&drafted);
        let instances: Vec<_> = drafted.into_iter().map(|one| one.instance).collect();
        for instance in &instances {
            self.tell(instance).await?;
        }
        self.withdraw(&instances).await?;
        Ok(retry)
    }

    /// The metadata of one instance: what is there already, if it is the same.
    fn published(&self, partition: &Partition) -> Arc<Published> {
        let info = MetadataInfo::new(
            &self.shared.options.application,
            partition.services.iter().cloned(),
            self.shared.options.algorithm,
        );
        match self.shared.history.get(&info.revision) {
            Some(published) if *published.info == info => published,
            _ => Arc::new(Published::new(info)),
        }
    }

    /// Says in the log where services disagree about their instance, once.
    fn tell_conflicts(&mut self, partitions: &[Partition]) {
        let conflicts = partitions.iter().flat_map(|one| &one.params.conflicts);
        let conflicts: Vec<_> = conflicts.cloned().collect();
        for conflict in &conflicts {
            if !self.conflicts.contains(conflict) {
                tracing::warn!(
                    application = self.shared.options.application, %conflict,
                    "services disagree about a parameter of their instance"
                );
            }
        }
        self.conflicts = conflicts;
    }

    /// Says in the log what is wrong with what instances say, once.
    fn tell_complaints(&mut self, drafted: &[Drafted]) {
        let mut complaints = Vec::new();
        for Drafted {
            instance,
            complaints: own,
            ..
        } in drafted
        {
            for complaint in own {
                let complaint = (instance.id(), complaint.clone());
                if !self.complaints.contains(&complaint) {
                    let (application, (instance, text)) = (&*instance.application, &complaint);
                    tracing::warn!(application, instance, "{text}");
                }
                complaints.push(complaint);
            }
        }
        self.complaints = complaints;
    }

    /// Where consumers find the metadata, once they do, and when to look again whether they do, or for a better place.
    async fn publish(
        &mut self,
        current: &[Arc<Published>],
        wanted: &Wanted,
    ) -> Result<(Storage, Option<Instant>), Failure> {
        let Some(publisher) = &mut self.publisher else {
            return Ok((Storage::Local, None));
        };
        match publisher.publish(current, &mut self.random).await {
            Ok(look) => Ok((Storage::Remote, look)),
            Err(NotPublished { error, retry }) if wanted.metadata_service.is_some() => {
                tracing::warn!(%error, "metadata is not published; consumers are sent to the metadata service meanwhile");
                Ok((Storage::Local, retry))
            }
            Err(NotPublished { error, retry }) => Err(Failure {
                error,
                retry,
                heals: false,
            }),
        }
    }

    fn draft(
        &self,
        partition: &Partition,
        published: &Published,
        storage: Storage,
        wanted: &Wanted,
    ) -> Drafted {
        let options = &self.shared.options;
        Draft {
            partition,
            info: &published.info,
            storage,
            metadata_service: wanted.metadata_service.as_ref(),
            labels: &options.labels,
            started_ms: options.started_ms,
            weight: options.weight,
            tag: options.tag.as_deref(),
            environment: options.environment.as_deref(),
            cluster: self
                .publisher
                .as_ref()
                .filter(|_| storage == Storage::Remote)
                .and_then(Publisher::cluster),
        }
        .instance(&options.customizers)
    }

    /// Registers `instance`, or updates it in place.
    async fn tell(&mut self, instance: &ServiceInstance) -> Result<(), Failure> {
        let id = instance.id();
        let before = self.told.get(&id).map(|told| told.instance.clone());
        if before.as_ref() == Some(instance) && self.told[&id].is_visible {
            return Ok(());
        }
        let told = Told {
            instance: instance.clone(),
            is_visible: false,
        };
        self.told.insert(id.clone(), told);
        let changes = before
            .as_ref()
            .and_then(|before| self.changes(before, instance))
            .map(tracing::field::display);
        let discovery = &self.shared.options.discovery;
        let (done, result) = match before {
            Some(before) if before != *instance => {
                ("updated", discovery.update(&before, instance).await)
            }
            _ => ("registered", discovery.register(instance).await),
        };
        match result {
            Ok(()) => {
                if let Some(told) = self.told.get_mut(&id) {
                    told.is_visible = true;
                }
                self.show();
                tracing::info!(
                    application = &*instance.application,
                    instance = id,
                    metadata = ?instance.metadata,
                    changes,
                    "{done}"
                );
                Ok(())
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    /// What the revision of `after` has changed of that of `before`, if it is another.
    fn changes(&self, before: &ServiceInstance, after: &ServiceInstance) -> Option<MetadataDiff> {
        let revision = |instance: &ServiceInstance| instance.metadata.text(keys::REVISION).cloned();
        let (older, newer) = (revision(before)?, revision(after)?);
        let history = &self.shared.history;
        let (older, newer) = (history.get(&older)?, history.get(&newer)?);
        (older.revision() != newer.revision()).then(|| newer.info.describe(&older.info))
    }

    /// Takes back all that is not among `instances`.
    async fn withdraw(&mut self, instances: &[ServiceInstance]) -> Result<(), Failure> {
        let gone: Vec<_> = self
            .told
            .iter()
            .filter(|(id, _)| !instances.iter().any(|instance| instance.id() == **id))
            .map(|(_, told)| told.instance.clone())
            .collect();
        for instance in gone {
            let result = self.shared.options.discovery.unregister(&instance).await;
            result.map_err(|error| self.failure(error))?;
            let id = instance.id();
            self.told.remove(&id);
            self.show();
            tracing::info!(
                application = &*instance.application,
                instance = id,
                "unregistered"
            );
        }
        Ok(())
    }

    /// Shows what is visible to those who look at this process.
    fn show(&self) {
        let visible = self.told.values().filter(|told| told.is_visible);
        let visible = visible.map(|told| told.instance.clone()).collect();
        self.shared.instances.send_replace(visible);
    }

    fn failure(&mut self, error: RegistryError) -> Failure {
        let heals = error.kind != RegistryErrorKind::Refused;
        let retry = heals.then(|| Instant::now() + self.retries.next_wait(&mut self.random));
        Failure {
            error,
            retry,
            heals,
        }
    }

    fn answer(&mut self, is_registered: bool, outcome: &Result<(), RegistryError>) {
        for waiter in self.waiters.drain(..) {
            let outcome = if waiter.is_registered == is_registered {
                outcome.as_ref().map(|&()| ()).map_err(copy)
            } else {
                Err(self
                    .shared
                    .error("the opposite was asked for meanwhile")
                    .refused())
            };
            // Whoever waited may have gone.
            let _ = waiter.done.send(outcome);
        }
    }
}

/// Waits until something has changed and then nothing for a while, or until it is urgent.
async fn settle(shared: &Shared, changes: &mut watch::Receiver<()>) {
    let timings = shared.options.timings;
    // The sender is in `shared`, so waiting for a change never fails.
    tokio::select! {
        () = shared.urgent.notified() => return,
        _ = changes.changed() => {}
    }
    let latest = Instant::now() + timings.quiet * SETTLE;
    loop {
        let quiet = Instant::now() + timings.quiet;
        tokio::select! {
            () = shared.urgent.notified() => return,
            () = sleep_until(quiet.min(latest)) => return,
            _ = changes.changed() => {}
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The error for one more caller. What is behind it cannot be shared, so it is told.
fn copy(error: &RegistryError) -> RegistryError {
    let mut reason = error.reason.clone();
    let mut behind = error.source.as_deref().map(|e| e as &dyn std::error::Error);
    while let Some(error) = behind {
        reason.push_str(": ");
        reason.push_str(&error.to_string());
        behind = error.source();
    }
    let copy = RegistryError::new(&error.operation, &error.address, reason);
    match error.kind {
        RegistryErrorKind::Refused => copy.refused(),
        _ => copy,
    }
}

/// How many times the quiet time a change waits at most while others follow.
const SETTLE: u32 = 5;

/// Waits after a registry has failed to do what it can.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(30);
