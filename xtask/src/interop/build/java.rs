//! The Dubbo Java peer.

use std::{path::PathBuf, process::Command};

use crate::{failure::Failure, process};

use super::{BUILD_LIMIT, Program, Programs, fingerprint, kept, version_of};

/// Builds it.
pub(super) fn peers() -> Result<Programs, Failure> {
    let class_path = class_path()?;
    let program = |class: &str| Program {
        path: "java".into(),
        args: [SMALL, OPEN, &["-cp", &class_path, class]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    Ok(Programs {
        consumer: program("org.apache.dubbo.interop.consumer.Consumer"),
        provider: program("org.apache.dubbo.interop.provider.Provider"),
    })
}

/// Builds it, and gives the command that runs its `class` as servers run, with the time to compile that they have.
pub(super) fn command(class: &str) -> Result<Command, Failure> {
    let mut command = Command::new("java");
    command.args(OPEN).args(["-cp", &class_path()?, class]);
    Ok(command)
}

/// Where the agent of OpenTelemetry is.
pub(super) fn agent() -> Result<PathBuf, Failure> {
    Ok(build()?.join("agent/opentelemetry-javaagent.jar"))
}

/// Where its classes and those that it uses are.
fn class_path() -> Result<String, Failure> {
    let folder = build()?;
    Ok(format!(
        "{}:{}",
        folder.join("classes").display(),
        folder.join("lib/*").display()
    ))
}

fn build() -> Result<PathBuf, Failure> {
    let version = version_of("java", &["-version"], MISSING)?;
    version_of("mvn", &["-version"], MISSING)?;
    let sources = process::root().join("interop/java");
    let contract = process::root().join("proto/dubbo/interop");
    let id = fingerprint::of(
        &[&sources.join("src"), &contract],
        &[&version, &process::read("interop/java/pom.xml")?],
    )?;
    kept("interop/java", id, &["agent", "classes", "lib"], |folder| {
        let repository = process::ci_cache().join("maven");
        process::run_within(
            process::program("mvn")
                .current_dir(&sources)
                .args(["--batch-mode", "--quiet"])
                .arg(format!("-Dmaven.repo.local={}", repository.display()))
                .arg(format!("-Dbuild.dir={}", folder.display()))
                .arg("process-classes"),
            BUILD_LIMIT,
            "look at what Maven says above; it needs the central Maven repository the first time",
        )
    })
}

/// A small virtual machine that starts fast.
const SMALL: &[&str] = &["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
/// Lets hessian-lite look into Java's own classes.
const OPEN: &[&str] = &[
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.math=ALL-UNNAMED",
    "--add-opens=java.base/java.time=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
];
const MISSING: &str =
    "install a JDK of version 17 or later, and Maven (Debian: openjdk-17-jdk-headless and maven)";
