//! Keys that dubbo-go 3.3.2 made are read, and written the same again where we make such keys.

use std::sync::Arc;

use dubbo_core::url::Url;
use serde_json::Value;

use super::layout::Instances;
use crate::{
    backend::{Entry, Place},
    layout::{InstanceLayout as _, InterfaceLayout as _, TextLayout as _},
    matching::Category,
    tree::{
        Interfaces, Texts, join,
        tests::recorded::{category, nodes, without_empty},
    },
};

const GO: &str = include_str!("../../../dubbo-test/golden/go/registry-etcd.json");

#[test]
fn every_key_that_dubbo_go_made_is_of_a_kind_that_we_know() {
    let url: Url = "etcdv3://h".parse().expect("valid");
    let interfaces = Interfaces::of_url(&url).with_plain_names();
    let instances = Instances::of_url(&url);
    let texts = Texts::of_url(&url).expect("valid");
    let [mut urls, mut found, mut mappings, mut apps, mut empty] = [0; 5];
    for node in nodes(GO) {
        let path = &*node.path;
        let document: Value = serde_json::from_str(&node.text).unwrap_or_default();
        let entry = Entry {
            id: node.name().into(),
            value: Arc::from(node.text.as_bytes()),
        };
        if path.contains("%3A%2F%2F") {
            let place = Place(node.parent().into());
            let read = interfaces.read(&place, &entry).expect(path);
            let category = category(&node);
            let written = interfaces.write(&read, category).expect(path);
            let [(written_place, written)] = &written[..] else {
                panic!("{written:?}");
            };
            assert_eq!(*written_place, place);
            assert!(written.value.is_empty());
            let back = interfaces.read(&place, written).expect(path);
            assert_eq!(back, without_empty(&read), "{path}");
            if without_empty(&read) == read {
                assert_eq!(written.id, entry.id);
            }
            if category == Category::Providers {
                let mut consumer = Url::new("consumer", "h");
                for key in ["interface", "group", "version"] {
                    consumer = consumer.with_param(key, read.param(key).unwrap_or_default());
                }
                assert!(interfaces.places(&consumer).contains(&(place, category)));
            }
            urls += 1;
        } else if let Some(rest) = path.strip_prefix("/services/") {
            let (application, id) = rest.split_once('/').expect(path);
            let instance = instances.read(application, &entry).expect(path);
            assert_eq!(instance.id(), id);
            let place = instances.place(application).expect("a name");
            assert_eq!(&*place.0, node.parent());
            let written = instances.write(&instance).expect(path);
            assert_eq!(written.id, entry.id);
            assert_eq!(
                instances.read(application, &written).as_ref(),
                Some(&instance)
            );
            let written: Value = serde_json::from_slice(&written.value).expect("JSON");
            let recorded = document.as_object().expect("an object");
            let ours = written.as_object().expect("an object");
            assert!(ours.keys().eq(recorded.keys()), "{written}");
            for (key, value) in recorded {
                let want = match &**key {
                    // Go's 0 is our default, and what Go does not look at is left out.
                    "Weight" => &Value::from(instance.weight),
                    "ServiceMetadata" => &Value::Null,
                    _ => value,
                };
                assert_eq!(&written[key], want, "{key} of {path}");
            }
            found += 1;
        } else if let Some(interface) = path.strip_prefix("/dubbo/mapping/") {
            let [key] = &texts.mapping(interface)[..] else {
                panic!("one key");
            };
            assert_eq!(join(&key.group, &key.name), path);
            mappings += 1;
        } else if document["services"].is_object() {
            let text = |key: &str| document[key].as_str().unwrap_or_default();
            let keys = texts.app(text("app"), text("revision"));
            let paths: Vec<_> = keys.iter().map(|key| join(&key.group, &key.name)).collect();
            assert_eq!(paths[1], path);
            apps += 1;
        } else {
            // dubbo-go writes each prefix of a path as a key of its own.
            assert!(node.text.is_empty(), "{path}");
            empty += 1;
        }
    }
    let counts = [urls, found, mappings, apps, empty];
    assert!(
        counts
            .iter()
            .zip([60, 12, 10, 4, 30])
            .all(|(n, least)| *n >= least),
        "{counts:?}"
    );
}
