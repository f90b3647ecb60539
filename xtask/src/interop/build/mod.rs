//! Building the peers.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;

use crate::{failure::Failure, process};

/// The two programs of a peer.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) consumer: PathBuf,
    pub(super) provider: PathBuf,
}

/// The dubbo-go peer. Built once for each state of its sources, and kept in CI's cache folder.
pub(super) fn go_peers() -> Result<Programs, Failure> {
    let folder = go_build("interop/go", &["consumer", "provider"], "./cmd/...")?;
    Ok(Programs {
        consumer: folder.join("consumer"),
        provider: folder.join("provider"),
    })
}

/// The recording proxy.
pub(super) fn tap() -> Result<PathBuf, Failure> {
    Ok(go_build("interop/tap", &["tap"], ".")?.join("tap"))
}

/// Our own peer.
pub(super) fn rust_peers() -> Result<Programs, Failure> {
    let artifacts = process::output(
        &mut process::cargo([
            "build",
            "--package=interop",
            "--bins",
            "--message-format=json-render-diagnostics",
        ]),
        "make the package `interop` build",
    )?;
    let artifacts = String::from_utf8_lossy(&artifacts);
    let find = |name: &str| {
        artifacts
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|artifact| {
                artifact["target"]["name"] == name && artifact["executable"].is_string()
            })
            .and_then(|artifact| artifact["executable"].as_str().map(PathBuf::from))
            .ok_or_else(|| {
                Failure::new(
                    format!("cargo built no program `{name}`"),
                    "restore it in interop/rust/Cargo.toml",
                )
            })
    };
    Ok(Programs {
        consumer: find("interop-consumer")?,
        provider: find("interop-provider")?,
    })
}

/// Builds `packages` of the module in `module`, and gives the folder of its `programs`.
fn go_build(module: &str, programs: &[&str], packages: &str) -> Result<PathBuf, Failure> {
    let version = go_version()?;
    let sources = process::root().join(module);
    let folder = process::ci_cache()
        .join("interop")
        .join(format!("{:016x}", fingerprint(&sources, &version)?));
    if programs.iter().all(|name| folder.join(name).is_file()) {
        return Ok(folder);
    }
    println!("interop: building {module}; the first time takes minutes");
    // Under a name of its own until it is whole, so that a build that was stopped is not taken for one.
    let unfinished = folder.with_extension(std::process::id().to_string());
    process::run_within(
        process::program("go")
            .current_dir(&sources)
            .args(["build", "-trimpath", "-ldflags=-s -w", "-o"])
            .arg(format!("{}/", unfinished.display()))
            .arg(packages),
        GO_BUILD_LIMIT,
        "look at what go says above; it needs the Go module proxy the first time",
    )?;
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

fn go_version() -> Result<String, Failure> {
    let missing = |why: String| {
        Failure::new(
            format!("the peers of dubbo-go cannot be built: {why}"),
            "install Go from https://go.dev/dl and put it on PATH",
        )
    };
    let output = Command::new("go")
        .arg("version")
        .output()
        .map_err(|e| missing(format!("`go` cannot be run ({e})")))?;
    if !output.status.success() {
        return Err(missing(format!(
            "`go version` ended with {}",
            output.status
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A number that changes with the sources, the compiler and what the environment asks of it.
fn fingerprint(sources: &Path, version: &str) -> Result<u64, Failure> {
    let cannot = |path: &Path, e: std::io::Error| {
        Failure::new(
            format!("cannot read {}: {e}", path.display()),
            "restore the file, or look at its rights",
        )
    };
    let mut files = Vec::new();
    let mut folders = vec![sources.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| cannot(&folder, e))? {
            let path = entry.map_err(|e| cannot(&folder, e))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut hash = Fnv::new();
    hash.add(version.as_bytes());
    hash.add(env::var("GOFLAGS").unwrap_or_default().as_bytes());
    for path in &files {
        let name = path.strip_prefix(sources).unwrap_or(path);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(path).map_err(|e| cannot(path, e))?);
    }
    Ok(hash.0)
}

/// FNV-1a, which unlike the standard library's hasher is the same in every version of it.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds `bytes` and where they end.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&bytes.len().to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Checkouts with different sources may share the cache.
const BUILDS_KEPT: usize = 8;
/// All of dubbo-go and what it imports, on a machine that is busy.
const GO_BUILD_LIMIT: Duration = Duration::from_mins(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_knows_where_its_parts_end() {
        let hash = |parts: &[&str]| {
            let mut hash = Fnv::new();
            for part in parts {
                hash.add(part.as_bytes());
            }
            hash.0
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
        assert_eq!(hash(&["a"]), hash(&["a"]));
    }
}
