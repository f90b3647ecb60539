//! `dubbo describe`.

use serde_json::json;

use crate::rig::{Provider, dubbo, dubbo_of, file};

const GREETER: &str = "\
package greet;

service Greeter {
  rpc Greet(GreetRequest) returns (GreetResponse);
  rpc GreetMany(GreetRequest) returns (stream GreetResponse);
  rpc GreetAll(stream GreetRequest) returns (GreetResponse);
  rpc GreetEach(stream GreetRequest) returns (stream GreetResponse);
}

message GreetRequest {
  string name = 1;
}

message GreetResponse {
  string greeting = 1;
}
";

#[tokio::test]
async fn a_service_of_a_proto_file_is_shown_as_the_file_has_it() {
    let (provider, registry) = Provider::registered().await;
    let set = file("greet.bin", examples::greet::FILE_DESCRIPTOR_SET);
    for words in [
        &[provider.triple.as_str(), "greet.Greeter"][..],
        &["--registry", &registry, "greet.Greeter"],
        &["--descriptor", &set, "greet.Greeter"],
    ] {
        let run = dubbo_of(&[&["describe"], words]).await.exits(0);
        assert_eq!(run.out, GREETER, "{words:?}");
    }
    let run = dubbo(&["--json", "describe", &provider.triple, "greet.Greeter"]).await;
    let described = run.exits(0).json();
    assert_eq!(described["methods"][1]["serverStreaming"], true);
    let field = &described["messages"][0]["fields"][0];
    assert_eq!(field["name"], "name");
    assert_eq!(field["type"], "string");
}

#[tokio::test]
async fn all_that_protobuf_has_is_shown_as_it_is_written() {
    let proto = "syntax = \"proto3\";\n\npackage all.v1;\n\nservice All {\n  rpc Do(Thing) returns (google.protobuf.Empty);\n}\n\n\
                 message Thing {\n  repeated int32 numbers = 1;\n  optional string maybe = 2;\n  map<string, Part> parts = 3;\n  \
                 oneof choice {\n    bytes raw = 4;\n    Kind kind = 5;\n  }\n  Thing parent = 6;\n  google.protobuf.Timestamp at = \
                 7;\n}\n\nmessage Part {\n  fixed64 id = 1;\n}\n\nenum Kind {\n  UNKNOWN = 0;\n  GOOD = 1;\n}\n";
    let source = proto.replace(
        "package all.v1;\n",
        "package all.v1;\nimport \"google/protobuf/empty.proto\";\nimport \"google/protobuf/timestamp.proto\";\n",
    );
    let set = protox_set(&source);
    let run = dubbo(&[
        "describe",
        "--descriptor",
        &file("all.bin", set),
        "all.v1.All",
    ])
    .await;
    let want = proto
        .strip_prefix("syntax = \"proto3\";\n\n")
        .expect("it begins so");
    assert_eq!(run.exits(0).out, want);
}

/// The descriptors of a proto file and of all that it imports.
fn protox_set(source: &str) -> Vec<u8> {
    use prost::Message as _;
    let path = file("all.proto", source);
    let folder = std::path::Path::new(&path).parent().expect("it has one");
    let set = protox::compile(["all.proto"], [folder]).expect("is a proto file");
    set.encode_to_vec()
}

#[tokio::test]
async fn a_java_interface_is_shown_by_its_definition() {
    let (_provider, registry) = Provider::registered().await;
    let words = [
        "describe",
        "--registry",
        &registry,
        "--version",
        "1.0.0",
        "com.example.UserService",
    ];
    // The definition is written once the provider is registered, and not before.
    let mut run = dubbo(&words).await;
    for _ in 0..20 {
        if run.code == 0 {
            break;
        }
        run = dubbo(&words).await;
    }
    let run = run.exits(0);
    for want in [
        "interface com.example.UserService {",
        "  com.example.User getUser(java.lang.String);",
        "class com.example.User {",
        "  int age;",
        "enum com.example.Level { MEMBER, ADMIN }",
    ] {
        assert!(run.out.contains(want), "{want} in {run:?}");
    }
}

#[tokio::test]
async fn an_address_says_what_is_served_there() {
    let provider = Provider::start().await;
    let run = dubbo(&["describe", &provider.triple]).await.exits(0);
    assert!(
        run.out.lines().any(|line| line == "greet.Greeter"),
        "{run:?}"
    );
    let run = dubbo(&["--json", "describe", &provider.triple])
        .await
        .exits(0);
    let services = run.json()["services"].clone();
    let services = services.as_array().expect("a list");
    assert!(services.contains(&json!("greet.Greeter")), "{services:?}");
}

#[tokio::test]
async fn what_cannot_be_described_says_why() {
    let provider = Provider::start().await;
    let (triple, classic) = (&*provider.triple, &*provider.classic);
    let set = file("greet.bin", examples::greet::FILE_DESCRIPTOR_SET);
    let cases: &[(&[&str], i32, &str)] = &[
        (&[triple, "a.B"], 4, "no proto file of a.B"),
        (&[classic, "a.B"], 4, "no reflection"),
        (&[classic], 4, "--descriptor"),
        (&["a.B"], 2, "--registry"),
        (&["--descriptor", &set, "a.B"], 2, "there is greet.Greeter"),
        (&[triple, "a.B", "c.D"], 2, "unexpected "),
    ];
    for (words, code, want) in cases {
        let run = dubbo_of(&[&["describe"], *words]).await.exits(*code);
        assert!(run.err.contains(want), "{words:?}: {want} in {run:?}");
    }
}
