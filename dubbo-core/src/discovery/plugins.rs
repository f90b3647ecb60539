//! What a program adds to application-level discovery: to what its own instances say, and to what it hears of others.

use std::{collections::BTreeMap, sync::Arc};

use super::ServiceInstance;
use crate::{extension::BoxError, service::ServiceKey};

/// Adds to what an instance of this program says about itself in a registry (`docs/spec/metadata.md` §7.3).
///
/// ```
/// use std::sync::Arc;
/// use dubbo_core::{
///     discovery::{Described, InstanceCustomizer, InstanceDraft},
///     extension::BoxError,
/// };
///
/// struct Zone;
///
/// impl InstanceCustomizer for Zone {
///     fn customize(&self, draft: &mut InstanceDraft, _: &Described<'_>) -> Result<(), BoxError> {
///         draft.set("zone", "east");
///         Ok(())
///     }
/// }
///
/// dubbo_core::extension!(dyn InstanceCustomizer, "zone", |_| Ok(Arc::new(Zone)));
/// ```
///
/// It is made with the URL of the registry that is to be told, and called each time that something may have changed; what
/// it writes differently from the last time is told to the registry, in place. It must be quick.
pub trait InstanceCustomizer: Send + Sync {
    /// Where it stands among the others: those of lower orders come first, and of one order those whose names do. Those of
    /// the framework have orders below 100; others have 100 to 9000, by default 1000.
    fn order(&self) -> u16 {
        1000
    }

    /// Writes what is to be said.
    ///
    /// What the framework itself needs stays as it is: the instance's address, and the keys by which its services are
    /// found. A change of those is taken back, with a warning, and leaves everything else that was written.
    ///
    /// # Errors
    ///
    /// It could not. Then it is as if it had not been called, which the log says with its name. A panic is the same.
    fn customize(
        &self,
        draft: &mut InstanceDraft,
        described: &Described<'_>,
    ) -> Result<(), BoxError>;
}

/// Looks at each list of instances that a consumer receives, before anybody else does (`docs/spec/metadata.md` §7.3;
/// `ServiceInstanceNotificationCustomizer` in Dubbo Java).
///
/// It is made with the URL of the registry that the lists come from. It must be quick.
pub trait InstanceListFilter: Send + Sync + 'static {
    /// Takes out instances of `application`, or changes what they say, each as a copy of its own ([`Arc::make_mut`]).
    ///
    /// # Errors
    ///
    /// It could not. Then the list is as it was before, with a warning. A panic is the same.
    fn filter(
        &self,
        application: &str,
        instances: &mut Vec<Arc<ServiceInstance>>,
    ) -> Result<(), BoxError>;
}

/// An instance before a registry is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceDraft {
    instance: ServiceInstance,
}

impl InstanceDraft {
    /// A draft that begins with `instance`.
    pub fn new(instance: ServiceInstance) -> Self {
        Self { instance }
    }

    /// What it says by now.
    pub fn instance(&self) -> &ServiceInstance {
        &self.instance
    }

    /// The instance as it is to be told.
    pub fn into_instance(self) -> ServiceInstance {
        self.instance
    }

    /// What it says under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.instance.metadata.get(key)
    }

    /// Says `value` under `key`, whatever stood there.
    pub fn set(&mut self, key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) {
        self.instance.metadata.insert(key, value);
    }

    /// Says nothing under `key`.
    pub fn remove(&mut self, key: &str) {
        self.instance.metadata.remove(key);
    }

    /// Says where the instance is reached. The framework alone does this: an instance is known by its address.
    pub fn set_address(&mut self, host: impl Into<Arc<str>>, port: u16) {
        self.instance.host = host.into();
        self.instance.port = port;
    }

    /// Says how large a share of the calls the instance is to have, where 100 is the usual one: in its metadata, and where
    /// the registry itself has weights. Consumers take it for the weight of each of its services.
    pub fn set_weight(&mut self, weight: u32) {
        self.instance.weight = weight;
        self.set("weight", weight.to_string());
    }

    /// Says whether the instance wants calls.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.instance.enabled = enabled;
    }
}

/// What an instance serves, for those who describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Described<'a> {
    /// The application.
    pub application: &'a str,
    /// The revision of what it serves.
    pub revision: &'a str,
    /// Its services by their keys with the protocol, such as `group/greet.Greeter:1.0.0:tri`.
    pub services: BTreeMap<&'a str, DescribedService<'a>>,
}

impl<'a> Described<'a> {
    /// What `application` serves at `revision`: nothing, until [`services`](Self::services) says what.
    pub fn new(application: &'a str, revision: &'a str) -> Self {
        Self {
            application,
            revision,
            services: BTreeMap::new(),
        }
    }
}

/// One service on one protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescribedService<'a> {
    /// Its interface, group and version.
    pub service: ServiceKey,
    /// The protocol, such as `tri`.
    pub protocol: &'a str,
    /// What consumers are told of it; what is about one method is called `<method>.<key>`.
    pub params: &'a BTreeMap<String, String>,
}

impl<'a> DescribedService<'a> {
    /// The service on `protocol`, with what consumers are told of it.
    pub fn new(
        service: ServiceKey,
        protocol: &'a str,
        params: &'a BTreeMap<String, String>,
    ) -> Self {
        Self {
            service,
            protocol,
            params,
        }
    }
}
