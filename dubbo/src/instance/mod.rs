//! One running application: what it provides, what it calls, and how it ends.

mod activity;
mod builder;
mod counts;
mod definitions;
mod explain;
mod export;
mod filters;
mod hooks;
mod host;
mod http;
mod metadata;
mod migration;
mod openapi;
mod operate;
mod presence;
mod probes;
mod refer;
mod registries;
mod reload;
mod resend;
mod rules;
mod shutdown;
mod signals;
mod sources;
mod status;
mod telemetry;
mod tools;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use arc_swap::ArcSwap;
use dubbo_core::{
    call::{Client, Stub},
    cluster::Directory,
    extension::Extensions,
    invoker::Invoker,
    protocol::{Exporter, Protocol},
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
};
use dubbo_protocol::java::GenericClient;
use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinSet};

pub use builder::InstanceBuilder;
pub use explain::{Explanation, Road};
pub use migration::{CallsSeen, ConsumerSeen};
pub use presence::{BadPattern, Presence, Selection};
pub(crate) use registries::url::of as registry_url;
pub use reload::{ConfigChanged, live_keys};
pub use status::{
    BreakerStatus, InstanceStatus, MethodStatus, ProviderStatus, ReferenceStatus, Registered,
    RegisteredInstance, RegistryStatus, RetryStatus, ServiceStatus, SourceStatus, StoppedMethod,
};
pub use tools::{Listed, RegistryTools};
pub(crate) use {
    counts::Counted, export::RELEASE, operate::WeakInstance, probes::Probe, status::ServedService,
};

use self::{
    activity::Activity,
    builder::{Provided, protocol},
    definitions::Definitions,
    filters::Filters,
    hooks::Hooks,
    host::ToRegistry,
    http::Mounted,
    metadata::Told,
    migration::Readiness,
    presence::Places,
    probes::Probes,
    registries::Registries,
    reload::Reload,
    resend::Resending,
    rules::Rules,
};
use crate::{
    admin::Admin,
    config::{Config, Environment, LoadOptions, ReferenceConfig, Sources, Tree},
    error::Error,
    observe::Telemetry,
    route,
};

/// An application: its services, its references and what connects them.
///
/// Cloning it gives another handle to the same instance. Two instances in one process share nothing.
#[derive(Clone)]
pub struct Instance(Arc<Inner>);

struct Inner {
    config: Config,
    /// What code said, which is stronger than all sources.
    code: Config,
    sources: Sources,
    /// What the sources say, as far as it holds.
    tree: ArcSwap<Tree>,
    extensions: Extensions,
    provided: Vec<Provided>,
    mounted: Vec<Mounted>,
    protocols: Protocols,
    registries: Registries,
    rules: Rules,
    filters: Filters,
    resending: Resending,
    definitions: Arc<Definitions>,
    /// What registries have been told of.
    told: Arc<Told>,
    to_registry: ToRegistry,
    activity: Arc<Activity>,
    /// Who calls by which path, where that is asked for.
    readiness: Option<Arc<Readiness>>,
    /// Where its services stand in registries.
    presence: Places,
    hooks: Hooks,
    reload: Reload,
    probes: Probes,
    admin: Admin,
    telemetry: Telemetry,
    running: Mutex<Running>,
    phase: watch::Sender<Phase>,
    impatient: signals::Impatient,
    /// What listens for signals, and what ends it.
    last_tasks: Mutex<JoinSet<()>>,
}

/// By lower-case name.
type Protocols = HashMap<String, Arc<dyn Protocol>>;

/// What a start has brought about and a shutdown takes back.
#[derive(Default)]
struct Running {
    exporters: Vec<Box<dyn Exporter>>,
    /// The services of the exporters.
    served: Vec<ServedService>,
    /// The metadata service's.
    metadata: Vec<Box<dyn Exporter>>,
    /// What is mounted beside calls.
    http: Vec<Box<dyn Exporter>>,
    /// Documents, beside calls too.
    pages: Vec<Box<dyn Exporter>>,
    /// Registered each by itself, with the position of the registry.
    registered: Vec<(usize, Url)>,
    /// The positions of the registries that were told of the application.
    applications: Vec<usize>,
    /// Those that the application still has a client of: dropping the last clone of one releases what it holds.
    references: Vec<Reference>,
}

/// What a client stands on.
struct Reference {
    service: ServiceKey,
    descriptor: Arc<ServiceDescriptor>,
    /// Whether it has to have a provider.
    check: bool,
    invoker: Weak<dyn Invoker>,
    /// Who knows the providers: one directory for each registry, or the one of direct URLs.
    directories: Vec<Weak<dyn Directory>>,
    /// As the client was generated, to find its options again.
    asked: Arc<ServiceDescriptor>,
    named: refer::Named,
    rules: Weak<rules::ReferenceRules>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Built,
    Started,
    ShuttingDown,
    Ended,
}

impl Instance {
    /// Starts from nothing: everything is said in code.
    pub fn builder() -> InstanceBuilder {
        InstanceBuilder::new()
    }

    /// Starts from a configuration file.
    ///
    /// # Errors
    ///
    /// The file cannot be read. What is wrong in it is told by [`InstanceBuilder::build`], all at once.
    pub fn load(path: impl Into<std::path::PathBuf>) -> Result<InstanceBuilder, Error> {
        Self::load_with(&LoadOptions::path(path).environment(Environment::of_process()))
    }

    /// Starts from the configuration file that the environment names (`DUBBO_CONFIG_PATH`, `DUBBO_GO_CONFIG_PATH`), or
    /// from the first that is there: `dubbo.yaml`, `conf/dubbogo.yaml`, `../conf/dubbogo.yaml`.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); also when there is no such file.
    pub fn load_default() -> Result<InstanceBuilder, Error> {
        Self::load_with(&LoadOptions::search().environment(Environment::of_process()))
    }

    /// Starts from a configuration from anywhere, such as a text, with no other environment than the one that the
    /// options have.
    ///
    /// ```
    /// use dubbo::{Instance, config::LoadOptions};
    ///
    /// let text = "dubbo: {application: {name: order-center}}";
    /// let instance = Instance::load_with(&LoadOptions::text("embedded.yaml", text))?.build()?;
    /// # Ok::<_, dubbo::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_with(options: &LoadOptions) -> Result<InstanceBuilder, Error> {
        InstanceBuilder::load(options)
    }

    /// Opens the ports, serves everything that is provided, then tells the registries.
    ///
    /// From now on SIGTERM and SIGINT begin a shutdown, unless `shutdown.internal-signal` is off; [`serve`](Self::serve)
    /// waits for it. A second signal ends a program that does not serve at once, with the usual exit code.
    ///
    /// # Errors
    ///
    /// A service cannot be exported or registered, or signals cannot be listened for; what had been started is taken
    /// back, and the instance has ended. Or the instance has been started already, or was shut down.
    ///
    /// # Cancel safety
    ///
    /// What was started by then stays when the future is dropped; [`shutdown`](Self::shutdown) ends it.
    pub async fn start(&self) -> Result<(), Error> {
        let starts = self.0.phase.send_if_modified(|phase| {
            let starts = *phase == Phase::Built;
            if starts {
                *phase = Phase::Started;
            }
            starts
        });
        if !starts {
            return Err(Error::State(
                "the instance has been started already, or its start failed, or it was shut down",
            ));
        }
        // First of all: whoever is told that a program has started may tell it to stop.
        let started = async {
            signals::obey(&self.0)?;
            self.0.admin.open().await?;
            self.0.telemetry.open().await?;
            self.0.start().await?;
            self.0.follow_configuration()
        };
        let started = started.await;
        if started.is_err() {
            self.shutdown(Duration::ZERO).await;
            return started;
        }
        self.0.probes.started();
        tokio::select! {
            biased;
            () = hooks::run("on_ready", &self.0.hooks.ready, self, None) => {}
            () = self.0.ending() => {}
        }
        Ok(())
    }

    /// A client of the service that `C` was generated from.
    ///
    /// Its options are those of the reference in the configuration that is called like the client type or like the
    /// interface; without one, the consumer's. Ask once and clone the client: each call of this makes a new
    /// subscription at the registry. Dropping the last clone ends it, and closes the connections that no other client uses.
    ///
    /// # Errors
    ///
    /// There is neither a `url` nor a registry to ask, or no provider came in time and `check` is on.
    pub async fn refer<C: Client>(&self) -> Result<C, Error> {
        self.refer_with(ReferenceConfig::new()).await
    }

    /// A client with the options of the reference called `id` in the configuration.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer); also when there is no such reference.
    pub async fn refer_as<C: Client>(&self, id: &str) -> Result<C, Error> {
        self.0
            .refer(C::descriptor(), refer::Named::Id(id.to_owned()))
            .await
            .map(C::from_stub)
    }

    /// A client with options from code. They win over those of the configuration.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer).
    pub async fn refer_with<C: Client>(&self, options: ReferenceConfig) -> Result<C, Error> {
        let stub: Stub = self
            .0
            .refer(
                C::descriptor(),
                refer::Named::Type(client_name::<C>().to_owned(), Box::new(options)),
            )
            .await?;
        Ok(C::from_stub(stub))
    }

    /// A client that calls any method of the service `interface`, without generated code: values come and go as
    /// [`Value`](dubbo_hessian2::Value) or JSON.
    ///
    /// Its options are those of the reference in the configuration that is called like the interface; without one, the
    /// consumer's.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer).
    pub async fn generic(&self, interface: &str) -> Result<GenericClient, Error> {
        self.generic_with(interface, ReferenceConfig::new()).await
    }

    /// A client for generic calls with the options of the reference called `id`, which names its `interface`.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer); also when there is no such reference, or it names no interface.
    pub async fn generic_as(&self, id: &str) -> Result<GenericClient, Error> {
        let interface = self.0.interface_of(id)?;
        self.0
            .generic(&interface, refer::Named::Id(id.to_owned()))
            .await
    }

    /// A client for generic calls with options from code. They win over those of the configuration.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer).
    pub async fn generic_with(
        &self,
        interface: &str,
        options: ReferenceConfig,
    ) -> Result<GenericClient, Error> {
        let named = refer::Named::Type(interface.to_owned(), Box::new(options));
        self.0.generic(interface, named).await
    }

    /// Why there are providers of `service` or none: each step from the question to those that can be called, for every
    /// reference to it and for every registry that is asked. `service` is a service key, `group/interface:version`.
    ///
    /// Of a service that there is no reference to, the registries are asked as one with the consumer's defaults would. What
    /// routers leave out is told for a call without arguments and attachments, whose method no rule names; for another call
    /// there is [`explain_call`](Self::explain_call).
    ///
    /// # Errors
    ///
    /// `service` is no service key, or a registry cannot be asked for it.
    pub async fn explain(&self, service: &str) -> Result<Explanation, Error> {
        self.0.explain(service).await
    }

    /// Why there are providers for this very call or none: as [`explain`](Self::explain), with what each router leaves for
    /// the method, the arguments and the attachments of `call`. Of what it says about its consumer `group` and `version`
    /// count, which are of the service; for the rest each reference is its own consumer.
    ///
    /// # Errors
    ///
    /// A registry cannot be asked for it.
    pub async fn explain_call(&self, call: &route::Request) -> Result<Explanation, Error> {
        let service = call.service_key();
        let roads = self.0.roads(&service, &call.invocation());
        self.0.explained(service, roads).await
    }

    /// The URLs of the services that are exported, with the addresses that are really served at.
    pub fn exported(&self) -> Vec<Url> {
        let running = self.0.running.lock();
        running
            .exporters
            .iter()
            .map(|exporter| exporter.url().clone())
            .collect()
    }

    /// The URLs of what [`http`](InstanceBuilder::http) serves, with the addresses that are really served at.
    pub fn mounted(&self) -> Vec<Url> {
        let running = self.0.running.lock();
        let mounted = running.http.iter();
        mounted.map(|exporter| exporter.url().clone()).collect()
    }

    /// Serves until SIGTERM or SIGINT (or [`shutdown`](Self::shutdown) from elsewhere), then shuts down. Starts first
    /// if that has not been done.
    ///
    /// # Errors
    ///
    /// The start failed, or a second signal cut the shutdown short.
    pub async fn serve(&self) -> Result<(), Error> {
        let not_started = *self.0.phase.borrow() == Phase::Built;
        if not_started {
            self.start().await?;
        }
        signals::serve(self).await
    }

    /// Ends the instance without losing a call, within `grace`.
    ///
    /// It leaves the registries, tells connected consumers (health says `NOT_SERVING`), serves what still comes while
    /// they take notice, then stops accepting (GOAWAY) and lets the calls in flight finish. At the end of `grace` what
    /// is left is cut. A second call waits for the first one to be done, whatever its own grace.
    ///
    /// Nothing runs on after that, but for what listens for signals after a [`start`](Self::start): a second one still ends
    /// a program that goes on. It goes with the last handle.
    ///
    /// # Cancel safety
    ///
    /// The shutdown goes on when the future is dropped.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.shutdown(grace).await;
    }
}

impl Inner {
    /// Keeps something for the end to take back; gives it back when the end has begun already.
    fn keep<T>(&self, it: T, among: impl FnOnce(&mut Running) -> &mut Vec<T>) -> Result<(), T> {
        // An end moves the phase on first and empties this after that, under the same lock.
        let mut running = self.running.lock();
        if self.is_ending() {
            return Err(it);
        }
        among(&mut running).push(it);
        Ok(())
    }

    fn is_ending(&self) -> bool {
        *self.phase.borrow() >= Phase::ShuttingDown
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = *self.0.phase.borrow();
        f.debug_struct("Instance")
            .field("application", &self.0.config.application.name)
            .field("phase", &phase)
            .field("exported", &self.exported())
            .finish_non_exhaustive()
    }
}

const ENDED_MEANWHILE: Error = Error::State("the instance was shut down while it started");

/// The protocol of calls within the process.
const INJVM: &str = "injvm";

const TRIPLE: &str = "tri";

/// `GreeterClient` for `greet::GreeterClient`.
fn client_name<C>() -> &'static str {
    let path = std::any::type_name::<C>();
    path.rsplit("::").next().unwrap_or(path)
}
