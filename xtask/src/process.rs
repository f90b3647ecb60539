//! Running other programs, from the root of the workspace.

use std::{
    env,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::failure::Failure;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // At run time where it can be had: a cached binary may have been built in another checkout.
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir
        .parent()
        .map_or_else(|| manifest_dir.clone(), Path::to_path_buf)
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Where CI keeps its tools and what it built, as `.ci/run` sets it up.
pub(crate) fn ci_cache() -> PathBuf {
    let set = |key| env::var_os(key).filter(|value| !value.is_empty());
    if let Some(cache) = set("CI_CACHE_DIR") {
        return PathBuf::from(cache);
    }
    let caches = set("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(set("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    caches.join("dubbo-rust-ci")
}

/// A program that starts at the root of the workspace and sees what its user set, nothing that `cargo run` set for us.
///
/// Build scripts such as ring's ask to be run again when `CARGO_PKG_*` change: handing ours on would rebuild them on
/// every change between `cargo xtask` and plain `cargo`.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    for (key, _) in env::vars_os() {
        let set_by_cargo = key
            .to_str()
            .is_some_and(|key| key.starts_with("CARGO_PKG_") || SET_BY_CARGO_RUN.contains(&key));
        if set_by_cargo {
            command.env_remove(key);
        }
    }
    command
}

/// Cargo with these arguments.
pub(crate) fn cargo<I>(args: I) -> Command
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let mut command = program("cargo");
    command.args(args);
    command
}

/// Builds the programs of `package` and gives those of these names.
pub(crate) fn bins<const N: usize>(
    package: &str,
    names: [&str; N],
) -> Result<[PathBuf; N], Failure> {
    let artifacts = output(
        cargo([
            "build",
            "--bins",
            "--message-format=json-render-diagnostics",
        ])
        .args(["--package", package]),
        &format!("make the package `{package}` build"),
    )?;
    let artifacts = String::from_utf8_lossy(&artifacts);
    let artifacts: Vec<Value> = artifacts
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let mut found = [const { PathBuf::new() }; N];
    for (found, name) in found.iter_mut().zip(names) {
        let built = artifacts
            .iter()
            .filter(|artifact| artifact["target"]["name"] == name)
            .find_map(|artifact| artifact["executable"].as_str());
        let built = built.ok_or_else(|| {
            Failure::new(
                format!("cargo built no program `{name}`"),
                format!("restore it in the package `{package}`"),
            )
        })?;
        *found = built.into();
    }
    Ok(found)
}

/// Runs `command` with its output shown, and expects it to succeed.
pub(crate) fn run(command: &mut Command, advice: &str) -> Result<(), Failure> {
    announce(command);
    let status = command.status().map_err(|e| not_started(command, &e))?;
    expect_success(command, status, advice)
}

/// Runs `command` as [`run`] does, and stops it when it takes longer than `limit`.
pub(crate) fn run_within(
    command: &mut Command,
    limit: Duration,
    advice: &str,
) -> Result<(), Failure> {
    announce(command);
    let mut child = command.spawn().map_err(|e| not_started(command, &e))?;
    let watch = Stopwatch::start();
    loop {
        match child.try_wait().map_err(|e| not_started(command, &e))? {
            Some(status) => return expect_success(command, status, advice),
            None if watch.elapsed() > limit => {
                let stopped = child.kill().and_then(|()| child.wait());
                return Err(Failure::new(
                    format!(
                        "`{}` was still running after {} s{}",
                        line(command),
                        limit.as_secs(),
                        stopped.map_or_else(
                            |e| format!(" and cannot be stopped: {e}"),
                            |_| String::new()
                        ),
                    ),
                    advice,
                ));
            }
            None => pause(),
        }
    }
}

/// Runs `command` with its errors shown, expects it to succeed, and gives what it printed.
pub(crate) fn output(command: &mut Command, advice: &str) -> Result<Vec<u8>, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| not_started(command, &e))?;
    expect_success(command, output.status, advice)?;
    Ok(output.stdout)
}

/// Reads a text file, named from the root of the workspace.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, Failure> {
    let path = root().join(path);
    std::fs::read_to_string(&path).map_err(|e| {
        Failure::new(
            format!("{} cannot be read: {e}", path.display()),
            "restore the file, or look at its permissions",
        )
    })
}

/// Measures how long something takes.
#[derive(Debug)]
#[expect(
    clippy::disallowed_types,
    reason = "it times programs that run outside this process; there is no runtime whose clock could be paused"
)]
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_types, reason = "as the field")]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no runtime here, and `Child` has no wait with a limit"
)]
pub(crate) fn pause() {
    thread::sleep(Duration::from_millis(50));
}

/// Shows what is about to run.
pub(crate) fn announce(command: &Command) {
    println!("$ {}", line(command));
}

/// The command as one would type it.
fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

/// What to say of a program that does not even start.
pub(crate) fn not_started(command: &Command, error: &io::Error) -> Failure {
    Failure::new(
        format!("`{}` cannot be run: {error}", line(command)),
        format!(
            "install `{}`, or put it on PATH",
            command.get_program().to_string_lossy()
        ),
    )
}

fn expect_success(command: &Command, status: ExitStatus, advice: &str) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(
        format!("`{}` ended with {status}", line(command)),
        advice,
    ))
}

const SET_BY_CARGO_RUN: [&str; 4] = [
    "CARGO",
    "CARGO_BIN_NAME",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
];
