//! A crate outside the workspace: what a user's own crate does, on `dubbo` and `dubbo-build` alone.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::{
    failure::Failure,
    process::{self, cargo},
};

/// Builds and runs `xtask/outside`, which shares nothing with the workspace but the versions in Cargo.lock.
pub(crate) fn check() -> Result<String, Failure> {
    let folder = process::root().join(FOLDER);
    // The same versions as everywhere else, so that a release of a third party does not break this run.
    fs::copy(
        process::root().join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )
    .map_err(|e| {
        Failure::new(
            format!("Cargo.lock cannot be copied to {FOLDER}: {e}"),
            "run `cargo check`, which writes it",
        )
    })?;
    process::run(
        cargo(["run", "--quiet", "--manifest-path"])
            // Whatever would call protoc fails, on machines that have it too.
            .env("PROTOC", "/nonexistent/protoc")
            .arg(folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(process::target_dir()),
        "a user's crate needs no more than `dubbo` and `dubbo-build`: mend what it lacks",
    )?;
    build_readme_program()?;
    look_behind_features()?;
    Ok(
        "it builds and runs, without what only features bring, and the README's program builds"
            .to_owned(),
    )
}

/// The features of `dubbo` that each add something.
pub(crate) fn features() -> Result<Vec<String>, Failure> {
    let text = process::output(
        &mut cargo(["metadata", "--format-version=1", "--no-deps"]),
        "mend the manifest that cargo names above",
    )?;
    let metadata: Value = serde_json::from_slice(&text).map_err(|e| {
        Failure::new(
            format!("`cargo metadata` printed no JSON: {e}"),
            "update cargo",
        )
    })?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let dubbo = packages.filter(|package| package["name"] == "dubbo");
    let features = dubbo.filter_map(|package| package["features"].as_object());
    let names = features.flat_map(|features| features.keys().cloned());
    Ok(names
        .filter(|name| !["default", "full"].contains(&name.as_str()))
        .collect())
}

/// Nobody builds clients of servers that they have not asked for.
fn look_behind_features() -> Result<(), Failure> {
    let manifest = process::root().join(FOLDER).join("Cargo.toml");
    let plain = crates_of(&manifest, &[])?;
    let full = crates_of(
        &process::root().join("dubbo/Cargo.toml"),
        &["--features", "full"],
    )?;
    let mut problems = Vec::new();
    for name in BEHIND_FEATURES {
        if plain.contains(name) {
            problems.push(format!("{name} is built without any feature"));
        }
        if !full.contains(name) {
            problems.push(format!(
                "{name} is not built with the feature `full` either"
            ));
        }
    }
    Failure::unless_none(
        &problems,
        "make the dependency optional, or bring the list in xtask/src/outside.rs up to date",
    )
}

/// The names of the crates that a package is built from, on its own.
fn crates_of(manifest: &Path, features: &[&str]) -> Result<BTreeSet<String>, Failure> {
    let tree = process::output(
        cargo([
            "tree",
            "--edges=normal,build",
            "--prefix=none",
            "--format={p}",
        ])
        .arg("--manifest-path")
        .arg(manifest)
        .args(features),
        "mend the manifest that cargo names above",
    )?;
    let tree = String::from_utf8_lossy(&tree);
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}

/// Builds what README.md tells a user to write, block by block.
fn build_readme_program() -> Result<(), Failure> {
    let readme = process::read("README.md")?;
    let folder = process::target_dir().join("readme-program");
    let root = process::root();
    let manifest = block(&readme, "toml", 0)?.replace("../dubbo-rust", &root.to_string_lossy());
    let head = "[package]\nname = \"readme-program\"\nedition = \"2024\"\n[workspace]\n";
    for (path, text) in [
        ("Cargo.toml", format!("{head}{manifest}{PROFILE}")),
        ("proto/greet.proto", block(&readme, "proto", 0)?.to_owned()),
        ("build.rs", block(&readme, "rust", 0)?.to_owned()),
        ("src/main.rs", block(&readme, "rust", 1)?.to_owned()),
        ("Cargo.lock", process::read("Cargo.lock")?),
    ] {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|e| {
                Failure::new(
                    format!("{} cannot be written: {e}", path.display()),
                    "make the target folder writable",
                )
            })?;
    }
    process::run(
        cargo(["build", "--quiet", "--manifest-path"])
            .arg(folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(process::target_dir()),
        "mend the program in README.md: a newcomer copies it",
    )
}

/// The text of the fenced block number `index` in `language`.
fn block<'t>(readme: &'t str, language: &str, index: usize) -> Result<&'t str, Failure> {
    let fence = format!("```{language}\n");
    let text = readme.split(fence.as_str()).nth(index + 1);
    text.and_then(|rest| rest.split("\n```").next())
        .ok_or_else(|| {
            Failure::new(
                format!("README.md has no block number {} in {language}", index + 1),
                "put it back, or change xtask/src/outside.rs with it",
            )
        })
}

/// As in the workspace, so that what both build is built once.
const PROFILE: &str = "\n[profile.dev]\ndebug = \"line-tables-only\"\n";

const FOLDER: &str = "xtask/outside";

/// What the features of `dubbo` bring, and nothing else may.
const BEHIND_FEATURES: [&str; 4] = [
    "nacos-sdk",
    "opentelemetry_sdk",
    "tonic",
    "zookeeper-client",
];
