//! Application level: `/{group}/{application}/{host}:{port}` with the JSON of dubbo-go's instances
//! (`docs/spec/registry.md` §4). The rest is laid out as on ZooKeeper, see [`crate::tree`].

use std::sync::Arc;

use dubbo_core::{
    discovery::ServiceInstance, registry::RegistryError, text_map::TextMap, url::Url,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    backend::{Entry, Place},
    layout::InstanceLayout,
    tree,
};

/// The keys of instances.
pub(super) struct Instances {
    root: String,
    address: String,
}

impl Instances {
    pub(super) fn of_url(url: &Url) -> Self {
        Self {
            root: tree::root(url, "/services"),
            address: url.origin(),
        }
    }
}

impl InstanceLayout<Arc<[u8]>> for Instances {
    fn place(&self, application: &str) -> Result<Place, RegistryError> {
        tree::application(&self.root, application, &self.address)
    }

    fn applications(&self) -> Place {
        tree::folder(&self.root)
    }

    fn application(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    fn write(&self, instance: &ServiceInstance) -> Result<Entry<Arc<[u8]>>, RegistryError> {
        let id = instance.id();
        let document = Document {
            id: &id,
            service_name: &instance.application,
            host: &instance.host,
            port: instance.port,
            weight: instance.weight,
            enable: instance.enabled,
            healthy: instance.healthy,
            metadata: &instance.metadata,
            service_metadata: None,
            address: "",
            group_name: "",
            tag: instance.metadata.get(TAG).unwrap_or_default(),
        };
        let json = serde_json::to_vec(&document).map_err(|error| {
            RegistryError::new(format!("register {id}"), &self.address, "it is no JSON")
                .with_source(error)
                .refused()
        })?;
        Ok(Entry {
            id: id.into(),
            value: json.into(),
        })
    }

    fn read(&self, application: &str, entry: &Entry<Arc<[u8]>>) -> Option<ServiceInstance> {
        let read = read(application, &entry.value);
        if let Err(reason) = read {
            tracing::debug!(application, key = &*entry.id, reason, "is no instance");
        }
        read.ok()
    }
}

fn read(application: &str, json: &[u8]) -> Result<ServiceInstance, &'static str> {
    let document: Value = serde_json::from_slice(json).map_err(|_| "its value is not JSON")?;
    let host = document["Host"].as_str().filter(|host| !host.is_empty());
    let port = document["Port"]
        .as_u64()
        .and_then(|port| port.try_into().ok());
    let mut instance = ServiceInstance::new(
        application,
        host.ok_or("it has no `Host`")?,
        port.filter(|port| *port > 0).ok_or("it has no `Port`")?,
    );
    instance.enabled = document["Enable"].as_bool().unwrap_or(true);
    instance.healthy = document["Healthy"].as_bool().unwrap_or(true);
    // dubbo-go writes 0 for what nobody has set (`docs/spec/registry.md` §10.2 T21).
    let weight = document["Weight"]
        .as_u64()
        .and_then(|weight| weight.try_into().ok());
    if let Some(weight) = weight.filter(|weight| *weight > 0) {
        instance.weight = weight;
    }
    instance.metadata = tree::metadata(&document["Metadata"]);
    if let Some(tag) = document["Tag"].as_str().filter(|tag| !tag.is_empty())
        && !instance.metadata.contains_key(TAG)
    {
        instance.metadata.insert(TAG, tag);
    }
    Ok(instance)
}

/// In Go's order, and with Go's names.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Document<'a> {
    #[serde(rename = "ID")]
    id: &'a str,
    service_name: &'a str,
    host: &'a str,
    port: u16,
    weight: u32,
    enable: bool,
    healthy: bool,
    metadata: &'a TextMap,
    /// dubbo-go puts a copy of the metadata of all services here, and does not look at it.
    service_metadata: Option<()>,
    /// dubbo-go makes it of host and port where it is empty.
    address: &'a str,
    group_name: &'a str,
    tag: &'a str,
}

const TAG: &str = "dubbo.tag";

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Instances {
        Instances::of_url(&"etcdv3://h".parse().expect("valid"))
    }

    fn read(json: &str) -> Option<ServiceInstance> {
        let entry = Entry {
            id: "10.0.0.7:20000".into(),
            value: json.as_bytes().into(),
        };
        layout().read("a", &entry)
    }

    #[test]
    fn an_instance_is_written_as_dubbo_go_writes_it() {
        let mut instance = ServiceInstance::new("a", "10.0.0.7", 20000);
        instance.metadata = TextMap::from([
            ("dubbo.tag".to_owned(), "gray".to_owned()),
            ("meta-v".to_owned(), "1.0.0".to_owned()),
        ]);
        let written = layout().write(&instance).expect("JSON");
        assert_eq!(&*written.id, "10.0.0.7:20000");
        assert_eq!(
            String::from_utf8_lossy(&written.value),
            r#"{"ID":"10.0.0.7:20000","ServiceName":"a","Host":"10.0.0.7","Port":20000,"Weight":100,"Enable":true,"Healthy":true,"Metadata":{"dubbo.tag":"gray","meta-v":"1.0.0"},"ServiceMetadata":null,"Address":"","GroupName":"","Tag":"gray"}"#
        );
    }

    #[test]
    fn an_instance_reads_back_as_it_was() {
        let mut instance = ServiceInstance::new("a", "2001:db8::1", 50051);
        instance.enabled = false;
        instance.healthy = false;
        instance.weight = 7;
        instance.metadata = TextMap::from([("ü\"", "\n")]);
        let written = layout().write(&instance).expect("JSON");
        assert_eq!(&*written.id, "2001:db8::1:50051");
        assert_eq!(layout().read("a", &written), Some(instance));
    }

    #[test]
    fn what_is_missing_or_unknown_does_not_matter() {
        let least = ServiceInstance::new("a", "h", 1);
        for json in [
            r#"{"Host":"h","Port":1}"#,
            r#"{"Host":"h","Port":1,"Weight":0,"Metadata":null,"ServiceMetadata":{"app":"a"},"New":[1]}"#,
            r#"{"Host":"h","Port":1,"Weight":-1,"Metadata":[],"Tag":"","Enable":null}"#,
            r#"{"Host":"h","Port":1,"Weight":99999999999}"#,
        ] {
            assert_eq!(read(json).as_ref(), Some(&least), "{json}");
        }
        let json = r#"{"Host":"h","Port":1,"Weight":5,"Enable":false,"Healthy":false,"Tag":"t","Metadata":{"n":1,"x":null}}"#;
        let instance = read(json).expect("an instance");
        assert!(!instance.enabled && !instance.healthy);
        assert_eq!(instance.weight, 5);
        let metadata: Vec<_> = instance.metadata.iter().collect();
        assert_eq!(metadata, [("dubbo.tag", "t"), ("n", "1")]);
    }

    #[test]
    fn what_is_no_instance_is_left_out() {
        for json in [
            "",
            "junk",
            "null",
            "[]",
            "{}",
            r#"{"app":"a","revision":"r","services":{}}"#,
            r#"{"Host":"h"}"#,
            r#"{"Host":"","Port":1}"#,
            r#"{"Host":"h","Port":0}"#,
            r#"{"Host":"h","Port":70000}"#,
            r#"{"Host":"h","Port":"1"}"#,
            r#"{"host":"h","port":1}"#,
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn instances_stand_below_their_application() {
        for (url, want) in [
            ("etcdv3://h", "/services/a"),
            ("etcdv3://h?group=g1", "/g1/a"),
        ] {
            let layout = Instances::of_url(&url.parse().expect("valid"));
            assert_eq!(&*layout.place("a").expect("a name").0, want);
        }
        for name in ["", "a/b", "/", ".", ".."] {
            assert!(layout().place(name).is_err(), "{name}");
        }
    }
}
