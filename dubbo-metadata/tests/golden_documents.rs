//! What live peers wrote and answered is read, and is what its revision says.

use std::{collections::BTreeMap, fs, path::PathBuf};

use dubbo_hessian2::{Decoder, FromHessian};
use dubbo_metadata::{
    instance::{Endpoints, MetadataServiceParams, keys},
    model::MetadataInfo,
    revision::Algorithm,
};
use serde_json::Value;

#[test]
fn documents_in_reports_have_the_revision_that_their_writer_gave_them() {
    for (file, algorithm) in [
        ("go/registry-etcd.json", Algorithm::Go332),
        ("go/registry-nacos-2.5.1.json", Algorithm::Go332),
        ("go/registry-nacos.json", Algorithm::Go332),
        ("go/registry-zookeeper.json", Algorithm::Go332),
        ("java/registry-nacos-2.5.1.json", Algorithm::Java),
        ("java/registry-nacos.json", Algorithm::Java),
        ("java/registry-zookeeper.json", Algorithm::Java),
    ] {
        let documents = texts(file)
            .into_iter()
            .filter(|text| text.starts_with("{\"app\":") && text.contains("\"services\":{\""));
        let mut count = 0;
        for text in documents {
            let info = MetadataInfo::from_json(text.as_bytes()).expect(file);
            // Both peers serve in this process too, under the applications that a document names.
            assert_eq!(revision(&info, algorithm), info.revision, "{file}");
            assert_eq!(info.tag, None, "{file}");
            assert!(!info.services.is_empty(), "{file}");
            for (key, service) in &info.services {
                assert!(text.contains(&format!("\"{key}\":{{")), "{file}: {key}");
                assert_eq!(service.path, service.name, "{file}");
                assert_eq!(service.params["application"], info.app, "{file}");
                assert!(service.methods().count() > 0 && service.port > 0, "{file}");
            }
            let same: Value = serde_json::from_slice(&info.to_json()).expect("JSON");
            let read: Value = serde_json::from_str(&text).expect(file);
            assert_eq!(same, read, "{file}");
            if algorithm == Algorithm::Go332 {
                assert_eq!(info.to_json(), text, "{file}");
            }
            count += 1;
        }
        assert!(count > 0, "{file} has no document");
    }
}

#[test]
fn instances_of_peers_say_where_they_and_their_metadata_are() {
    for (file, protocols) in [
        ("go/registry-etcd.json", "dubbo"),
        ("go/registry-nacos-2.5.1.json", "dubbo"),
        ("go/registry-nacos.json", "dubbo"),
        ("go/registry-zookeeper.json", "dubbo"),
        ("java/registry-nacos-2.5.1.json", "tri"),
        ("java/registry-nacos.json", "dubbo tri"),
        ("java/registry-zookeeper.json", "dubbo tri"),
    ] {
        let mut found = BTreeMap::<_, usize>::new();
        for metadata in objects_with(file, keys::ENDPOINTS) {
            let text = |key: &str| metadata.get(key).and_then(Value::as_str);
            let endpoints = Endpoints::parse(text(keys::ENDPOINTS).expect(file)).expect(file);
            assert!(!endpoints.is_empty(), "{file}");
            if let Some(params) = text(keys::METADATA_SERVICE_PARAMS) {
                let params = MetadataServiceParams::parse(params).expect(file);
                *found.entry(params.protocol).or_default() += 1;
            }
        }
        let found: Vec<_> = found.into_keys().collect();
        assert_eq!(found.join(" "), protocols, "{file}");
    }
}

#[test]
fn answers_of_the_classic_protocol_are_read() {
    for (file, label, algorithm) in [
        (
            "go/metadata-service-default-own.jsonl",
            "interop-go-meta-default-own",
            Algorithm::Go332,
        ),
        (
            "go/metadata-service-dubbo-own.jsonl",
            "interop-go-meta-dubbo-own",
            Algorithm::Go332,
        ),
        (
            "java/metadata-dubbo.jsonl",
            "V1 getMetadataInfo",
            Algorithm::Java,
        ),
    ] {
        let frame = answer(file, label);
        let info = body(&frame).expect("metadata");
        assert_eq!(revision(&info, algorithm), info.revision, "{file}");
        assert!(!info.services.is_empty(), "{file}");
    }
}

#[test]
fn an_unknown_revision_is_none() {
    let frame = answer(
        "java/metadata-dubbo.jsonl",
        "V1 getMetadataInfo, unknown revision",
    );
    assert_eq!(body(&frame), None);
}

#[test]
fn answers_in_the_wrapper_of_triple_are_read() {
    for (file, label, algorithm) in [
        (
            "go/metadata-service-v1-over-tri.jsonl",
            "v1-getMetadataInfo",
            Algorithm::Go332,
        ),
        (
            "java/metadata-tri.jsonl",
            "V1 getMetadataInfo",
            Algorithm::Java,
        ),
    ] {
        let stream = lines(file)
            .into_iter()
            .find(|line| line["kind"] == "stream" && line["label"] == label)
            .expect(label);
        let data = unhex(stream["response"]["data_hex"].as_str().expect(file));
        let start = data
            .windows(CLASS.len())
            .position(|window| window == CLASS)
            .expect("a class definition");
        let info = MetadataInfo::decode(&mut Decoder::new(&data[start..])).expect(file);
        assert_eq!(revision(&info, algorithm), info.revision, "{file}");
    }
}

fn revision(info: &MetadataInfo, algorithm: Algorithm) -> String {
    algorithm.revision(&info.app, info.services.values())
}

/// The metadata in a response with a value and attachments, or with null and attachments.
fn body(frame: &[u8]) -> Option<MetadataInfo> {
    let mut decoder = Decoder::new(&frame[HEADER..]);
    match decoder.int().expect("the kind of the response") {
        4 => Some(MetadataInfo::decode(&mut decoder).expect("metadata")),
        5 => None,
        kind => panic!("a response of kind {kind}"),
    }
}

fn answer(file: &str, label: &str) -> Vec<u8> {
    let frame = lines(file)
        .into_iter()
        .find(|line| line["kind"] == "frame" && line["dir"] == "s2c" && line["label"] == label)
        .expect(label);
    unhex(frame["hex"].as_str().expect(file))
}

/// All texts in a document, wherever they stand.
fn texts(file: &str) -> Vec<String> {
    let mut texts = Vec::new();
    walk(&golden(file), &mut |value| {
        if let Value::String(text) = value {
            texts.push(text.clone());
        }
    });
    texts
}

fn objects_with(file: &str, key: &str) -> Vec<serde_json::Map<String, Value>> {
    let mut objects = Vec::new();
    walk(&golden(file), &mut |value| match value {
        Value::Object(object) if object.contains_key(key) => objects.push(object.clone()),
        _ => {}
    });
    objects
}

/// Through texts that are JSON, too.
fn walk(value: &Value, see: &mut impl FnMut(&Value)) {
    see(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        Value::Object(fields) => fields.values().for_each(|field| walk(field, see)),
        Value::String(text) if text.starts_with('{') => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                walk(&inner, see);
            }
        }
        _ => {}
    }
}

fn golden(file: &str) -> Value {
    serde_json::from_str(&text(file)).expect(file)
}

fn lines(file: &str) -> Vec<Value> {
    text(file)
        .lines()
        .map(|line| serde_json::from_str(line).expect(file))
        .collect()
}

fn text(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../dubbo-test/golden")
        .join(file);
    fs::read_to_string(path).expect(file)
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex"))
        .collect()
}

/// What comes before the body of a frame.
const HEADER: usize = 16;

const CLASS: &[u8] = b"C0&org.apache.dubbo.metadata.MetadataInfo";
