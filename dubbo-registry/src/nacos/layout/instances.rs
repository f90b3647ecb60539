//! Application level: a service with the name of the application.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use dubbo_core::{discovery::ServiceInstance, registry::RegistryError, url::Url};
use parking_lot::Mutex;

use super::{DEFAULT_GROUP, group, interfaces::is_interface_level, limits, place};
use crate::{
    backend::{Entry, Place},
    layout::InstanceLayout,
    nacos::instance::Instance,
};

/// The services of applications.
pub(in crate::nacos) struct Instances {
    group: String,
    address: String,
    /// The instances of which it was said that they are shortened.
    shortened: Mutex<BTreeSet<String>>,
}

impl Instances {
    pub(in crate::nacos) fn of_url(url: &Url) -> Result<Self, limits::Illegal> {
        Ok(Self {
            group: group(url, DEFAULT_GROUP)?,
            address: format!("{}://{}", url.protocol(), url.address()),
            shortened: Mutex::default(),
        })
    }

    fn fit(&self, id: &str, metadata: &mut BTreeMap<String, String>) -> Result<(), String> {
        let left_out = limits::fit(metadata, is_needed).map_err(|error| error.to_string())?;
        if !left_out.is_empty() && self.shortened.lock().insert(id.to_owned()) {
            tracing::warn!(
                instance = id,
                left_out = left_out.join(","),
                "Nacos takes 1024 characters of metadata, so these are not registered"
            );
        }
        Ok(())
    }
}

impl InstanceLayout<Instance> for Instances {
    fn place(&self, application: &str) -> Result<Place, RegistryError> {
        let refuse = |reason: String| {
            let operation = format!("find the instances of `{application}`");
            RegistryError::new(operation, &self.address, reason).refused()
        };
        limits::service(application).map_err(|error| refuse(error.to_string()))?;
        if is_interface_level(application) {
            let reason = "this is what services of one interface are called here, so an application cannot be";
            return Err(refuse(reason.to_owned()));
        }
        Ok(place(&self.group, application))
    }

    fn write(&self, instance: &ServiceInstance) -> Result<Entry<Instance>, RegistryError> {
        let id = instance.id();
        let refuse = |reason: String| {
            RegistryError::new(format!("register {id}"), &self.address, reason).refused()
        };
        limits::host(&instance.host).map_err(|error| refuse(error.to_string()))?;
        let mut metadata = instance.metadata.clone();
        self.fit(&id, &mut metadata).map_err(refuse)?;
        Ok(Entry {
            id: Arc::from(&*id),
            value: Instance {
                weight: f64::from(instance.weight) / WEIGHT,
                healthy: instance.healthy,
                enabled: instance.enabled,
                ..Instance::new(&instance.host, instance.port, metadata)
            },
        })
    }

    fn read(&self, application: &str, entry: &Entry<Instance>) -> Option<ServiceInstance> {
        let read = &entry.value;
        if read.host.is_empty() || read.port == 0 {
            tracing::debug!(application, instance = &*entry.id, "has no address");
            return None;
        }
        let mut instance = ServiceInstance::new(application, &*read.host, read.port);
        instance.healthy = read.healthy;
        instance.enabled = read.enabled;
        instance.weight = weight(read.weight);
        instance.metadata.clone_from(&read.metadata);
        // dubbo-go puts it there for itself.
        if instance.metadata.get(GO_ID) == Some(&instance.id()) {
            instance.metadata.remove(GO_ID);
        }
        Some(instance)
    }
}

fn is_needed(key: &str) -> bool {
    key.starts_with("dubbo.") || ["meta-v", "timestamp"].contains(&key)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and makes 0 of what is no number"
)]
fn weight(nacos: f64) -> u32 {
    (nacos * WEIGHT).round() as u32
}

/// Dubbo's default, which is Nacos's 1.
const WEIGHT: f64 = 100.0;

const GO_ID: &str = "id";
