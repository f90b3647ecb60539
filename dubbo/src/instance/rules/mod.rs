//! The rules of an instance: where they come from, and what goes by them while it runs.

mod chain;
mod provider;
mod reference;

use std::{path::PathBuf, sync::Arc, time::Duration};

use dubbo_cluster::{
    configurator::OverrideRules,
    rules::{GROUP, RuleBook},
};
use dubbo_core::{config_center::ConfigCenter, extension::Extensions, service::ServiceKey};
use parking_lot::Mutex;
use tokio::task::JoinSet;

pub(super) use self::{
    chain::{LiveChain, MakeFilters},
    provider::Exported,
    reference::ReferenceRules,
};
use super::{Instance, export::application_name, registries::url};
use crate::{
    config::{Config, defaults},
    error::Error,
    observe::tally::Tally,
};

impl Instance {
    /// The rules of this instance: overrides, routes and policies, by the keys of
    /// [`rules::key`](crate::rules::key). What is [put](RuleBook::put) there counts before what config centers and files
    /// say, and applies at once, to calls that begin from then on.
    pub fn rules(&self) -> &RuleBook {
        self.0.rules.book()
    }
}

/// The rules of an instance, and the places that they come from.
pub(super) struct Rules {
    book: RuleBook,
    application: String,
    /// Until somebody goes by rules: watching takes a runtime.
    places: Mutex<Option<Places>>,
    patience: Duration,
    /// Have services go by the rules.
    tasks: Mutex<JoinSet<()>>,
}

struct Places {
    /// Each with its group.
    centers: Vec<(Arc<dyn ConfigCenter>, String)>,
    folder: Option<PathBuf>,
}

impl Rules {
    /// The rules of the instance that has `extensions`: from the config center, else from the registries that are one, and
    /// from a folder.
    pub(super) fn create(config: &Config, extensions: &Extensions) -> Result<Self, Error> {
        let own = &config.config_center;
        let mut centers = Vec::new();
        let mut patience = Duration::ZERO;
        let mut add = |id: &str, registry, group: &str, timeout: Duration| -> Result<(), Error> {
            let url = url::of(id, registry, &config.metadata);
            let center = extensions.create::<dyn ConfigCenter>(url.protocol(), &url)?;
            let center = extensions.shared::<Tally>().center(center);
            centers.push((center, group.to_owned()));
            patience = patience.max(timeout);
            Ok(())
        };
        if let Some(center) = own.as_registry() {
            let group = own.group.as_deref().unwrap_or(GROUP);
            let timeout = own.timeout.unwrap_or(defaults::CONFIG_CENTER_TIMEOUT);
            add("config-center", &center, group, timeout)?;
        } else {
            for (id, registry) in &config.registries {
                if registry.is_config_center(extensions) {
                    let timeout = registry.timeout.unwrap_or(defaults::REGISTRY_TIMEOUT);
                    add(id, registry, GROUP, timeout)?;
                }
            }
        }
        let places = Places {
            centers,
            folder: config.rules.path.clone(),
        };
        let book = RuleBook::clone(&extensions.shared());
        for rule in config.router.iter().flatten() {
            book.configure(&rule.key, "dubbo.router", Some(&rule.text));
        }
        Ok(Self {
            book,
            application: application_name(config).to_owned(),
            places: Mutex::new(Some(places)),
            patience: patience.max(FILES),
            tasks: Mutex::default(),
        })
    }

    /// The rules that override `service` of this program.
    pub(super) fn of(&self, service: &ServiceKey) -> OverrideRules {
        OverrideRules::follow(&self.book, &self.application, service)
    }

    pub(super) fn book(&self) -> &RuleBook {
        &self.book
    }

    /// Begins to watch the places, unless that has been done.
    pub(super) fn begin(&self) {
        let Some(places) = self.places.lock().take() else {
            return;
        };
        for (center, group) in places.centers {
            self.book.add_center_in(center, &group);
        }
        if let Some(folder) = places.folder {
            self.book.set_folder(folder);
        }
    }

    /// Waits for what the places say of the rules that are followed by now, but not for ever.
    pub(super) async fn settled(&self) {
        self.book.settled(self.patience).await;
    }

    /// Runs what has a service go by the rules.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().spawn(task);
    }

    /// Has no service go by them any more: from now on, registries are only told that services end.
    pub(super) async fn let_go(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
    }

    /// Watches them no more.
    pub(super) async fn close(&self) {
        self.places.lock().take();
        self.book.close().await;
    }
}

/// How long files are waited for.
const FILES: Duration = Duration::from_secs(1);
