//! What a test may look at.

use serde_json::Value;

use super::{
    config::Config,
    instance::Instance,
    key::{ConfigKey, ConnectionId, ServiceKey},
    naming::Publisher,
    server::ScriptedNacos,
    traffic::{Message, Sender},
};

/// An instance, and who registered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// With which it goes; `None` if it is persistent.
    pub connection: Option<ConnectionId>,
    /// As the server has it.
    pub instance: Instance,
}

/// Who wants to know about a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// Where pushes go.
    pub connection: ConnectionId,
    /// Which are wanted, with commas between them; all if `""`.
    pub clusters: String,
}

impl ScriptedNacos {
    /// What is registered now, although queries may not show it yet.
    pub fn registered(&self, service: &ServiceKey) -> Vec<Registration> {
        self.shared.read(|state| {
            let registered = state.naming.registered(service);
            let registered = registered.map(|(publisher, instance)| Registration {
                connection: match publisher {
                    Publisher::Connection(connection) => Some(*connection),
                    Publisher::Persistent(_) => None,
                },
                instance: instance.clone(),
            });
            registered.collect()
        })
    }

    /// The addresses of what is registered now, in order.
    pub fn addresses(&self, service: &ServiceKey) -> Vec<String> {
        let registered = self.registered(service).into_iter();
        let mut addresses: Vec<_> = registered.map(|r| r.instance.address()).collect();
        addresses.sort();
        addresses
    }

    /// The addresses that queries show now, whatever clusters they ask for, in order; disabled ones are not among them.
    pub fn listed(&self, service: &ServiceKey) -> Vec<String> {
        self.shared.read(|state| {
            let mut addresses = state.naming.listed(service);
            addresses.sort();
            addresses
        })
    }

    /// All services that are known, also those that have no instance any more.
    pub fn services(&self) -> Vec<ServiceKey> {
        self.shared
            .read(|state| state.naming.services().cloned().collect())
    }

    /// Who has subscribed.
    pub fn subscribers(&self, service: &ServiceKey) -> Vec<Subscriber> {
        self.shared.read(|state| {
            let subscribers = state.naming.subscribers(service);
            let subscribers = subscribers.map(|(connection, clusters)| Subscriber {
                connection,
                clusters: clusters.to_owned(),
            });
            subscribers.collect()
        })
    }

    /// What was written last, although reads may not show it yet.
    pub fn config(&self, key: &ConfigKey) -> Option<Config> {
        self.shared.read(|state| state.configs.stored(key).cloned())
    }

    /// What reads show now.
    pub fn shown_config(&self, key: &ConfigKey) -> Option<Config> {
        self.shared.read(|state| state.configs.read(key).cloned())
    }

    /// All configs.
    pub fn configs(&self) -> Vec<ConfigKey> {
        self.shared
            .read(|state| state.configs.keys().cloned().collect())
    }

    /// Who is told of changes.
    pub fn listeners(&self, key: &ConfigKey) -> Vec<ConnectionId> {
        self.shared
            .read(|state| state.configs.listeners(key).collect())
    }

    /// The connections that are set up.
    pub fn connections(&self) -> Vec<ConnectionId> {
        self.shared.read(|state| state.clients().collect())
    }

    /// All that was said so far, in order.
    pub fn traffic(&self) -> Vec<Message> {
        self.shared.read(|state| state.traffic.clone())
    }

    /// The bodies of the messages of this type that clients sent so far, in order.
    pub fn requests(&self, kind: &str) -> Vec<Value> {
        self.shared.read(|state| {
            let messages = state.traffic.iter();
            let messages = messages.filter(|m| m.sender == Sender::Client && m.kind == kind);
            messages.map(|message| message.body.clone()).collect()
        })
    }
}
