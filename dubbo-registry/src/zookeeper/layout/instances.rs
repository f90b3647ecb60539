//! Application level: `/{group}/{application}/{host}:{port}` with the JSON of Curator's discovery.
//!
//! What is written is Java's shape and has all that dubbo-go looks for; both shapes are read (`docs/spec/registry.md`
//! §2.3).

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

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

/// The nodes of instances.
pub(in crate::zookeeper) struct Instances {
    root: String,
    address: String,
    /// Milliseconds since 1970. One for all, so that an instance that is shown again is no news.
    started: u64,
}

impl Instances {
    pub(in crate::zookeeper) fn of_url(url: &Url) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let started = since.map_or(0, |since| since.as_millis());
        Self {
            root: tree::root(url, "/services"),
            address: url.origin(),
            started: started.try_into().unwrap_or(0),
        }
    }

    /// As if it had been made then, in milliseconds since 1970.
    #[cfg(test)]
    pub(super) fn started_at(self, started: u64) -> Self {
        Self { started, ..self }
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
            name: &instance.application,
            id: &id,
            address: &instance.host,
            port: instance.port,
            ssl_port: None,
            payload: Payload {
                class: PAYLOAD_CLASS,
                id: &id,
                name: &instance.application,
                metadata: &instance.metadata,
            },
            registration_time_utc: self.started,
            service_type: "DYNAMIC",
            uri_spec: None,
            tag: instance.metadata.get(TAG),
            enabled: (!instance.enabled).then_some(false),
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
            tracing::debug!(application, node = &*entry.id, reason, "is no instance");
        }
        read.ok()
    }
}

fn read(application: &str, json: &[u8]) -> Result<ServiceInstance, &'static str> {
    let document: Value = serde_json::from_slice(json).map_err(|_| "its data are not JSON")?;
    let host = document["address"].as_str().filter(|host| !host.is_empty());
    let port = document["port"]
        .as_u64()
        .and_then(|port| port.try_into().ok());
    let mut instance = ServiceInstance::new(
        application,
        host.ok_or("it has no `address`")?,
        port.filter(|port| *port > 0).ok_or("it has no `port`")?,
    );
    instance.enabled = document["enabled"].as_bool().unwrap_or(true);
    instance.metadata = tree::metadata(&document["payload"]["metadata"]);
    if let Some(tag) = document["tag"].as_str().filter(|tag| !tag.is_empty())
        && !instance.metadata.contains_key(TAG)
    {
        instance.metadata.insert(TAG, tag);
    }
    Ok(instance)
}

/// In Java's order.
#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    id: &'a str,
    address: &'a str,
    port: u16,
    #[serde(rename = "sslPort")]
    ssl_port: Option<u16>,
    payload: Payload<'a>,
    #[serde(rename = "registrationTimeUTC")]
    registration_time_utc: u64,
    #[serde(rename = "serviceType")]
    service_type: &'a str,
    #[serde(rename = "uriSpec")]
    uri_spec: Option<&'a str>,
    /// Where dubbo-go looks for it. Java does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'a str>,
    /// Java takes its absence for `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

#[derive(Serialize)]
struct Payload<'a> {
    #[serde(rename = "@class")]
    class: &'a str,
    id: &'a str,
    name: &'a str,
    metadata: &'a TextMap,
}

/// Java reads no instance of a list in which one has another class.
const PAYLOAD_CLASS: &str = "org.apache.dubbo.registry.zookeeper.ZookeeperInstance";

const TAG: &str = "dubbo.tag";

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Instances {
        let url = "zookeeper://h".parse().expect("valid");
        Instances::of_url(&url).started_at(1_700_000_000_123)
    }

    fn entry(json: &str) -> Entry<Arc<[u8]>> {
        Entry {
            id: "10.0.0.7:20000".into(),
            value: json.as_bytes().into(),
        }
    }

    const JAVA: &str = r#"{"name":"demo-java","id":"10.0.0.8:20880","address":"10.0.0.8","port":20880,"sslPort":null,"payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance","id":"10.0.0.8:20880","name":"demo-java","metadata":{"dubbo.endpoints":"[{\"port\":20880,\"protocol\":\"dubbo\"}]","dubbo.metadata-service.url-params":"{\"prefer.serialization\":\"hessian2,fastjson2\",\"version\":\"1.0.0\",\"dubbo\":\"2.0.2\",\"release\":\"3.3.2\",\"side\":\"provider\",\"port\":\"20880\",\"protocol\":\"dubbo\"}","dubbo.metadata.revision":"c1d1ea28445cbf4e926225ffda9b42c1","dubbo.metadata.storage-type":"local","meta-v":"1.0.0","timestamp":"1700000000000"}},"registrationTimeUTC":1700000000123,"serviceType":"DYNAMIC","uriSpec":null}"#;

    const GO: &str = r#"{"name":"demo-app","id":"10.0.0.7:20000","address":"10.0.0.7","port":20000,"payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance","id":"10.0.0.7:20000","metadata":{"dubbo.metadata.revision":"b53d","meta-v":"1.0.0","registry.id":"zk"},"name":"demo-app"},"tag":"gray"}"#;

    #[test]
    fn registry_t08_unknown_keys_and_a_missing_class_do_not_matter() {
        let more = JAVA.replacen('{', r#"{"enabled":true,"foo":1,"#, 1);
        let without = JAVA.replace(
            r#""@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance","#,
            "",
        );
        for json in [JAVA, &more, &without] {
            let instance = layout().read("demo-java", &entry(json)).expect(json);
            assert_eq!(instance.id(), "10.0.0.8:20880");
            assert_eq!((&*instance.host, instance.port), ("10.0.0.8", 20880));
            assert!(instance.enabled && instance.healthy);
            assert_eq!(
                &instance.metadata["dubbo.metadata.revision"],
                "c1d1ea28445cbf4e926225ffda9b42c1"
            );
        }
        let bare = ServiceInstance::new("a", "h", 1);
        let json = layout().write(&bare).expect("JSON").value;
        let json = String::from_utf8(json.to_vec()).expect("text");
        assert!(
            json.contains(&format!(r#""payload":{{"@class":"{PAYLOAD_CLASS}","#)),
            "{json}"
        );
    }

    #[test]
    fn registry_t20_javas_document_is_written_as_it_was_read() {
        let instance = layout()
            .read("demo-java", &entry(JAVA))
            .expect("an instance");
        assert_eq!(&instance.metadata["meta-v"], "1.0.0");
        assert_eq!(
            &instance.metadata["dubbo.endpoints"],
            r#"[{"port":20880,"protocol":"dubbo"}]"#
        );
        let written = layout().write(&instance).expect("JSON");
        assert_eq!(&*written.id, "10.0.0.8:20880");
        assert_eq!(String::from_utf8_lossy(&written.value), JAVA);
        assert_eq!(
            &*layout().place("demo-java").expect("a name").0,
            "/services/demo-java"
        );
    }

    #[test]
    fn dubbo_gos_document_is_read_with_its_tag() {
        let instance = layout().read("demo-app", &entry(GO)).expect("an instance");
        assert_eq!(instance.id(), "10.0.0.7:20000");
        assert_eq!(&instance.metadata["dubbo.tag"], "gray");
        assert_eq!(&instance.metadata["registry.id"], "zk");
        let written = layout().write(&instance).expect("JSON").value;
        let json: Value = serde_json::from_slice(&written).expect("JSON");
        assert_eq!(json["tag"], "gray");
        assert_eq!(json["payload"]["metadata"]["dubbo.tag"], "gray");
    }

    #[test]
    fn an_instance_reads_back_as_it_was() {
        let mut instance = ServiceInstance::new("a", "2001:db8::1", 50051);
        instance.enabled = false;
        instance.metadata = TextMap::from([("ü\"", "\n")]);
        let written = layout().write(&instance).expect("JSON");
        assert_eq!(&*written.id, "2001:db8::1:50051");
        assert_eq!(layout().read("a", &written), Some(instance));
    }

    #[test]
    fn what_is_no_instance_is_left_out() {
        for json in [
            "",
            "junk",
            "null",
            "[]",
            "7",
            "{}",
            r#"{"address":"h"}"#,
            r#"{"address":"","port":1}"#,
            r#"{"address":"h","port":0}"#,
            r#"{"address":"h","port":70000}"#,
            r#"{"address":"h","port":"1"}"#,
            r#"{"address":7,"port":1}"#,
        ] {
            assert_eq!(layout().read("a", &entry(json)), None, "{json}");
        }
    }

    #[test]
    fn values_that_are_no_texts_become_some() {
        let json = r#"{"address":"h","port":1,"payload":{"metadata":{"n":1,"b":true,"x":null,"o":{"k":[1]}}}}"#;
        let instance = layout().read("a", &entry(json)).expect("an instance");
        let metadata: Vec<_> = instance.metadata.iter().collect();
        assert_eq!(metadata, [("b", "true"), ("n", "1"), ("o", r#"{"k":[1]}"#)]);
        for payload in ["null", "7", r#""text""#, r#"{"metadata":[]}"#] {
            let json = format!(r#"{{"address":"h","port":1,"payload":{payload}}}"#);
            let instance = layout().read("a", &entry(&json)).expect("an instance");
            assert!(instance.metadata.is_empty(), "{payload}");
        }
    }

    #[test]
    fn a_name_that_is_no_node_is_refused() {
        for name in ["", "a/b", "/", ".", ".."] {
            assert!(layout().place(name).is_err(), "{name}");
        }
        let layout = Instances::of_url(&"zookeeper://h?group=g1".parse().expect("valid"));
        assert_eq!(&*layout.place("a").expect("a name").0, "/g1/a");
    }
}
