//! The peer in Python.

use std::{fs, path::Path};

use crate::{failure::Failure, process};

use super::{BUILD_LIMIT, Program, Programs, fingerprint, kept, version_of};

/// Makes an environment with grpcio, and the messages of the contract.
pub(super) fn peers() -> Result<Programs, Failure> {
    let version = version_of("python3", &["--version"], MISSING)?;
    let sources = process::root().join("interop/python");
    let protos = process::root().join("proto");
    let contract = protos.join("dubbo/interop");
    let id = fingerprint::of(&[&sources, &contract], &[&version])?;
    let folder = kept("interop/python", id, &["venv", "peer"], |folder| {
        let environment = folder.join("venv");
        let mut make = process::program("python3");
        make.args(["-m", "venv"]).arg(&environment);
        process::run_within(&mut make, BUILD_LIMIT, MISSING)?;

        let python = environment.join("bin/python");
        let mut install = process::program(&python);
        install
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--requirement"])
            .arg(sources.join("requirements.txt"));
        let advice = "look at what pip says above; it needs a package index the first time";
        process::run_within(&mut install, BUILD_LIMIT, advice)?;

        let peer = folder.join("peer");
        copy(&sources, &peer)?;
        let mut generate = process::program(&python);
        generate
            .args(["-m", "grpc_tools.protoc", "-I"])
            .arg(&protos)
            .arg(format!("--python_out={}", peer.display()))
            .arg("dubbo/interop/v1/interop.proto");
        process::run_within(&mut generate, BUILD_LIMIT, "look at what protoc says above")
    })?;
    let program = |script: &str| Program {
        path: folder.join("venv/bin/python"),
        args: vec![folder.join("peer").join(script).display().to_string()],
    };
    Ok(Programs {
        consumer: program("client.py"),
        provider: program("server.py"),
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = fs::create_dir_all(to).and_then(|()| {
        for script in ["client.py", "server.py"] {
            fs::copy(from.join(script), to.join(script))?;
        }
        Ok(())
    });
    copied.map_err(|e| {
        Failure::new(
            format!(
                "{} cannot be copied to {}: {e}",
                from.display(),
                to.display()
            ),
            "look at the rights of both",
        )
    })
}

const MISSING: &str = "install Python 3 with its module venv (Debian: python3-venv)";
