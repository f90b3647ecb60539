//! Building the peers, each once for each state of its sources: what comes out is kept in CI's cache folder.

mod fingerprint;
mod java;
mod python;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{failure::Failure, process};

use super::route::Party;

/// The two programs of a peer.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) consumer: Program,
    pub(crate) provider: Program,
}

/// A program and what it is always started with.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
}

impl Program {
    /// The same with these variables in its environment.
    pub(super) fn with_variables(&self, variables: &[(&str, &str)]) -> Self {
        let variables = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let program = self.path.display().to_string();
        Self {
            path: "env".into(),
            args: variables
                .chain([program])
                .chain(self.args.iter().cloned())
                .collect(),
        }
    }
}

impl From<PathBuf> for Program {
    fn from(path: PathBuf) -> Self {
        Self {
            path,
            args: Vec::new(),
        }
    }
}

/// Builds a peer.
pub(crate) fn peers(party: Party) -> Result<Programs, Failure> {
    match party {
        Party::Go => go_peers("consumer", "provider"),
        Party::GrpcGo => go_peers("grpc-client", "grpc-server"),
        Party::Grpcio => python::peers(),
        Party::Java => java::peers(),
        Party::Rust => rust_peers(),
    }
}

/// A peer in Go: dubbo-go's, or grpc-go's.
fn go_peers(consumer: &str, provider: &str) -> Result<Programs, Failure> {
    Ok(Programs {
        consumer: go_program(consumer)?.into(),
        provider: go_program(provider)?.into(),
    })
}

/// A program of the peers in Go.
pub(super) fn go_program(name: &str) -> Result<PathBuf, Failure> {
    Ok(go_build("interop/go", GO_PROGRAMS, "./cmd/...")?.join(name))
}

/// The command that runs a class of the Dubbo Java peer as servers run.
pub(super) fn java_command(class: &str) -> Result<Command, Failure> {
    java::command(class)
}

/// The agent of OpenTelemetry that observes Java programs.
pub(super) fn java_agent() -> Result<PathBuf, Failure> {
    java::agent()
}

/// grpcurl, from the module of that folder, whose version is the one there.
pub(super) fn grpcurl(module: &str) -> Result<PathBuf, Failure> {
    let package = "github.com/fullstorydev/grpcurl/cmd/grpcurl";
    Ok(go_build(module, &["grpcurl"], package)?.join("grpcurl"))
}

/// The recording proxy.
pub(super) fn tap() -> Result<Program, Failure> {
    Ok(go_build("interop/tap", &["tap"], ".")?.join("tap").into())
}

/// Our own peer.
fn rust_peers() -> Result<Programs, Failure> {
    let [consumer, provider] = process::bins("interop", ["interop-consumer", "interop-provider"])?;
    Ok(Programs {
        consumer: consumer.into(),
        provider: provider.into(),
    })
}

/// Builds `packages` of the module in `module`, and gives the folder of its `programs`.
fn go_build(module: &str, programs: &[&str], packages: &str) -> Result<PathBuf, Failure> {
    let version = version_of("go", &["version"], GO_MISSING)?;
    let flags = env::var("GOFLAGS").unwrap_or_default();
    let sources = process::root().join(module);
    let id = fingerprint::of(&[&sources], &[&version, &flags])?;
    kept(module, id, programs, |folder| {
        process::run_within(
            process::program("go")
                .current_dir(&sources)
                .args(["build", "-trimpath", "-ldflags=-s -w", "-o"])
                .arg(format!("{}/", folder.display()))
                .arg(packages),
            BUILD_LIMIT,
            "look at what go says above; it needs the Go module proxy the first time",
        )
    })
}

/// The folder of the build `id` of `what`, which has `parts`; built there unless it is kept from an earlier time.
fn kept(
    what: &str,
    id: u64,
    parts: &[&str],
    build: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let folder = process::ci_cache()
        .join("interop")
        .join(format!("{id:016x}"));
    if parts.iter().all(|name| folder.join(name).exists()) {
        return Ok(folder);
    }
    println!("interop: building {what}; the first time takes minutes");
    // Under a name of its own until it is whole, so that a build that was stopped is not taken for one.
    let unfinished = folder.with_extension(std::process::id().to_string());
    build(&unfinished)?;
    fs::rename(&unfinished, &folder)
        .or_else(|e| {
            // Another run was faster.
            fs::remove_dir_all(&unfinished)?;
            if folder.is_dir() { Ok(()) } else { Err(e) }
        })
        .map_err(|e| {
            Failure::new(
                format!("cannot keep what was built in {}: {e}", folder.display()),
                "look at the rights of that folder",
            )
        })?;
    forget_oldest(&folder);
    Ok(folder)
}

/// Removes what was built from sources of long ago, and what builds that were stopped have left.
fn forget_oldest(newest: &Path) {
    let Some(Ok(entries)) = newest.parent().map(fs::read_dir) else {
        return;
    };
    let mut folders: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    folders.sort_unstable();
    for (_, folder) in folders.iter().rev().skip(BUILDS_KEPT) {
        // Whatever is in the way will be there for the next build, too.
        let _ = fs::remove_dir_all(folder);
    }
}

/// What `program` says of its version.
fn version_of(program: &str, args: &[&str], missing: &str) -> Result<String, Failure> {
    let failure = |why: String| Failure::new(format!("a peer cannot be built: {why}"), missing);
    let output = Command::new(program)
        .args(args)
        .output()
        .map_err(|e| failure(format!("`{program}` cannot be run ({e})")))?;
    if !output.status.success() {
        return Err(failure(format!(
            "`{program} {}` ended with {}",
            args.join(" "),
            output.status
        )));
    }
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Checkouts with different sources may share the cache.
const BUILDS_KEPT: usize = 12;
/// All of dubbo-go and what it imports, on a machine that is busy.
const BUILD_LIMIT: Duration = Duration::from_mins(30);
const GO_PROGRAMS: &[&str] = &[
    "bench",
    "consumer",
    "grpc-client",
    "grpc-server",
    "hessian-bench",
    "provider",
    "triple-bench",
];
const GO_MISSING: &str = "install Go from https://go.dev/dl and put it on PATH";
