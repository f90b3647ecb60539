//! Nodes that dubbo-go 3.3.2 and Dubbo Java 3.3.6 made are read, and written the same again where we make such nodes.

use std::sync::Arc;

use dubbo_core::url::Url;
use serde_json::Value;

use super::super::{Instances, says_all};
use crate::{
    backend::{Entry, Place},
    layout::{InstanceLayout as _, InterfaceLayout as _, TextLayout as _},
    matching::Category,
    tree::{
        Interfaces, Texts, join,
        tests::recorded::{category, nodes, without_empty},
    },
};

const GO: &str = include_str!("../../../../../dubbo-test/golden/go/registry-zookeeper.json");
const JAVA: &str = include_str!("../../../../../dubbo-test/golden/java/registry-zookeeper.json");

#[test]
fn urls_that_live_peers_registered_are_read_and_written_alike() {
    let url = "zookeeper://h".parse().expect("valid");
    let layout = Interfaces::of_url(&url);
    for (peer, recorded, at_least) in [("go", GO, 60), ("java", JAVA, 20)] {
        let mut seen = 0;
        for node in nodes(recorded).filter(|node| says_all(node.name())) {
            let place = Place(node.parent().into());
            let entry = Entry {
                id: node.name().into(),
                value: Arc::from(node.text.as_bytes()),
            };
            let read = layout.read(&place, &entry).expect(&node.path);
            let category = category(&node);
            let written = layout.write(&read, category).expect(&node.path);
            let [(written_place, written)] = &written[..] else {
                panic!("{written:?}");
            };
            assert_eq!(*written_place, place);
            let back = layout.read(&place, written).expect(&node.path);
            assert_eq!(back, without_empty(&read), "{}", node.path);
            if without_empty(&read) == read {
                assert_eq!(written.id, entry.id, "{peer}");
            }
            if category == Category::Providers {
                let mut consumer = Url::new("consumer", "h");
                for key in ["interface", "group", "version"] {
                    consumer = consumer.with_param(key, read.param(key).unwrap_or_default());
                }
                assert!(layout.places(&consumer).contains(&(place, category)));
            }
            seen += 1;
        }
        assert!(seen >= at_least, "only {seen} URLs of {peer}");
    }
}

#[test]
fn instances_that_live_peers_registered_are_read_and_written_alike() {
    for (peer, recorded, at_least) in [("go", GO, 16), ("java", JAVA, 6)] {
        let mut seen = 0;
        for node in nodes(recorded) {
            let Some((application, id)) = node
                .path
                .strip_prefix("/services/")
                .and_then(|path| path.split_once('/'))
            else {
                continue;
            };
            let recorded: Value = serde_json::from_str(&node.text).expect(&node.path);
            let url = "zookeeper://h".parse().expect("valid");
            let layout = Instances::of_url(&url)
                .started_at(recorded["registrationTimeUTC"].as_u64().unwrap_or_default());
            let entry = Entry {
                id: id.into(),
                value: Arc::from(node.text.as_bytes()),
            };
            let instance = layout.read(application, &entry).expect(&node.path);
            assert_eq!(instance.id(), id);
            assert_eq!(
                &*layout.place(application).expect("a name").0,
                node.parent()
            );
            let written = layout.write(&instance).expect(&node.path);
            assert_eq!(layout.read(application, &written).expect(id), instance);
            if peer == "java" {
                assert_eq!(written, entry);
            } else {
                let written: Value = serde_json::from_slice(&written.value).expect("JSON");
                let object = recorded.as_object().expect("an object");
                assert!(
                    object.iter().all(|(key, value)| written[key] == *value),
                    "{written}"
                );
            }
            seen += 1;
        }
        assert!(seen >= at_least, "only {seen} instances of {peer}");
    }
}

#[test]
fn texts_that_live_peers_wrote_stand_where_we_look() {
    let url = "zookeeper://h".parse().expect("valid");
    let layout = Texts::of_url(&url).expect("valid");
    let (mut mappings, mut definitions, mut apps) = (0, 0, [0, 0]);
    for node in nodes(GO).chain(nodes(JAVA)) {
        if let Some(interface) = node.path.strip_prefix("/dubbo/mapping/") {
            let [key] = &layout.mapping(interface)[..] else {
                panic!("one key");
            };
            assert_eq!(join(&key.group, &key.name), node.path);
            mappings += 1;
        }
        let Ok(Value::Object(document)) = serde_json::from_str(&node.text) else {
            continue;
        };
        let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
        let document = Value::Object(document);
        if document["services"].is_object() {
            let keys = layout.app(&text(&document, "app"), &text(&document, "revision"));
            let at = keys
                .iter()
                .position(|key| join(&key.group, &key.name) == node.path);
            apps[at.unwrap_or_else(|| panic!("{} is none of {keys:?}", node.path))] += 1;
        } else if node.path.starts_with("/dubbo/metadata/") {
            let of = if document["parameters"].is_object() {
                &document["parameters"]
            } else {
                &document
            };
            let parts = ["interface", "version", "group", "side", "application"];
            let key = layout.definition(&parts.map(|part| text(of, part)).join(":"));
            assert_eq!(join(&key.group, &key.name), node.path);
            definitions += 1;
        }
    }
    assert!(
        mappings >= 10 && definitions >= 20,
        "{mappings} {definitions}"
    );
    assert!(apps.iter().all(|count| *count >= 2), "{apps:?}");
}
