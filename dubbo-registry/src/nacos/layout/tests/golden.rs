//! Contents that dubbo-go 3.3.2 and Dubbo Java 3.3.6 made are read, and written alike.

use std::collections::BTreeSet;

use dubbo_core::url::Url;
use serde_json::Value;

use super::super::{Instances, Interfaces, Texts, interfaces::is_interface_level, split};
use crate::{
    backend::{Entry, Place, TextKey},
    layout::{InstanceLayout as _, InterfaceLayout as _, TextLayout as _},
    matching::Category,
    nacos::instance::Instance,
};

const GO: [&str; 2] = [
    include_str!("../../../../../dubbo-test/golden/go/registry-nacos.json"),
    include_str!("../../../../../dubbo-test/golden/go/registry-nacos-2.5.1.json"),
];
const JAVA: [&str; 2] = [
    include_str!("../../../../../dubbo-test/golden/java/registry-nacos.json"),
    include_str!("../../../../../dubbo-test/golden/java/registry-nacos-2.5.1.json"),
];

#[test]
fn urls_that_live_peers_registered_are_read_and_written_alike() {
    let layout = Interfaces::of_url(&url()).expect("valid");
    for (recorded, at_least) in [(GO, 20), (JAVA, 10)] {
        let mut seen = 0;
        for (place, instance) in instances(recorded) {
            let (_, name) = split(&place);
            let Some(category) = category(name) else {
                continue;
            };
            let entry = entry(&instance);
            let read = layout.read(&place, &entry).expect(name);
            assert_eq!(read.protocol(), instance.metadata["protocol"]);
            assert_eq!(read.path(), instance.metadata["interface"]);
            assert_eq!(
                read.service_key().interface(),
                instance.metadata["interface"]
            );

            let written = layout.write(&read, category).expect(name);
            let [(written_place, written)] = &written[..] else {
                panic!("{written:?}");
            };
            assert_eq!(*written_place, place);
            assert_eq!(written.value.id(), instance.id());
            // As Java has it, and as long as it is short enough.
            let mut want = instance.metadata.clone();
            want.retain(|_, value| !value.is_empty());
            want.insert("path".to_owned(), read.path().to_owned());
            want.remove("nacos.category");
            want.insert("category".to_owned(), category.name().to_owned());
            let has = |key: &String| written.value.metadata.contains_key(key);
            let left_out: BTreeSet<_> = want.keys().filter(|key| !has(key)).cloned().collect();
            want.retain(|key, _| has(key));
            assert_eq!(written.value.metadata, want);
            let length = want.iter().map(|(key, value)| key.len() + value.len());
            assert!(length.sum::<usize>() <= 1024);
            let is_long = |key: &String| ["methods", "service.filter"].contains(&key.as_str());
            assert!(left_out.iter().all(is_long), "{left_out:?}");

            if category == Category::Providers {
                let mut consumer = Url::new("consumer", "h");
                for key in ["interface", "group", "version"] {
                    consumer = consumer.with_param(key, read.param(key).unwrap_or_default());
                }
                assert!(layout.places(&consumer).contains(&(place, category)));
            }
            seen += 1;
        }
        assert!(seen >= at_least, "only {seen}");
    }
}

#[test]
fn instances_that_live_peers_registered_are_read_and_written_alike() {
    let layout = Instances::of_url(&url()).expect("valid");
    for (recorded, at_least) in [(GO, 20), (JAVA, 10)] {
        let mut seen = 0;
        for (place, instance) in instances(recorded) {
            let (_, application) = split(&place);
            if is_interface_level(application) {
                continue;
            }
            assert_eq!(layout.place(application).expect("a name"), place);
            let read = layout
                .read(application, &entry(&instance))
                .expect(application);
            assert_eq!(read.id(), instance.id());
            assert_eq!((read.healthy, read.enabled, read.weight), (true, true, 100));
            assert!(read.metadata.contains_key("dubbo.metadata.revision"));
            assert!(!read.metadata.contains_key("id"), "that is dubbo-go's own");
            let written = layout.write(&read).expect(application).value;
            let mut want = instance;
            want.metadata.remove("id");
            assert_eq!(written, want);
            seen += 1;
        }
        assert!(seen >= at_least, "only {seen}");
    }
}

#[test]
fn texts_that_live_peers_wrote_stand_where_we_look() {
    let layout = Texts::of_url(&url()).expect("valid");
    let (mut mappings, mut definitions, mut apps) = (0, 0, [0, 0]);
    for (key, content) in GO.into_iter().chain(JAVA).flat_map(texts) {
        if &*key.group == "mapping" {
            assert_eq!(layout.mapping(&key.name), [key]);
            mappings += 1;
            continue;
        }
        let Ok(Value::Object(document)) = serde_json::from_str(&content) else {
            continue;
        };
        let document = Value::Object(document);
        let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
        if document["services"].is_object() {
            let keys = layout.app(&text(&document, "app"), &text(&document, "revision"));
            let at = keys.iter().position(|ours| *ours == key);
            apps[at.unwrap_or_else(|| panic!("{key} is none of {keys:?}"))] += 1;
        } else if document["canonicalName"].is_string() {
            let parts = ["interface", "version", "group", "side", "application"];
            let id = parts
                .map(|part| text(&document["parameters"], part))
                .join(":");
            assert_eq!(layout.definition(&id), key);
            definitions += 1;
        }
    }
    assert!(
        mappings >= 10 && definitions >= 10,
        "{mappings} {definitions}"
    );
    assert!(apps.iter().all(|count| *count >= 2), "{apps:?}");
}

fn url() -> Url {
    "nacos://h".parse().expect("valid")
}

fn category(name: &str) -> Option<Category> {
    let (category, _) = name.split_once(':')?;
    Category::of(&Url::new("x", "h").with_param("category", category)).ok()
}

fn entry(instance: &Instance) -> Entry<Instance> {
    Entry {
        id: instance.id().into(),
        value: instance.clone(),
    }
}

/// All instances, each with where it stands.
fn instances(recorded: [&str; 2]) -> Vec<(Place, Instance)> {
    let mut found = Vec::new();
    for recorded in recorded {
        let recorded: Value = serde_json::from_str(recorded).expect("JSON");
        visit(&recorded, &mut |object| {
            let Some(hosts) = object["hosts"].as_array() else {
                return;
            };
            for host in hosts {
                // `group@@service` wherever it was recorded.
                let place = Place(host["serviceName"].as_str().expect("a service").into());
                let port = host["port"].as_u64().expect("a port");
                let metadata = serde_json::from_value(host["metadata"].clone());
                let mut instance = Instance::new(
                    host["ip"].as_str().expect("an address"),
                    port.try_into().expect("a port"),
                    metadata.expect("texts"),
                );
                instance.weight = host["weight"].as_f64().expect("a number");
                found.push((place, instance));
            }
        });
    }
    found
}

/// All texts, each with its key.
fn texts(recorded: &str) -> Vec<(TextKey, String)> {
    let recorded: Value = serde_json::from_str(recorded).expect("JSON");
    let mut found = Vec::new();
    visit(&recorded, &mut |object| {
        if let (Some(name), Some(group)) = (object["dataId"].as_str(), object["group"].as_str()) {
            let key = TextKey {
                group: group.into(),
                name: name.into(),
            };
            let content = object["content"].as_str().unwrap_or_default();
            found.push((key, content.to_owned()));
        }
    });
    found
}

/// Every object.
fn visit(value: &Value, see: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| visit(value, see)),
        Value::Object(fields) => {
            see(value);
            fields.values().for_each(|value| visit(value, see));
        }
        _ => {}
    }
}
