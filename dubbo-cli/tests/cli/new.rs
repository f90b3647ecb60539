//! `dubbo new`.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

use crate::rig::{dubbo, dubbo_of, folder};

/// The clone that this test is of.
fn clone() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("it is a member")
}

#[tokio::test]
async fn a_new_crate_builds_against_this_project() {
    let crate_folder = folder().join("greeter-demo");
    let path = crate_folder.to_str().expect("is text");
    let source = clone().to_str().expect("is text");
    let run = dubbo(&["new", path, "--path", source]).await.exits(0);
    assert!(run.out.contains("cargo run --bin provider"), "{run:?}");
    for config in ["provider.yaml", "consumer.yaml"] {
        let config = crate_folder.join(config);
        dubbo(&["config", "check", config.to_str().expect("is text")])
            .await
            .exits(0);
    }
    // The versions of everything else are those of this project, so that nothing is asked of anybody.
    std::fs::copy(clone().join("Cargo.lock"), crate_folder.join("Cargo.lock")).expect("is there");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("it has one");
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--bins"])
        .current_dir(&crate_folder)
        .env("CARGO_TARGET_DIR", target)
        .stderr(Stdio::piped())
        .output()
        .await
        .expect("cargo is there");
    let errors = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{errors}");
    // What is there is not written over.
    let run = dubbo(&["new", path, "--path", source]).await.exits(2);
    assert!(run.err.contains("is not empty"), "{run:?}");
}

#[tokio::test]
async fn what_cannot_become_a_crate_is_refused() {
    let empty = folder();
    let at = |name: &str| empty.join(name).to_str().expect("is text").to_owned();
    let source = clone().to_str().expect("is text");
    let (good, bad, word) = (at("good"), at("Bad Name"), at("async"));
    let cases: &[(&[&str], &str)] = &[
        (&[&good], "--path"),
        (&[&good, "--path", "/nowhere"], "no clone of this project"),
        (
            &[&good, "--path", source, "--git", "https://example.org"],
            "cannot be used with",
        ),
        (
            &[&bad, "--path", source],
            "`Bad Name` is no name for a crate",
        ),
        (&[&word, "--path", source], "`async` is no name for a crate"),
        (
            &[&good, "--name", "", "--path", source],
            "is no name for a crate",
        ),
    ];
    for (words, want) in cases {
        let run = dubbo_of(&[&["new"], *words]).await.exits(2);
        assert!(run.err.contains(want), "{words:?}: {want} in {run:?}");
    }
    assert!(
        empty.read_dir().expect("is there").next().is_none(),
        "nothing is left"
    );
    let run = dubbo(&[
        "new",
        &good,
        "--git",
        "https://example.org/d",
        "--rev",
        "abc",
    ])
    .await;
    run.exits(0);
    let manifest = std::fs::read_to_string(Path::new(&good).join("Cargo.toml")).expect("is there");
    let want = r#"dubbo = { git = "https://example.org/d", rev = "abc" }"#;
    assert!(manifest.contains(want), "{manifest}");
}
