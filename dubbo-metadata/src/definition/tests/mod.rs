//! Definitions as consoles read them.

mod proto;
mod publish;

use dubbo_core::{
    service::{
        CallKind, Declaration, JavaSignature, MethodDescriptor, ServiceDescriptor, TypeDescription,
    },
    url::Url,
};
use serde_json::{Value, json};

use super::*;

/// A service of a Java interface: one method with a declaration, and one of each kind without.
fn users() -> ServiceDescriptor {
    let java = JavaSignature::new(["java.util.List", "[I"]).declared(Declaration {
        parameters: vec!["java.util.List<com.x.User>".into(), "int[]".into()],
        result: "com.x.Level".into(),
    });
    let described = MethodDescriptor {
        java: Some(java.into()),
        ..MethodDescriptor::new("judge", CallKind::Unary)
    };
    let plain = |name: &'static str, kind| {
        MethodDescriptor::java(name, kind, ["com.x.Outer$Key"], "[Ljava.lang.String;")
    };
    let methods = vec![
        described,
        plain("names", CallKind::Unary),
        plain("watch", CallKind::ServerStream),
        plain("collect", CallKind::ClientStream),
        plain("talk", CallKind::BidiStream),
        plain("$echo", CallKind::Unary),
    ];
    let types = vec![
        TypeDescription {
            name: "com.x.User".into(),
            properties: vec![("friend".into(), "com.x.User".into())],
            ..TypeDescription::default()
        },
        TypeDescription {
            name: "java.util.List<com.x.User>".into(),
            items: vec!["com.x.User".into()],
            ..TypeDescription::default()
        },
        TypeDescription {
            name: "com.x.Level".into(),
            constants: vec!["LOW".into(), "HIGH".into()],
            ..TypeDescription::default()
        },
    ];
    ServiceDescriptor::new("com.x.Users", methods).with_types(types)
}

fn as_json(definition: &ServiceDefinition) -> Value {
    serde_json::from_slice(&definition.to_json()).expect("JSON")
}

#[test]
fn a_java_interface_is_described_in_the_shape_that_java_has() {
    let definition = ServiceDefinition::new(&users(), "dubbo-rust-1");
    let observer = "org.apache.dubbo.common.stream.StreamObserver";
    let method = |name: &str, parameters: &[&str], result: &str| {
        json!({
            "annotations": [], "name": name, "parameterTypes": parameters, "parameters": [],
            "returnType": result,
        })
    };
    let ty = |name: &str, items: &[&str], enums: &[&str], properties: Value| json!({"enums": enums, "items": items, "properties": properties, "type": name});
    assert_eq!(
        as_json(&definition),
        json!({
            "annotations": [],
            "canonicalName": "com.x.Users",
            "codeSource": "dubbo-rust-1",
            "methods": [
                method("judge", &["java.util.List<com.x.User>", "int[]"], "com.x.Level"),
                method("names", &["com.x.Outer.Key"], "java.lang.String[]"),
                method("watch", &["com.x.Outer.Key", observer], "void"),
                method("collect", &[observer], observer),
                method("talk", &[observer], observer),
            ],
            "parameters": {},
            "types": [
                ty("com.x.Level", &[], &["LOW", "HIGH"], json!({})),
                ty("com.x.Outer.Key", &[], &[], json!({})),
                ty("com.x.User", &[], &[], json!({"friend": "com.x.User"})),
                ty("java.lang.String", &[], &[], json!({})),
                ty("java.lang.String[]", &["java.lang.String"], &[], json!({})),
                ty("java.util.List<com.x.User>", &["com.x.User"], &[], json!({})),
                ty(observer, &[], &[], json!({})),
                ty("void", &[], &[], json!({})),
            ],
            "uniqueId": "com.x.Users@dubbo-rust-1",
        })
    );
    let read = ServiceDefinition::from_json(&definition.to_json());
    assert_eq!(read.expect("its own"), definition);
}

#[test]
fn what_other_implementations_leave_out_or_add_does_no_harm() {
    let text = r#"{"canonicalName":"a.B","codeSource":null,"methods":[{"name":"c","$ref":1}],"types":null,"later":{}}"#;
    let read = ServiceDefinition::from_json(text.as_bytes()).expect("readable");
    assert_eq!((&*read.canonical_name, &*read.code_source), ("a.B", ""));
    assert_eq!(read.methods[0].name, "c");
    assert!(read.methods[0].parameter_types.is_empty() && read.types.is_empty());
    for text in ["", "[]x", r#"{"methods":"c"}"#] {
        assert!(
            ServiceDefinition::from_json(text.as_bytes()).is_err(),
            "{text}"
        );
    }
}

#[test]
fn parameters_are_told_without_secrets_and_paths() {
    let url: Url =
        "tri://h:1/a.B?interface=a.B&methods=c&side=provider&empty=&timeout=3000&token=t&c.token=t\
                    &.accessKeyId=k&accessKeyId=k&secret-access-key=k&password=p&passwd=p&api-key=a\
                    &zone=z&methods.c.zone=z&tls-key-file=/k&server-private-key-path=/k&key=v"
            .parse()
            .expect("a URL");
    let definition = ServiceDefinition::new(&users(), "x").with_parameters_of(&url, &["Zone"]);
    let told: Vec<&str> = definition.parameters.keys().map(String::as_str).collect();
    assert_eq!(told, ["interface", "key", "methods", "side", "timeout"]);
    let consumer: Url = "consumer://h/a.B?side=consumer&token=t&version=1.0.0"
        .parse()
        .expect("a URL");
    assert_eq!(
        consumer_parameters(&consumer, &[""; 0]),
        &br#"{"side":"consumer","version":"1.0.0"}"#[..]
    );
}

#[test]
fn an_id_keeps_the_places_of_what_there_is_none_of() {
    for (service, side, want) in [
        ("g1/x.Y:1.0.0", Side::Provider, "x.Y:1.0.0:g1:provider:app"),
        ("x.Y", Side::Consumer, "x.Y:::consumer:app"),
        ("x.Y:2", Side::Provider, "x.Y:2::provider:app"),
    ] {
        let service = service.parse().expect("a key");
        assert_eq!(DefinitionId::new(&service, side, "app").to_string(), want);
    }
}
