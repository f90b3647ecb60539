//! What makes a document valid, as far as the specification can be checked without it.

use std::collections::BTreeSet;

use serde_json::Value;

/// Checks a document against the rules of OpenAPI 3.0 and 3.1 on what is in it.
pub(super) fn check(document: &Value) {
    let is_30 = match document["openapi"].as_str() {
        Some("3.0.1") => true,
        Some("3.1.0") => false,
        other => panic!("{other:?} is no version"),
    };
    for key in ["title", "version"] {
        assert!(document["info"][key].is_string(), "info.{key}");
    }
    let paths = document["paths"].as_object().expect("paths, even if none");
    let tags: BTreeSet<_> = list(&document["tags"])
        .map(|tag| tag["name"].as_str().expect("a name"))
        .collect();
    let mut ids = BTreeSet::new();
    for (path, item) in paths {
        assert!(
            path.starts_with('/') && !path.contains(['{', '?']),
            "{path}"
        );
        for (method, operation) in item.as_object().expect("a path item") {
            assert_eq!(method, "post", "{path}");
            check_operation(operation, path);
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id), "{id} is there twice");
            for tag in list(&operation["tags"]) {
                assert!(tags.contains(tag.as_str().expect("a name")), "{tag}");
            }
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object() {
        for name in schemas.keys() {
            let legal = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
            assert!(!name.is_empty() && name.chars().all(legal), "{name}");
        }
        let refs = references(document);
        for name in schemas.keys() {
            let pointer = format!("#/components/schemas/{name}");
            assert!(refs.contains(&*pointer), "nobody refers to {name}");
        }
    }
    for reference in references(document) {
        let pointer = reference.strip_prefix('#').expect("within the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    check_schemas(document, is_30);
}

fn check_operation(operation: &Value, path: &str) {
    let responses = operation["responses"].as_object().expect("responses");
    assert!(!responses.is_empty(), "{path}");
    for (status, response) in responses {
        let is_status = status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit());
        assert!(is_status || status == "default", "{path}: {status}");
        assert!(response["description"].is_string(), "{path}: {status}");
    }
    if let Some(body) = operation.get("requestBody") {
        let content = body["content"].as_object().expect("content");
        assert!(!content.is_empty(), "{path}");
    }
    let mut seen = BTreeSet::new();
    for parameter in list(&operation["parameters"]) {
        let (name, place) = (parameter["name"].as_str(), parameter["in"].as_str());
        assert!(
            name.is_some() && place == Some("header"),
            "{path}: {parameter}"
        );
        assert!(parameter["schema"].is_object(), "{path}: {parameter}");
        assert!(seen.insert(name), "{path}: {parameter}");
    }
}

/// Checks whatever has a type or refers to one.
fn check_schemas(value: &Value, is_30: bool) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| check_schemas(item, is_30)),
        Value::Object(map) => {
            if map.contains_key("$ref") {
                assert!(
                    map.len() == 1 || !is_30,
                    "what stands beside a reference is not read: {value}"
                );
            }
            if is_30 && map.get("type") == Some(&"array".into()) {
                assert!(map.contains_key("items"), "a list of what? {value}");
            }
            if is_30 && map.contains_key("nullable") {
                assert!(map.contains_key("type"), "{value}");
            }
            for key in ["prefixItems", "contentEncoding"] {
                assert!(!(is_30 && map.contains_key(key)), "{key} in {value}");
            }
            for required in list(map.get("required").unwrap_or(&Value::Null)) {
                let name = required.as_str().expect("a name");
                assert!(map["properties"].get(name).is_some(), "{name} in {value}");
            }
            for key in ["anyOf", "allOf", "enum"] {
                let is_empty = map.get(key).and_then(Value::as_array).map(Vec::is_empty);
                assert_ne!(is_empty, Some(true), "{key} in {value}");
            }
            map.values().for_each(|value| check_schemas(value, is_30));
        }
        _ => {}
    }
}

fn references(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str);
            own.into_iter()
                .chain(map.values().flat_map(references))
                .collect()
        }
        _ => BTreeSet::new(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
