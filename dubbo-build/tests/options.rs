//! What the settings of a builder do to the code.

use std::{env, fs, path::PathBuf, process};

use dubbo_build::{Builder, configure};

#[test]
fn generated_code_finds_everything_below_the_core_path() {
    let text = one_file(&configure());
    assert!(text.contains("::dubbo::codegen::prost::Message"), "{text}");
    assert!(!text.contains("dubbo_core"), "{text}");

    let text = one_file(&configure().core_path("crate::rpc"));
    assert!(text.contains("crate::rpc::prost::Message"), "{text}");
    assert!(text.contains("crate::rpc::serde::Serialize"), "{text}");
    assert!(text.contains("crate::rpc::ServiceDescriptor"), "{text}");
    assert!(
        text.contains("crate::rpc::pbjson_types::Timestamp"),
        "{text}"
    );
    assert!(!text.contains("::dubbo::"), "{text}");
}

#[test]
fn json_is_there_unless_it_is_switched_off() {
    let (with, without) = (one_file(&configure()), one_file(&configure().json(false)));
    assert!(with.contains("ProtoJson<") && with.contains("Deserialize<'de> for self::Ask"));
    assert!(without.contains("Proto<") && !without.contains("ProtoJson<"));
    assert!(!without.contains("serde"), "{without}");
}

#[test]
fn attributes_stand_where_they_were_asked_for() {
    let builder = configure()
        .type_attribute(".talk.Ask", "#[derive(Ord)]")
        .type_attribute("Mood", "#[mood]")
        .field_attribute(".talk.Ask.what", "#[what]");
    let text = one_file(&builder);
    for attribute in ["#[derive(Ord)]", "#[mood]", "#[what]"] {
        assert_eq!(text.matches(attribute).count(), 1, "{attribute}\n{text}");
    }
}

#[test]
fn a_type_that_is_elsewhere_is_used_and_not_generated() {
    for path in [".talk.Ask", ".talk"] {
        let rust = if path == ".talk" {
            "::other"
        } else {
            "::other::Ask"
        };
        let files = generate(&configure().extern_path(path, rust));
        let text = &files["talk.rs"];
        assert!(!text.contains("pub struct Ask"), "{text}");
        assert!(!text.contains("for self::Ask"), "{text}");
        assert!(text.contains("Request<::other::Ask>"), "{text}");
        assert!(
            text.contains("input: ::dubbo::codegen::Cow::Borrowed(\"talk.Ask\")"),
            "{text}"
        );
    }
}

#[test]
fn a_nested_type_and_one_without_a_package_can_be_elsewhere_too() {
    for (path, rust, gone, used) in [
        (
            ".Rootless.Inner",
            "::other::Inner",
            "for self::rootless::Inner",
            "Option<::other::Inner>",
        ),
        (
            ".State",
            "::other::State",
            "for self::State",
            "enumeration = \"::other::State\"",
        ),
    ] {
        let builder = configure().extern_path(path, rust);
        let files = builder.generate(&["tests/proto/rootless.proto"], &["tests/proto"]);
        let text = &files.expect("the proto file is right")["_.rs"];
        assert!(
            text.contains("Deserialize<'de> for self::Rootless"),
            "{text}"
        );
        assert!(!text.contains(gone), "{text}");
        assert!(text.contains(used), "{text}");
    }
}

#[test]
fn the_including_file_has_a_module_for_each_package() {
    let builder = configure().include_file("all.rs");
    let text = &generate(&builder)["all.rs"];
    let want = "pub mod talk {\n    include!(concat!(env!(\"OUT_DIR\"), \"/talk.rs\"));\n}\n";
    assert!(text.ends_with(want), "{text}");

    let text = &generate(&builder.out_dir("src"))["all.rs"];
    assert!(
        text.ends_with("pub mod talk {\n    include!(\"talk.rs\");\n}\n"),
        "{text}"
    );
}

#[test]
fn options_that_extensions_define_reach_the_embedded_descriptors() {
    let text = one_file(&configure());
    assert!(text.contains("an extension said this"), "{text}");
    assert!(text.contains("google/protobuf/descriptor.proto"), "{text}");
}

#[test]
fn files_that_are_up_to_date_are_not_touched() {
    let folder = folder("touched");
    let compile = || {
        configure()
            .out_dir(&folder)
            .compile(&["tests/proto/greet.proto"], &["tests/proto"])
            .expect("the proto file is right");
        let file = fs::metadata(folder.join("greet.rs")).expect("it was written");
        file.modified().expect("the system keeps times")
    };
    let first = compile();
    assert_eq!(compile(), first);
    fs::write(folder.join("greet.rs"), "old").expect("a writable file");
    compile();
    let text = fs::read_to_string(folder.join("greet.rs")).expect("a readable file");
    assert!(text.contains("pub trait Greeter"), "{text}");
    fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn a_file_without_types_makes_no_code() {
    let folder = folder("nothing");
    fs::write(folder.join("a.proto"), "syntax = \"proto3\";\n").expect("a writable folder");
    let files = configure().generate(&["a.proto"], &[&folder]);
    assert_eq!(files.expect("it is a proto file").len(), 0);
    fs::remove_dir_all(folder).expect("the folder is ours");
}

fn one_file(builder: &Builder) -> String {
    let mut files = generate(builder);
    assert_eq!(files.len(), 1, "{:?}", files.keys());
    files.pop_first().expect("one").1
}

fn generate(builder: &Builder) -> std::collections::BTreeMap<String, String> {
    let files = builder.generate(&["tests/proto/talk.proto"], &["tests/proto"]);
    files.expect("the proto file is right")
}

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("dubbo-build-{}-options-{name}", process::id()));
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}
