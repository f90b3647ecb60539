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
            address: url.origin(),
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

    fn applications(&self) -> Place {
        place(&self.group, "")
    }

    fn application(&self, name: &str) -> Option<String> {
        (!is_interface_level(name)).then(|| name.to_owned())
    }

    fn write(&self, instance: &ServiceInstance) -> Result<Entry<Instance>, RegistryError> {
        let id = instance.id();
        let refuse = |reason: String| {
            RegistryError::new(format!("register {id}"), &self.address, reason).refused()
        };
        limits::host(&instance.host).map_err(|error| refuse(error.to_string()))?;
        let mut metadata = instance.metadata.iter().map(owned).collect();
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
        instance.metadata = read.metadata.iter().map(borrowed).collect();
        // dubbo-go puts it there for itself.
        if instance.metadata.get(GO_ID) == Some(&*instance.id()) {
            instance.metadata.remove(GO_ID);
        }
        Some(instance)
    }
}

fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

fn borrowed<'a>((key, value): (&'a String, &'a String)) -> (&'a str, &'a str) {
    (key, value)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Instances {
        Instances::of_url(&"nacos://h".parse().expect("valid")).expect("valid")
    }

    #[test]
    fn registry_t22_services_of_interfaces_are_no_applications() {
        let listed = [
            "demo-app",
            "providers:org.example.Greeter::",
            "providers:org.example.Greeter:1.0.0:g1",
            "providers:org.example.Outer___Inner::",
            "consumers:org.example.Greeter::",
            "configurators:org.example.Greeter::",
        ];
        let applications = listed
            .into_iter()
            .filter(|name| layout().place(name).is_ok());
        assert_eq!(applications.collect::<Vec<_>>(), ["demo-app"]);
    }

    #[test]
    fn a_name_that_nacos_would_refuse_is_refused() {
        for name in ["", " ", "a b", "@a", "a@@b", "应用"] {
            assert!(layout().place(name).is_err(), "{name}");
        }
        let other = Instances::of_url(&"nacos://h?group=g1".parse().expect("valid"));
        let place = other.expect("valid").place("a:b$c/d").expect("a name");
        assert_eq!(&*place.0, "g1@@a:b$c/d");
    }

    #[test]
    fn an_instance_reads_back_as_it_was() {
        let mut instance = ServiceInstance::new("a", "2001:db8::1", 50051);
        instance.enabled = false;
        instance.weight = 250;
        instance.metadata = [("ü", "\n")].into();
        let written = layout().write(&instance).expect("fits");
        assert_eq!(&*written.id, "2001:db8::1:50051");
        assert!((written.value.weight - 2.5).abs() < f64::EPSILON);
        assert_eq!(layout().read("a", &written), Some(instance));
    }

    #[test]
    fn weights_of_all_kinds_are_read() {
        let mut entry = layout()
            .write(&ServiceInstance::new("a", "h", 1))
            .expect("fits");
        for (nacos, want) in [
            (1.0, 100),
            (0.001, 0),
            (0.0, 0),
            (-1.0, 0),
            (20_000.0, 2_000_000),
            (f64::NAN, 0),
            (f64::INFINITY, u32::MAX),
        ] {
            entry.value.weight = nacos;
            let read = layout().read("a", &entry).expect("an instance");
            assert_eq!(read.weight, want, "{nacos}");
        }
    }

    #[test]
    fn dubbo_gos_own_key_is_left_out() {
        let mut instance = ServiceInstance::new("a", "h", 1);
        for (id, stays) in [("h:1", false), ("mine", true)] {
            instance.metadata.insert("id".to_owned(), id.to_owned());
            let entry = layout().write(&instance).expect("fits");
            let read = layout().read("a", &entry).expect("an instance");
            assert_eq!(read.metadata.contains_key("id"), stays, "{id}");
        }
    }

    #[test]
    fn what_has_no_address_is_no_instance() {
        for (host, port) in [("", 1), ("h", 0)] {
            let value = Instance::new(host, port, BTreeMap::new());
            let id = value.id().into();
            assert_eq!(layout().read("a", &Entry { id, value }), None);
        }
    }

    #[test]
    fn what_is_not_dubbos_makes_room() {
        let mut instance = ServiceInstance::new("a", "h", 1);
        for key in ["dubbo.endpoints", "meta-v", "custom", "other"] {
            instance.metadata.insert(key.to_owned(), "x".repeat(300));
        }
        let entry = layout().write(&instance).expect("fits");
        let keys: Vec<_> = entry.value.metadata.keys().map(String::as_str).collect();
        assert_eq!(keys, ["dubbo.endpoints", "meta-v", "other"]);
        instance
            .metadata
            .insert("dubbo.endpoints".to_owned(), "x".repeat(1024));
        assert!(layout().write(&instance).is_err());
    }
}
