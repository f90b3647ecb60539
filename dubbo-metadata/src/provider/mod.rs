//! The provider's side: what is exported becomes metadata, a revision and an instance, and stays in step with it
//! (`docs/spec/metadata.md` §6.1).

mod options;
mod publish;
mod task;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    sync::Arc,
};

use dubbo_core::{discovery::ServiceInstance, registry::RegistryError, url::Url};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot, watch},
    task::JoinSet,
};

pub use options::{ProviderOptions, ProviderTimings};

use crate::{
    error::MetadataError,
    instance::{Exported, MetaVersion, MetadataServiceParams, Storage},
    model::{InstanceParams, ServiceInfo},
    published::History,
    renewal::{Renewal, Settings},
};
use publish::Publisher;
use task::Task;

/// One application in one registry, as a provider.
///
/// Services are [exported](Self::export) and unexported at any time. Once [`register`](Self::register) was called, one
/// task keeps the registry in step with them: a change is told when nothing else has changed for a while, under a new
/// revision that can be read before any consumer hears of it, and in place, so that consumers see no gap.
///
/// Dropping it ends the task, and leaves in the registry what is there.
pub struct Provider {
    shared: Arc<Shared>,
    /// The one task, until it starts, with the daily work in a report.
    task: Mutex<Option<(Task, Option<Renewal>)>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Provider {
    /// A provider that exports nothing yet. Nothing runs before [`register`](Self::register), so this can be called
    /// outside of a runtime.
    ///
    /// # Errors
    ///
    /// The application's name cannot stand in a mapping, or the metadata is to be kept in a report and there is none for
    /// this registry, or its URL has parameters that cannot be read.
    pub fn new(options: ProviderOptions) -> Result<Arc<Self>, MetadataError> {
        MetadataError::check_application(&options.application)?;
        let mut publisher = match options.storage {
            Storage::Local => None,
            Storage::Remote => Some(Publisher::new(&options)?),
        };
        let shared = Shared {
            history: Arc::new(History::new(options.history)),
            options,
            state: Mutex::default(),
            instances: watch::Sender::new(Arc::default()),
            changes: watch::Sender::new(()),
            urgent: Notify::new(),
        };
        let renewal = publisher
            .as_mut()
            .map(|publisher| renewal(publisher, &shared));
        let renewal = renewal.transpose()?.flatten();
        let shared = Arc::new(shared);
        let task = Task::new(Arc::clone(&shared), publisher);
        Ok(Arc::new(Self {
            task: Mutex::new(Some((task, renewal))),
            tasks: Mutex::default(),
            shared,
        }))
    }

    /// Exports the service at `url`, whose host and port are what consumers are told.
    ///
    /// # Errors
    ///
    /// The URL has no host or no port, or its `params-filter` names a filter that there is not.
    pub fn export(&self, url: &Url) -> Result<(), MetadataError> {
        let exported = self.exported(url)?;
        self.shared.change(|state| state.export(exported));
        Ok(())
    }

    /// Exports the service at `url` no more. The last one takes the instance with it.
    pub fn unexport(&self, url: &Url) {
        if let Ok(exported) = self.exported(url) {
            self.shared
                .change(|state| state.exported.remove(&key(&exported)).is_some());
        }
    }

    /// Says how the metadata of this process is asked for, once it can be; `None` when it cannot.
    pub fn set_metadata_service(
        &self,
        params: Option<MetadataServiceParams>,
        version: MetaVersion,
    ) {
        let service = params.map(|params| (params, version));
        self.shared.change(|state| {
            let is_new = state.metadata_service != service;
            state.metadata_service = service;
            is_new
        });
    }

    /// What this process answers for when it is asked for its metadata. Filled by [`register`](Self::register).
    pub fn history(&self) -> &History {
        &self.shared.history
    }

    /// The instances that the registry has been told of, by their ids, and has said to be visible; usually one. It changes
    /// with each update in place, and is empty before [`register`](Self::register) and after
    /// [`unregister`](Self::unregister).
    pub fn instances(&self) -> watch::Receiver<Arc<[ServiceInstance]>> {
        self.shared.instances.subscribe()
    }

    /// Publishes the metadata, registers the instance, waits until it is visible, and keeps both in step with what is
    /// exported from then on. When nothing is exported there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// The registry refuses the instance, or the metadata could not be published for as long as
    /// [`ProviderTimings::publish`] says and there is no `MetadataService` in its place. Then nothing was registered.
    /// Both are tried again with the next change, publishing also in the meantime, until
    /// [`unregister`](Self::unregister).
    ///
    /// # Cancel safety
    ///
    /// The provider goes on registering when the future is dropped.
    pub async fn register(&self) -> Result<(), RegistryError> {
        let outcome = self.shared.want(true);
        if let Some((task, renewal)) = self.task.lock().take() {
            let mut tasks = self.tasks.lock();
            tasks.spawn(task.run());
            if let Some(renewal) = renewal {
                tasks.spawn(renewal.run());
            }
        }
        self.shared.outcome(outcome).await
    }

    /// Takes the instance back and waits until it is gone. What this process answers for stays.
    ///
    /// # Errors
    ///
    /// The registry says that it could not.
    ///
    /// # Cancel safety
    ///
    /// The provider goes on unregistering when the future is dropped.
    pub async fn unregister(&self) -> Result<(), RegistryError> {
        if self.task.lock().is_some() {
            return Ok(());
        }
        let outcome = self.shared.want(false);
        self.shared.outcome(outcome).await
    }

    fn exported(&self, url: &Url) -> Result<Exported, MetadataError> {
        let error = |reason| MetadataError::Export {
            url: format!("{url:?}"),
            reason,
        };
        if url.host().is_empty() {
            return Err(error("it has no host"));
        }
        let port = url
            .port()
            .filter(|port| *port != 0)
            .ok_or_else(|| error("it has no port"))?;
        let options = &self.shared.options;
        let url = url.with_param("application", &*options.application);
        let filter = options.params.of(&url);
        let filter = filter.map_err(|source| MetadataError::Params {
            service: url.service_key().to_string(),
            source,
        })?;
        Ok(Exported {
            host: url.host().to_owned(),
            port,
            service: Arc::new(ServiceInfo::of_url(&url, &filter)),
            params: InstanceParams::of_url(&url, &filter),
        })
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provider")
            .field(&self.shared.options)
            .finish()
    }
}

/// What the callers and the task have in common.
#[derive(Debug)]
struct Shared {
    options: ProviderOptions,
    history: Arc<History>,
    state: Mutex<State>,
    /// What is visible in the registry.
    instances: watch::Sender<Arc<[ServiceInstance]>>,
    /// Wakes the task, which waits for what follows.
    changes: watch::Sender<()>,
    /// Wakes the task, which waits no longer.
    urgent: Notify,
}

/// What is wanted.
#[derive(Debug, Default)]
struct State {
    exported: BTreeMap<ExportKey, InOrder>,
    /// How many services have been exported so far.
    exports: u64,
    metadata_service: Option<(MetadataServiceParams, MetaVersion)>,
    /// Whether there should be an instance.
    is_registered: bool,
    waiters: Vec<Waiter>,
}

impl State {
    /// Whether it was not exported so before. What replaces a service takes its place in the order.
    fn export(&mut self, exported: Exported) -> bool {
        let order = self.exports;
        self.exports += 1;
        match self.exported.entry(key(&exported)) {
            Entry::Vacant(free) => {
                free.insert(InOrder { order, exported });
                true
            }
            Entry::Occupied(mut taken) => {
                let before = std::mem::replace(&mut taken.get_mut().exported, exported);
                before != taken.get().exported
            }
        }
    }
}

/// What is exported, by when it was.
#[derive(Debug)]
struct InOrder {
    order: u64,
    exported: Exported,
}

/// Match key, host and port.
type ExportKey = (String, String, u16);

/// Who waits until what is wanted is so.
#[derive(Debug)]
struct Waiter {
    is_registered: bool,
    done: oneshot::Sender<Result<(), RegistryError>>,
}

impl Shared {
    /// Changes what is wanted; `change` says whether it did.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        if change(&mut self.state.lock()) {
            self.changes.send_replace(());
        }
    }

    /// Wants an instance or none, at once.
    fn want(&self, is_registered: bool) -> oneshot::Receiver<Result<(), RegistryError>> {
        let (done, outcome) = oneshot::channel();
        let mut state = self.state.lock();
        state.is_registered = is_registered;
        state.waiters.push(Waiter {
            is_registered,
            done,
        });
        drop(state);
        self.urgent.notify_one();
        outcome
    }

    async fn outcome(
        &self,
        outcome: oneshot::Receiver<Result<(), RegistryError>>,
    ) -> Result<(), RegistryError> {
        outcome
            .await
            .unwrap_or_else(|_| Err(self.error("its task has ended").refused()))
    }

    /// An error about the application in the registry.
    fn error(&self, reason: impl Into<String>) -> RegistryError {
        let url = self.options.discovery.url();
        RegistryError::new(
            format!("register application {}", self.options.application),
            url.origin(),
            reason,
        )
    }
}

/// The daily work where `publisher` publishes, unless the report's URL says that there is none.
fn renewal(publisher: &mut Publisher, shared: &Shared) -> Result<Option<Renewal>, MetadataError> {
    let options = &shared.options;
    let report = Arc::clone(publisher.report());
    let settings = Settings::of(report.url()).map_err(|source| {
        let url = report.url();
        MetadataError::ReportParams {
            report: url.origin(),
            source,
        }
    })?;
    if !settings.renews {
        return Ok(None);
    }
    if settings.on_startup {
        publisher.stamps(options.clock.clone());
    }
    Ok(Some(Renewal {
        application: options.application.clone(),
        report,
        discovery: Arc::clone(&options.discovery),
        history: Arc::clone(&shared.history),
        instances: shared.instances.subscribe(),
        settings,
        dry_run: options.gc_dry_run,
        clock: options.clock.clone(),
        random: fastrand::Rng::with_seed(options.seed ^ 1),
    }))
}

fn key(exported: &Exported) -> ExportKey {
    (
        exported.service.match_key(),
        exported.host.clone(),
        exported.port,
    )
}
