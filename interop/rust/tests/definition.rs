//! Service definitions beside those that Dubbo Java 3.3.6 published of the same interfaces.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use dubbo::Service;
use dubbo_metadata::definition::{MethodDefinition, ServiceDefinition, TypeDefinition};
use interop::user::{UserServiceServer, UserStreamServiceServer, UserStreams, Users};
use serde_json::Value;

#[test]
fn a_definition_has_the_shape_that_java_has() {
    let service = Service::from(UserServiceServer::new(Users::plain()));
    let ours = defined(&service);
    for java in recorded("org.apache.dubbo.interop.UserService") {
        let theirs: ServiceDefinition =
            ServiceDefinition::from_json(java.to_string().as_bytes()).expect("a definition");
        let ours_json: Value = serde_json::from_slice(&ours.to_json()).expect("JSON");
        same_keys(&ours_json, &java, "");

        // Where they come from has to differ, and so what names both; parameters are those of a URL.
        assert_eq!(ours.canonical_name, theirs.canonical_name);
        assert_eq!(ours.annotations, theirs.annotations);
        assert_ne!(ours.code_source, theirs.code_source);
        for key in ["application", "interface", "methods", "release", "side"] {
            assert!(theirs.parameters.contains_key(key), "{key}");
        }

        let (mine, java) = (methods(&ours), methods(&theirs));
        // The contract has changed since it was recorded.
        assert_eq!(missing(&mine, &java), ["remote()"]);
        assert_eq!(missing(&java, &mine), ["optionalResult(java.lang.String)"],);
        // A parameter of several types is an `Object` in Rust, and its type in Java is given by name.
        let unlike = ["echoMap(java.util.Map)"];
        for (name, method) in &mine {
            let Some(other) = java.get(name) else {
                continue;
            };
            if unlike.contains(&&**name) {
                assert_ne!(method, other, "{name}");
            } else {
                assert_eq!(method, other, "{name}");
            }
        }

        let (mine, java) = (types(&ours), types(&theirs));
        let absent: BTreeSet<&str> = java
            .keys()
            .filter(|name| !mine.contains_key(*name))
            .map(|name| &**name)
            .collect();
        assert_eq!(
            absent,
            [
                // Of `optionalResult`, of `echoMap` and a bag's map, and what a future is made of.
                "java.util.Map<java.lang.Object,java.lang.Object>",
                "java.util.Optional",
                "java.util.concurrent.CompletableFuture.Completion",
            ]
            .into()
        );
        for (name, ty) in &mine {
            let Some(other) = java.get(name) else {
                assert_eq!(name, "java.util.Map");
                continue;
            };
            match &**name {
                "org.apache.dubbo.interop.Bag" => {
                    let mut same = ty.clone();
                    let map = same.properties.get_mut("map").expect("a map");
                    assert_eq!(map, "java.lang.Object");
                    "java.util.Map<java.lang.Object,java.lang.Object>".clone_into(map);
                    assert_eq!(same, *other);
                }
                "java.util.concurrent.CompletableFuture" => assert_ne!(ty, other),
                _ => assert_eq!(ty, other, "{name}"),
            }
        }
    }
}

#[test]
fn streams_are_observers_as_in_java() {
    let service = Service::from(UserStreamServiceServer::new(UserStreams));
    let ours = defined(&service);
    for java in recorded("org.apache.dubbo.interop.UserStreamService") {
        let theirs =
            ServiceDefinition::from_json(java.to_string().as_bytes()).expect("a definition");
        let (mine, java) = (methods(&ours), methods(&theirs));
        for (name, method) in &java {
            assert_eq!(mine.get(name), Some(method), "{name}");
        }
        for ty in theirs.types {
            assert!(ours.types.contains(&ty), "{ty:?}");
        }
    }
}

fn defined(service: &Service) -> ServiceDefinition {
    ServiceDefinition::new(service.descriptor(), "dubbo-rust")
}

/// The definitions of `interface` in the recordings of both registries.
fn recorded(interface: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for file in ["registry-nacos-2.5.1.json", "registry-zookeeper.json"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../dubbo-test/golden/java")
            .join(file);
        let text = fs::read_to_string(path).expect(file);
        let mut texts = Vec::new();
        collect(&serde_json::from_str(&text).expect("JSON"), &mut texts);
        let definitions = texts.iter().filter(|text| text.contains("canonicalName"));
        let definitions = definitions.map(|text| serde_json::from_str(text).expect("JSON"));
        found.extend(definitions.filter(|it: &Value| it["canonicalName"] == interface));
    }
    assert!(found.len() >= 20, "{}", found.len());
    found
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// Whether objects have the same keys, except where the keys are names.
fn same_keys(ours: &Value, java: &Value, place: &str) {
    match (ours, java) {
        (Value::Object(ours), Value::Object(java)) => {
            let keys =
                |it: &serde_json::Map<String, Value>| it.keys().cloned().collect::<BTreeSet<_>>();
            assert_eq!(keys(ours), keys(java), "{place}");
            for (key, value) in ours {
                if !["parameters", "properties"].contains(&&**key) {
                    same_keys(value, &java[key], &format!("{place}/{key}"));
                }
            }
        }
        (Value::Array(ours), Value::Array(java)) => {
            for (ours, java) in ours.iter().zip(java) {
                same_keys(ours, java, place);
            }
        }
        _ => assert_eq!(
            std::mem::discriminant(ours),
            std::mem::discriminant(java),
            "{place}"
        ),
    }
}

/// By name and erased parameters.
fn methods(definition: &ServiceDefinition) -> BTreeMap<String, MethodDefinition> {
    let methods = definition.methods.iter();
    methods
        .map(|method| {
            let types = method.parameter_types.iter();
            let types: Vec<_> = types
                .map(|ty| ty.split('<').next().unwrap_or_default())
                .collect();
            let name = format!("{}({})", method.name, types.join(", "));
            (name, method.clone())
        })
        .collect()
}

fn types(definition: &ServiceDefinition) -> BTreeMap<String, TypeDefinition> {
    let types = definition.types.iter();
    types.map(|ty| (ty.name.clone(), ty.clone())).collect()
}

fn missing<'m, T>(all: &'m BTreeMap<String, T>, from: &BTreeMap<String, T>) -> Vec<&'m str> {
    all.keys()
        .filter(|name| !from.contains_key(*name))
        .map(|name| &**name)
        .collect()
}
