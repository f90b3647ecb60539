//! Services of proto files.

use super::*;

#[test]
fn a_service_of_a_proto_file_is_described_with_its_comments() {
    let api = api(vec![documented("shop.v1.Orders", shop())]);
    let document = api
        .document(&Filter::default(), Version::V3_0_1)
        .expect("a service");
    valid::check(&json(&document));
    let text = document.write(Format::Yaml);
    assert_eq!(text, include_str!("shop.yaml"), "{text}");
    let pretty = document.write(Format::PrettyJson);
    assert_ne!(pretty, document.write(Format::Json));
    assert_eq!(
        serde_json::from_str::<Value>(&pretty).expect("JSON"),
        json(&document)
    );
}

#[test]
fn the_newer_version_says_in_its_own_words_what_the_older_one_cannot() {
    let old = all(vec![documented("shop.v1.Orders", shop())], Version::V3_0_1);
    let new = all(vec![documented("shop.v1.Orders", shop())], Version::V3_1_0);
    let field = |document: &Value, message: &str, field: &str| {
        document["components"]["schemas"][message]["properties"][field].to_string()
    };
    for (message, name, before, after) in [
        (
            "shop.v1.Receipt",
            "data",
            r#"{"format":"byte","type":"string"}"#,
            r#"{"contentEncoding":"base64","type":"string"}"#,
        ),
        (
            "shop.v1.Receipt",
            "null",
            r#"{"enum":[null],"nullable":true,"type":"string"}"#,
            r#"{"type":"null"}"#,
        ),
        (
            "shop.v1.Order",
            "total",
            r#"{"format":"int64","type":"string"}"#,
            r#"{"format":"int64","type":"string"}"#,
        ),
    ] {
        assert_eq!(field(&old, message, name), before);
        assert_eq!(field(&new, message, name), after);
    }
    assert_eq!(new["openapi"], "3.1.0");
}

#[test]
fn what_stands_beside_a_reference_is_read_in_both_versions() {
    let set = compiled(
        "a.proto",
        "syntax = \"proto3\"; package a; service S { rpc M(X) returns (X); }
         message X {
           // The next one.
           X next = 1;
         }",
    );
    let next = |version| {
        let document = all(vec![documented("a.S", described(set, "a.S"))], version);
        document["components"]["schemas"]["a.X"]["properties"]["next"].to_string()
    };
    assert_eq!(
        next(Version::V3_0_1),
        r##"{"allOf":[{"$ref":"#/components/schemas/a.X"}],"description":"The next one."}"##
    );
    assert_eq!(
        next(Version::V3_1_0),
        r##"{"$ref":"#/components/schemas/a.X","description":"The next one."}"##
    );
}

#[test]
fn old_proto_files_have_required_fields_and_groups() {
    let set = compiled(
        "old.proto",
        "syntax = \"proto2\"; package old; service S { rpc M(X) returns (X); }
         message X { required string name = 1; optional int32 n = 2; repeated group Part = 3 { optional bytes b = 1; } }",
    );
    let document = all(
        vec![documented("old.S", described(set, "old.S"))],
        Version::V3_0_1,
    );
    let message = &document["components"]["schemas"]["old.X"];
    assert_eq!(message["required"].to_string(), r#"["name"]"#);
    assert_eq!(
        message["properties"]["part"]["items"]["$ref"],
        "#/components/schemas/old.X.Part"
    );
}

#[test]
fn files_that_several_packages_import_are_described_once_and_different_ones_of_one_name_twice() {
    let set = |service: &str, field: &str| {
        compiled(
            "common.proto",
            &format!(
                "syntax = \"proto3\"; package c; service A {{ rpc M(X) returns (X); }}
                 service B {{ rpc M(X) returns (X); }} message X {{ {field} x = 1; }} message {service} {{}}"
            ),
        )
    };
    let components = |first, second| -> Vec<String> {
        let services = vec![
            documented("c.A", described(first, "c.A")),
            documented("c.B", described(second, "c.B")),
        ];
        let document = all(services, Version::V3_0_1);
        let schemas = document["components"]["schemas"].as_object().expect("some");
        schemas.keys().cloned().collect()
    };
    assert_eq!(components(set("Y", "string"), set("Y", "string")), ["c.X"]);
    assert_eq!(
        components(set("Y", "string"), set("Y", "bool")),
        ["c.X", "c.X_2"]
    );
}

#[test]
fn groups_and_versions_of_an_interface_are_headers() {
    let headers = |keys: &[&str]| -> Vec<String> {
        let services = keys.iter().map(|key| documented(key, shop())).collect();
        let document = all(services, Version::V3_0_1);
        assert_eq!(
            document["paths"].as_object().map(serde_json::Map::len),
            Some(3)
        );
        let parameters = &document["paths"]["/shop.v1.Orders/Ping"]["post"]["parameters"];
        let parameters = parameters.as_array().cloned().unwrap_or_default();
        parameters
            .iter()
            .map(|p| format!("{}={} {}", p["name"], p["schema"]["enum"], p["required"]))
            .collect()
    };
    assert!(headers(&["shop.v1.Orders"]).is_empty());
    assert_eq!(
        headers(&["g1/shop.v1.Orders:1.0.0"]),
        [
            r#""tri-service-group"=["g1"] true"#,
            r#""tri-service-version"=["1.0.0"] true"#
        ]
    );
    assert_eq!(
        headers(&["g2/shop.v1.Orders", "shop.v1.Orders", "g1/shop.v1.Orders"]),
        [r#""tri-service-group"=["g1","g2"] null"#]
    );
}

#[test]
fn messages_that_nobody_describes_can_be_any_object() {
    let method = || MethodDescriptor {
        input: "x.In".into(),
        output: "x.Out".into(),
        ..MethodDescriptor::new("M", CallKind::Unary)
    };
    let bare = ServiceDescriptor::new("x.Bare", vec![method()]);
    let broken =
        ServiceDescriptor::new("x.Broken", vec![method()]).with_file_descriptor_set(b"\xff");
    let services = vec![
        documented("x.Bare", bare),
        documented("x.Broken", broken),
        documented("shop.v1.Orders", shop()),
    ];
    let document = all(services, Version::V3_0_1);
    for interface in ["x.Bare", "x.Broken"] {
        let body = &document["paths"][format!("/{interface}/M")]["post"]["requestBody"];
        assert_eq!(
            body["content"]["application/json"]["schema"].to_string(),
            r#"{"type":"object"}"#
        );
    }
    assert!(document["components"]["schemas"]["shop.v1.Order"].is_object());
}

#[test]
fn the_settings_are_what_is_said_of_every_method() {
    let settings = Settings {
        title: "Shop".to_owned(),
        description: String::new(),
        version: "2.1".to_owned(),
        consumes: vec![
            "application/json".to_owned(),
            "application/x-shop".to_owned(),
        ],
        produces: vec!["text/json".to_owned()],
        statuses: vec!["200".to_owned(), "418".to_owned(), "default".to_owned()],
        ..Settings::default()
    };
    let api = OpenApi::new(settings, vec![documented("shop.v1.Orders", shop())]);
    let document = api.document(&Filter::default(), Version::V3_0_1);
    let document = json(&document.expect("a service"));
    valid::check(&document);
    assert_eq!(
        document["info"].to_string(),
        r#"{"title":"Shop","version":"2.1"}"#
    );
    let method = &document["paths"]["/shop.v1.Orders/Place"]["post"];
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().expect("a map").keys().cloned().collect()
    };
    assert_eq!(
        keys(&method["requestBody"]["content"]),
        ["application/json", "application/x-shop"]
    );
    assert_eq!(keys(&method["responses"]), ["200", "418", "default"]);
    assert_eq!(keys(&method["responses"]["200"]["content"]), ["text/json"]);
    assert_eq!(
        method["responses"]["418"].to_string(),
        r#"{"description":"HTTP status 418"}"#
    );
}

#[test]
fn what_nothing_fits_has_no_document() {
    let api = api(vec![documented("shop.v1.Orders", shop())]);
    let nobody = Filter {
        version: "9".to_owned(),
        ..Filter::default()
    };
    assert_eq!(api.document(&nobody, Version::V3_0_1), None);
    let empty = json(&api.document_of_group("nobody", Version::V3_1_0));
    valid::check(&empty);
    assert_eq!(empty["paths"], serde_json::json!({}));
}
