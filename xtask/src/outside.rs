//! A crate outside the workspace: what a user's own crate does, on `dubbo` and `dubbo-build` alone.

use std::fs;

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
    Ok("it builds and runs".to_owned())
}

const FOLDER: &str = "xtask/outside";
