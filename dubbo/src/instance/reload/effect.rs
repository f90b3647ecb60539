//! How a configuration that has changed comes into force for what runs: no connection is closed, and no call fails.

use std::sync::Weak;

use dubbo_cluster::configurator::Amendment;
use dubbo_protocol::java::with_built_ins;

use super::live::Effective;
use crate::{
    config::{Config, defaults},
    instance::{
        Inner, Reference,
        export::{provider_url, served_as},
        refer::reference_config,
        rules::Exported,
    },
};

/// One service on one protocol.
pub(in crate::instance) struct Served {
    pub(in crate::instance) exported: Weak<Exported>,
    /// The position of the service among those that are provided.
    pub(in crate::instance) service: usize,
    /// The id of the protocol.
    pub(in crate::instance) protocol: String,
}

impl Inner {
    /// Has what runs be as `now` says, where that is something else than `before`. References come last.
    pub(super) fn take_effect(&self, before: &Effective, now: &Effective) {
        let (old, new) = (&before.config, &now.config);
        if old.router != new.router {
            self.exchange_router(old, new);
        }
        if old.retry != new.retry {
            let retry = new.retry.clone().unwrap_or_default();
            self.resending.resend().configure(retry);
        }
        if let Some(folder) = &new.rules.path
            && old.rules.path.as_ref() != Some(folder)
        {
            self.rules.book().set_folder(folder);
        }
        for (id, registry) in &new.registries {
            let timeout = registry.timeout.unwrap_or(defaults::REGISTRY_TIMEOUT);
            self.registries.set_timeout(id, timeout);
        }
        if before.services != now.services {
            for served in &*self.reload.served.lock() {
                self.amend_service(served, now);
            }
        }
    }

    /// Has every reference be as the configuration says now.
    pub(in crate::instance) fn amend_references(&self) {
        let config = self.current();
        for reference in &self.running.lock().references {
            self.amend(reference, &config);
        }
    }

    /// Has a reference be as `config` says.
    fn amend(&self, reference: &Reference, config: &Config) {
        let Some(rules) = reference.rules.upgrade() else {
            return;
        };
        // Which reference of the configuration it is does not change.
        let Ok((mut options, _)) = reference_config(config, &reference.asked, &reference.named)
        else {
            return;
        };
        let made = rules.consumer();
        if made.param("timeout").is_some() {
            options.timeout.get_or_insert(defaults::REQUEST_TIMEOUT);
        }
        let now = self.consumer_url(&options, reference.service.interface());
        rules.amend(Amendment::between(made, &now, &["timestamp"]));
    }

    fn amend_service(&self, served: &Served, now: &Effective) {
        let (Some(exported), Some(protocol)) = (
            served.exported.upgrade(),
            self.config.protocols.get(&served.protocol),
        ) else {
            return;
        };
        let provided = &self.provided[served.service];
        let service = with_built_ins(served_as(&provided.service, &provided.config));
        let application = &self.config.application;
        let url = |options| provider_url(application, options, protocol, service.descriptor());
        let before = url(&provided.config);
        let now = url(&now.services[served.service]);
        // One is of the moment, the other may be made up anew each time.
        exported.amend(Amendment::between(&before, &now, &["timestamp", "token"]));
    }

    fn exchange_router(&self, old: &Config, new: &Config) {
        let rules = |config: &Config| config.router.clone().unwrap_or_default();
        let (old, new) = (rules(old), rules(new));
        for gone in old
            .iter()
            .filter(|gone| new.iter().all(|rule| rule.key != gone.key))
        {
            self.rules.book().configure(&gone.key, ROUTER, None);
        }
        for rule in &new {
            self.rules
                .book()
                .configure(&rule.key, ROUTER, Some(&rule.text));
        }
    }
}

/// What messages call the rules of a configuration.
const ROUTER: &str = "dubbo.router";
