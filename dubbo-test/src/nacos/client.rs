//! Other clients, which a test plays by itself.

use std::sync::Arc;

use super::{
    config::Config,
    instance::Instance,
    key::{ConfigKey, ConnectionId, ServiceKey},
    naming::Publisher,
    server::ScriptedNacos,
    state::Shared,
};

/// A client that is not there: what it registers appears in the server at once. Dropping it is the end of its
/// connection.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    id: ConnectionId,
}

impl ScriptedNacos {
    /// A further client.
    pub fn client(&self) -> Client {
        Client {
            shared: self.shared.clone(),
            id: self.shared.update(|state, _| state.reserve()),
        }
    }

    /// Writes a config, as some other client or an operator does.
    pub fn publish_config(&self, key: &ConfigKey, content: &str) {
        self.shared.update(|state, now| {
            let (config, delays) = (Config::new(content, "text", ""), state.delays);
            let published = state.configs.publish(key, config, "", now, delays);
            published.expect("nothing is compared");
        });
    }

    /// Removes a config, if it is there.
    pub fn remove_config(&self, key: &ConfigKey) {
        self.shared.update(|state, now| {
            let delays = state.delays;
            state.configs.remove(key, now, delays);
        });
    }
}

impl Client {
    /// By which its registrations are known.
    pub fn connection(&self) -> ConnectionId {
        self.id
    }

    /// Registers `instances` instead of all that this client had registered under `service`.
    pub fn register(&self, service: &ServiceKey, instances: impl IntoIterator<Item = Instance>) {
        let instances = instances.into_iter().collect();
        let publisher = Publisher::Connection(self.id);
        let registered = self.shared.update(|state, now| {
            let (naming, delays) = (&mut state.naming, state.delays);
            naming.register(publisher, service, instances, now, delays)
        });
        registered.expect("the service is for ephemeral instances");
    }

    /// Takes back all that this client had registered under `service`.
    pub fn deregister(&self, service: &ServiceKey) {
        let publisher = Publisher::Connection(self.id);
        self.shared.update(|state, now| {
            let (naming, delays) = (&mut state.naming, state.delays);
            naming.deregister(&publisher, service, now, delays);
        });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared
            .update(|state, now| state.disconnect(self.id, now));
    }
}
