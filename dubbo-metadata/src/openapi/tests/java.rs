//! Services of Java interfaces.

use dubbo_core::service::{Declaration, JavaSignature, TypeDescription};
use dubbo_hessian2::{Hessian, JavaType, Types};

use super::*;

#[derive(Hessian)]
#[hessian(class = "com.x.User$Profile")]
struct Profile {
    name: String,
    level: Option<Level>,
    photo: Vec<u8>,
    friends: Vec<Self>,
    scores: std::collections::BTreeMap<String, i64>,
}

#[derive(Hessian)]
#[hessian(class = "com.x.Level")]
enum Level {
    Admin,
    Member,
}

fn java(
    name: &'static str,
    parameters: &[&'static str],
    returns: &'static str,
) -> MethodDescriptor {
    MethodDescriptor::java(name, CallKind::Unary, parameters.iter().copied(), returns)
}

fn users(methods: Vec<MethodDescriptor>) -> Documented {
    let mut types = Types::default();
    Profile::describe(&mut types);
    let types = types.into_iter().map(|(name, shape)| TypeDescription {
        name,
        items: shape.items,
        constants: shape.constants,
        properties: shape.properties,
    });
    let service = ServiceDescriptor::new("com.x.Users", methods).with_types(types.collect());
    documented("com.x.Users", service)
}

/// A method as the source of the interface declares it.
fn declared(
    name: &'static str,
    parameters: &[&'static str],
    result: &'static str,
) -> MethodDescriptor {
    let declaration = Declaration {
        parameters: parameters.iter().map(|name| (*name).into()).collect(),
        result: result.into(),
    };
    let erased = |name: &&'static str| name.split('<').next().unwrap_or_default();
    let signature = JavaSignature::new(parameters.iter().map(erased)).declared(declaration);
    MethodDescriptor {
        java: Some(Arc::new(signature)),
        ..java(name, &[], "java.lang.Object")
    }
}

#[test]
fn a_java_interface_is_described_by_its_signatures_and_classes() {
    let service = users(vec![
        java("find", &["java.lang.String"], "com.x.User$Profile"),
        java("rename", &["long", "java.lang.String"], "void"),
        java("all", &[], "java.util.List"),
        declared(
            "search",
            &[
                "java.util.Map<java.lang.String,java.util.List<com.x.Level>>",
                "java.util.Optional<int[]>",
            ],
            "java.util.List<com.x.User.Profile>",
        ),
        java(
            "sum",
            &["[I", "[[Ljava.lang.Double;"],
            "java.math.BigDecimal",
        ),
        java("other", &["com.x.Unknown"], "java.lang.Object"),
        MethodDescriptor::java("watch", CallKind::ServerStream, [""; 0], "com.x.Level"),
        java("$invoke", &["java.lang.String"], "java.lang.Object"),
    ]);
    let api = api(vec![service]);
    let document = api.document(&Filter::default(), Version::V3_0_1);
    let document = document.expect("a service");
    valid::check(&json(&document));
    let text = document.write(Format::Yaml);
    assert_eq!(text, include_str!("users.yaml"), "{text}");
}

#[test]
fn several_arguments_are_a_list_in_which_each_has_its_place() {
    let method = || vec![java("rename", &["long", "java.lang.String"], "void")];
    let body = |version| {
        let document = all(vec![users(method())], version);
        let body = &document["paths"]["/com.x.Users/rename"]["post"]["requestBody"];
        assert_eq!(body["required"], true);
        body["content"]["application/json"]["schema"].to_string()
    };
    assert_eq!(
        body(Version::V3_0_1),
        r#"{"items":{"anyOf":[{"format":"int64","type":"integer"},{"type":"string"}]},"maxItems":2,"minItems":2,"type":"array"}"#
    );
    assert_eq!(
        body(Version::V3_1_0),
        r#"{"maxItems":2,"minItems":2,"prefixItems":[{"format":"int64","type":"integer"},{"type":"string"}],"type":"array"}"#
    );
}

#[test]
fn methods_of_one_name_share_a_path() {
    let service = users(vec![
        java("get", &["long"], "com.x.Level"),
        java("get", &["java.lang.String"], "com.x.Level"),
        java("get", &[], "void"),
    ]);
    let document = all(vec![service], Version::V3_0_1);
    assert_eq!(
        document["paths"].as_object().map(serde_json::Map::len),
        Some(1)
    );
    let method = &document["paths"]["/com.x.Users/get"]["post"];
    assert_eq!(
        method["requestBody"].to_string(),
        r#"{"content":{"application/json":{"schema":{"anyOf":[{"format":"int64","type":"integer"},{"type":"string"}]}}}}"#
    );
    assert_eq!(
        method["responses"]["200"]["content"]["application/json"]["schema"].to_string(),
        r##"{"$ref":"#/components/schemas/com.x.Level"}"##
    );
}

#[test]
fn a_class_that_one_service_names_is_described_by_another_that_knows_it() {
    let stranger = |interface: &'static str| {
        let methods = vec![java("get", &[], "com.x.User$Profile")];
        documented(interface, ServiceDescriptor::new(interface, methods))
    };
    let known = users(vec![java("find", &[], "com.x.User$Profile")]);
    let document = all(
        vec![stranger("com.x.A"), known, stranger("com.x.Z")],
        Version::V3_0_1,
    );
    let schemas = document["components"]["schemas"].as_object().expect("some");
    assert_eq!(
        schemas.keys().collect::<Vec<_>>(),
        ["com.x.Level", "com.x.User.Profile"]
    );
    assert!(schemas["com.x.User.Profile"]["properties"]["friends"].is_object());
}
