//! What is said when proto files or settings are wrong.

use std::{fs, path::PathBuf, process};

use dubbo_build::{Builder, configure};

#[test]
fn a_problem_in_a_file_has_its_place() {
    for (name, body, want) in [
        (
            "syntax",
            "message A {\n  string name 1;\n}",
            "3:15: expected '=', but found '1'",
        ),
        (
            "type",
            "message A {\n  B b = 1;\n}",
            "3:3: name 'B' is not defined",
        ),
        (
            "twice",
            "message A {}\nservice A {}",
            "3:9: name 'A' is defined twice (first defined here: 2:9)",
        ),
        (
            "number",
            "message A {\n  string a = 1;\n  string b = 1;\n}",
            "4:14: field number '1' is already used (first defined here: 3:14)",
        ),
        (
            "kind",
            "enum E { ZERO = 0; }\nservice S {\n  rpc Get(E) returns (E);\n}",
            "4:11: 'E' is not a message type (defined here: 2:6)",
        ),
        (
            "value",
            "enum E {\n  ONE = 1;\n}",
            "3:9: the first value for proto3 enums must be 0",
        ),
    ] {
        let text = format!("syntax = \"proto3\";\n{body}\n");
        let folder = Folder::new(name, &[("a.proto", &text)]);
        let error = folder.error(&configure());
        let want = format!("{}:{want}", folder.path("a.proto").display());
        assert_eq!(error.lines().next(), Some(&*want));
    }
}

#[test]
fn every_problem_of_a_file_is_told() {
    let text = "syntax = \"proto3\";\nmessage A {\n  B b = 1;\n  C c = 2;\n}\n";
    let folder = Folder::new("every", &[("a.proto", text)]);
    let file = folder.path("a.proto");
    let want = [
        "3:3: name 'B' is not defined",
        "4:3: name 'C' is not defined",
    ]
    .map(|problem| format!("{}:{problem}", file.display()));
    let error = folder.error(&configure());
    assert_eq!(error.lines().collect::<Vec<_>>(), want);
}

#[test]
fn an_edition_is_refused() {
    let folder = Folder::new(
        "edition",
        &[("a.proto", "edition = \"2023\";\nmessage A {}\n")],
    );
    let error = folder.error(&configure());
    assert!(error.contains("a.proto:1:1: "), "{error}");
    assert!(
        error.ends_with("(editions are not read; write `syntax = \"proto3\";`)"),
        "{error}"
    );
}

#[test]
fn a_missing_file_names_the_folders_that_were_searched() {
    let text = "syntax = \"proto3\";\nimport \"b.proto\";\n";
    let folder = Folder::new("missing", &[("a.proto", text)]);
    let (root, absent) = (folder.0.clone(), folder.path("absent"));
    let searched = format!("{}, {} (no such folder)", root.display(), absent.display());

    let error = configure()
        .generate(&[folder.path("a.proto")], &[&root, &absent])
        .expect_err("an import is missing");
    let file = folder.path("a.proto");
    let want = format!(
        "{}:2:1: import 'b.proto' not found; searched {searched}",
        file.display()
    );
    assert_eq!(error.to_string(), want);

    let error = configure()
        .generate(&["nope.proto"], &[&root, &absent])
        .expect_err("there is no such file");
    let want =
        format!("nope.proto was not found, neither from the working folder nor below {searched}");
    assert_eq!(error.to_string(), want);

    let error = configure()
        .generate(&[&file], &[&absent])
        .expect_err("the file is outside");
    let want = format!("{} lies below none of the include folders", file.display());
    assert!(error.to_string().starts_with(&want), "{error}");
}

#[test]
fn names_that_fall_together_in_rust_are_named_as_in_the_file() {
    for (name, body, want) in [
        (
            "rpcs",
            "message M {} service S { rpc GetIt(M) returns (M); rpc get_it(M) returns (M); }",
            "rpc `p.S.GetIt` and rpc `p.S.get_it` both become `get_it` in Rust; rename one of them",
        ),
        (
            "service-message",
            "message fooBar {} service FooBar {}",
            "message `p.fooBar` and service `p.FooBar` both become `FooBar` in Rust; rename one of them",
        ),
        (
            "client",
            "message FooClient {} service Foo {}",
            "message `p.FooClient` and the `Client` of service `p.Foo` both become `FooClient` in Rust; rename one of \
             them",
        ),
        (
            "values",
            "enum Foo { FOO_A = 0; A = 1; }",
            "value `FOO_A` of enum `p.Foo` and value `A` of enum `p.Foo` both become `A` in Rust; rename one of them",
        ),
        (
            "oneof",
            "message M { oneof o { int32 A_1 = 1; int32 a1 = 2; } }",
            "field `p.M.A_1` and field `p.M.a1` both become `A1` in Rust; rename one of them",
        ),
        (
            "nothing",
            "message M { int32 _ = 1; }",
            "field `p.M._` has neither letter nor digit, so it has no name in Rust",
        ),
        (
            "digit",
            "message M { int32 _1 = 1; }",
            "field `p.M._1` has a digit before its first letter, which the JSON mapping cannot express; rename it, or \
             switch the mapping off with `json(false)`",
        ),
    ] {
        let text = format!("syntax = \"proto2\";\npackage p;\n{body}\n")
            .replace("int32 _", "optional int32 _");
        let folder = Folder::new(name, &[("a.proto", &text)]);
        let error = folder.error(&configure());
        assert!(error.lines().any(|line| line == want), "{name}: {error}");
    }
}

#[test]
fn a_digit_first_is_fine_without_json() {
    let text = "syntax = \"proto3\";\nmessage M { int32 _1 = 1; enum E { _2 = 0; } }\n";
    let folder = Folder::new("digit-fine", &[("a.proto", text)]);
    let builder = configure().json(false);
    let files = builder.generate(&[folder.path("a.proto")], &[folder.path(".")]);
    let files = files.expect("prost has names for these");
    assert!(files["_.rs"].contains("pub _1: i32"), "{}", files["_.rs"]);
}

#[test]
fn a_type_that_nothing_stands_for_is_named() {
    let text = "syntax = \"proto3\";\nimport \"google/protobuf/descriptor.proto\";\n\
                message M { google.protobuf.FileDescriptorProto file = 1; }\n";
    let folder = Folder::new("descriptor", &[("a.proto", text)]);
    let want = "a.proto: `google.protobuf.FileDescriptorProto` of google/protobuf/descriptor.proto is used, and no Rust \
                type stands for it; name one with `extern_path`";
    assert_eq!(folder.error(&configure()), want);

    let named = configure().extern_path(
        ".google.protobuf.FileDescriptorProto",
        "::prost_types::FileDescriptorProto",
    );
    let files = named.generate(&[folder.path("a.proto")], &[folder.path(".")]);
    assert!(files.expect("now one does")["_.rs"].contains("::prost_types::FileDescriptorProto"));
}

#[test]
fn a_setting_that_makes_no_sense_is_refused() {
    let folder = Folder::new(
        "settings",
        &[("a.proto", "syntax = \"proto3\";\nmessage M {}\n")],
    );
    for (builder, want) in [
        (
            configure().core_path("not a path"),
            "core_path(\"not a path\"): this is no Rust path",
        ),
        (
            configure().extern_path("a.B", "::a::B"),
            "extern_path(\"a.B, ::a::B\"): a full proto name",
        ),
        (
            configure().extern_path(".a.B", "no path"),
            "extern_path(\".a.B, no path\"): what shall stand",
        ),
        (
            configure()
                .extern_path(".a", "::a")
                .extern_path(".a", "::b"),
            "extern_path(\".a, ::b\"): it was given before",
        ),
        (
            configure().type_attribute(".", "#[nope"),
            "what was generated for _.rs is not Rust",
        ),
    ] {
        let error = folder.error(&builder);
        assert!(error.starts_with(want), "{error}");
    }
}

#[test]
fn debug_says_what_display_does_and_the_cause() {
    let folder = Folder::new(
        "debug",
        &[("a.proto", "syntax = \"proto3\";\nmessage M {}\n")],
    );
    let error = configure()
        .out_dir(folder.path("absent"))
        .compile(&[folder.path("a.proto")], &[folder.path(".")])
        .expect_err("there is no such folder");
    let display = error.to_string();
    assert!(display.ends_with("_.rs cannot be written"), "{display}");
    let debug = format!("{error:?}");
    assert!(
        debug.starts_with(&display) && debug.len() > display.len(),
        "{debug}"
    );
}

/// A folder with proto files, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("dubbo-build-{}-{name}", process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        for (name, text) in files {
            fs::write(folder.join(name), text).expect(name);
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn error(&self, builder: &Builder) -> String {
        let error = builder.generate(&[self.path("a.proto")], &[&self.0]);
        error.expect_err("something is wrong").to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
