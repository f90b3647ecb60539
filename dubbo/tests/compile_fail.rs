//! The usual mistakes, and what the compiler says about them: `tests/ui`.
//!
//! After a wanted change, `DUBBO_WRITE_GENERATED=1 TRYBUILD=overwrite cargo test -p dubbo --test compile_fail` writes
//! what is expected anew.

use std::{env, fs, path::Path, process::Command};

#[test]
fn usual_mistakes_have_readable_errors() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let committed = ui.join("generated/greet.rs");
    let generated = dubbo_build::configure()
        .json(false)
        .generate(&[ui.join("greet.proto")], &[&ui])
        .expect("the proto file is right");
    if env::var_os("DUBBO_WRITE_GENERATED").is_some() {
        fs::write(&committed, &generated["greet.rs"]).expect("the folder is committed");
    }
    let committed = fs::read_to_string(committed).expect("the file is committed");
    assert_eq!(committed, generated["greet.rs"]);

    let compiler = compiler();
    if compiler.contains(env!("CARGO_PKG_RUST_VERSION")) {
        trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
    } else {
        println!("not compared: {compiler} uses other words than the compiler of the project");
    }
}

fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.expect("there is a compiler, since this was compiled");
    String::from_utf8_lossy(&version.stdout).into_owned()
}
