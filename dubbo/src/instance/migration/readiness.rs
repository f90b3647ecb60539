//! Who calls by which path: what has to be known before services are no longer registered by their interfaces.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_cluster::migration::Path;
use dubbo_core::{
    filter::{Chain, Filter, Next},
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::ServiceKey,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{config::Config, instance::export::application_name};

/// A consumer application that has called a service of this program since its start, and by which path it had found it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerSeen {
    /// The service.
    pub service: ServiceKey,
    /// The consumer application; empty when it did not say.
    pub application: String,
    /// The calls of those that had found it by the application.
    pub by_application: CallsSeen,
    /// The calls of those that had found it by the interface.
    pub by_interface: CallsSeen,
    /// The calls of those that do not say: other frameworks, direct URLs, and programs of ours without
    /// `migration.readiness`.
    pub unsaid: CallsSeen,
}

/// Calls of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallsSeen {
    /// How many.
    pub calls: u64,
    /// How long ago the last one was.
    pub last: Option<Duration>,
}

/// What `migration.readiness` is about, on both sides.
pub(in crate::instance) struct Readiness {
    application: Arc<str>,
    services: Mutex<Vec<(ServiceKey, Arc<Callers>)>>,
}

/// Who has called one service, by application.
#[derive(Default)]
struct Callers(Mutex<HashMap<String, Seen>>);

/// By the application, by the interface, and unsaid.
#[derive(Default)]
struct Seen([(u64, Option<Instant>); 3]);

impl Readiness {
    /// `None` where the configuration does not ask for it.
    pub(in crate::instance) fn of(config: &Config) -> Option<Self> {
        let enabled = config.migration.readiness == Some(true);
        enabled.then(|| Self {
            application: application_name(config).into(),
            services: Mutex::default(),
        })
    }

    /// Has the calls of `invoker` say by which path it was found.
    pub(in crate::instance) fn tell(
        &self,
        path: Path,
        invoker: Arc<dyn Invoker>,
    ) -> Arc<dyn Invoker> {
        let filter = Tell {
            application: Arc::clone(&self.application),
            path,
        };
        Chain::wrap(vec![Arc::new(filter)], invoker)
    }

    /// The filter that counts who calls `service`.
    pub(in crate::instance) fn count(&self, service: &ServiceKey) -> Arc<dyn Filter> {
        let mut services = self.services.lock();
        let known = services.iter().find(|(key, _)| key == service);
        let callers = known.map(|(_, callers)| Arc::clone(callers));
        let callers = callers.unwrap_or_else(|| {
            let callers = Arc::<Callers>::default();
            services.push((service.clone(), Arc::clone(&callers)));
            callers
        });
        Arc::new(Count(callers))
    }

    /// Who has called, by service and application.
    pub(in crate::instance) fn seen(&self) -> Vec<ConsumerSeen> {
        let now = Instant::now();
        let mut all = Vec::new();
        for (service, callers) in &*self.services.lock() {
            let callers = callers.0.lock();
            all.extend(callers.iter().map(|(application, seen)| {
                let [by_application, by_interface, unsaid] =
                    seen.0.map(|(calls, last)| CallsSeen {
                        calls,
                        last: last.map(|last| now.duration_since(last)),
                    });
                ConsumerSeen {
                    service: service.clone(),
                    application: application.clone(),
                    by_application,
                    by_interface,
                    unsaid,
                }
            }));
        }
        all.sort_by(|a, b| (&a.service, &a.application).cmp(&(&b.service, &b.application)));
        all
    }
}

impl Callers {
    /// Names come from peers: there are only so many, and none is long.
    fn note(&self, application: &str, path: Option<Path>) {
        let mut callers = self.0.lock();
        let is_new = !callers.contains_key(application);
        let name = if application.len() > LONGEST_NAME || (is_new && callers.len() >= MOST_CALLERS)
        {
            OTHERS
        } else {
            application
        };
        let place = match path {
            Some(Path::Application) => 0,
            Some(Path::Interface) => 1,
            None => 2,
        };
        if !callers.contains_key(name) {
            callers.insert(name.to_owned(), Seen::default());
        }
        if let Some(seen) = callers.get_mut(name) {
            let (calls, last) = &mut seen.0[place];
            *calls += 1;
            *last = Some(Instant::now());
        }
    }
}

struct Tell {
    application: Arc<str>,
    path: Path,
}

#[async_trait]
impl Filter for Tell {
    async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
        let attachments = &mut invocation.attachments;
        attachments.insert(CONSUMER, (*self.application).to_owned());
        attachments.insert(PATH, self.path.name());
        next.run(invocation).await
    }
}

struct Count(Arc<Callers>);

#[async_trait]
impl Filter for Count {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let attachments = &invocation.attachments;
        let mut names = NAMES.iter().filter_map(|name| attachments.get(name));
        let application = names.next().unwrap_or_default();
        let said = attachments.get(PATH).unwrap_or_default();
        let path = Path::BOTH.into_iter().find(|path| path.name() == said);
        self.0.note(application, path);
        next.run(invocation).await
    }
}

const CONSUMER: &str = "migration-consumer";
const PATH: &str = "migration-path";

/// Where a caller's application stands: our own word, that of the classic protocol, that of Java's Triple.
const NAMES: [&str; 3] = [CONSUMER, "remote.application", "tri-consumer-appname"];

const MOST_CALLERS: usize = 1_000;
const LONGEST_NAME: usize = 128;
const OTHERS: &str = "(others)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_peers_take_only_so_much_room() {
        let callers = Callers::default();
        callers.note(&"x".repeat(LONGEST_NAME + 1), None);
        for application in 0..2 * MOST_CALLERS {
            callers.note(&format!("app-{application}"), Some(Path::Interface));
        }
        callers.note("app-0", Some(Path::Application));
        let callers = callers.0.lock();
        assert_eq!(callers.len(), MOST_CALLERS);
        let counts = |name: &str| callers[name].0.map(|(calls, _)| calls);
        assert_eq!(counts("app-0"), [1, 1, 0]);
        let beyond = u64::try_from(MOST_CALLERS).expect("small") + 1;
        assert_eq!(counts(OTHERS), [0, beyond, 1]);
    }
}
