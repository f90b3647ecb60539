//! The generated code that is committed here is what is generated now.
//!
//! After a wanted change, `DUBBO_WRITE_GENERATED=1 cargo test -p dubbo-build --test golden` writes it anew.

use std::{collections::BTreeMap, env, fs, path::Path};

#[test]
fn committed_code_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let proto = here.join("proto");
    let protos = PROTOS.map(|name| proto.join(name));
    let generated = dubbo_build::configure()
        .core_path("::dubbo_core::codegen")
        .out_dir(here.join("generated"))
        .include_file("mod.rs")
        .generate(&protos, &[proto])
        .expect("the proto files are right");

    let folder = here.join("generated");
    if env::var_os("DUBBO_WRITE_GENERATED").is_some() {
        fs::create_dir_all(&folder).expect("a folder for the files");
        for (name, text) in &generated {
            fs::write(folder.join(name), text).expect(name);
        }
    }
    let committed: BTreeMap<_, _> = fs::read_dir(&folder)
        .expect("the folder is committed")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a file").to_string_lossy();
            let text = fs::read_to_string(&path).expect("a readable file");
            (name.into_owned(), text)
        })
        .collect();
    assert_eq!(
        committed.keys().collect::<Vec<_>>(),
        generated.keys().collect::<Vec<_>>()
    );
    for (name, text) in &generated {
        let differs = committed[name]
            .lines()
            .zip(text.lines())
            .position(|(a, b)| a != b);
        assert_eq!(differs, None, "{name} differs in this line (from 0)");
        assert_eq!(committed[name].len(), text.len(), "{name}");
    }
}

const PROTOS: [&str; 6] = [
    "greet.proto",
    "legacy.proto",
    "rich/v1/rich.proto",
    "unlucky/names.proto",
    "unlucky/std.proto",
    "upstream.proto",
];
