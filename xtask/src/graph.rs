//! The crate graph: which of our crates may depend on which, and what may be in the whole graph once or not at all.
//!
//! `docs/architecture.md` gives the reasons. Development dependencies are free: a test may need several crates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    failure::Failure,
    process::{self, cargo},
};

/// Reads the graph with every feature on, and names each edge and each crate that may not be there.
pub(crate) fn check() -> Result<String, Failure> {
    let text = process::output(
        &mut cargo([
            "metadata",
            "--format-version=1",
            "--all-features",
            "--locked",
        ]),
        "run `cargo check` and commit Cargo.lock with the manifests",
    )?;
    let metadata: Value = serde_json::from_slice(&text).map_err(|e| {
        Failure::new(
            format!("`cargo metadata` printed no JSON: {e}"),
            "update cargo",
        )
    })?;
    let packages = packages(&metadata);
    if packages.is_empty() {
        return Err(Failure::new(
            "`cargo metadata` lists no package",
            "update xtask/src/graph.rs",
        ));
    }

    let mut problems = forbidden_edges(&packages);
    problems.extend(several_versions(&packages));
    problems.extend(unwanted(&packages));
    Failure::unless_none(
        &problems,
        "keep to the graph of docs/architecture.md; a new rule goes there and into xtask/src/graph.rs",
    )?;
    let ours = packages.iter().filter(|package| package.ours).count();
    Ok(format!("{ours} crates of ours among {}", packages.len()))
}

#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    /// It lies in this repository.
    ours: bool,
    /// Of our crates, with the kind of the edge.
    dependencies: Vec<(String, Kind)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Build,
    Dev,
    Normal,
}

fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    list(metadata, "packages")
        .iter()
        .map(|package| Package {
            name: text(package, "name"),
            version: text(package, "version"),
            ours: package["source"].is_null(),
            dependencies: list(package, "dependencies")
                .iter()
                .filter(|dependency| dependency["path"].is_string())
                .map(|dependency| {
                    let kind = match dependency["kind"].as_str() {
                        Some("build") => Kind::Build,
                        Some("dev") => Kind::Dev,
                        _ => Kind::Normal,
                    };
                    (text(dependency, "name"), kind)
                })
                .collect(),
        })
        .collect()
}

fn forbidden_edges(packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages.iter().filter(|package| package.ours) {
        let Some((_, normal, build)) = ALLOWED.iter().find(|row| row.0 == package.name) else {
            problems.push(format!(
                "the crate `{}` has no place in the graph",
                package.name
            ));
            continue;
        };
        for (target, kind) in &package.dependencies {
            let (allowed, noun) = match kind {
                Kind::Build => (build, "a build dependency"),
                Kind::Dev => continue,
                Kind::Normal => (normal, "a dependency"),
            };
            if !allowed.contains(&target.as_str()) {
                problems.push(format!(
                    "{} --> {target}: not allowed as {noun}",
                    package.name
                ));
            }
        }
    }
    problems
}

fn several_versions(packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages
        .iter()
        .filter(|package| ONCE.contains(&package.name.as_str()))
    {
        versions
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
    }
    versions
        .iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| {
            let versions = versions.iter().copied().collect::<Vec<_>>().join(" and ");
            format!("{name} is in the graph more than once: {versions}")
        })
        .collect()
}

fn unwanted(packages: &[Package]) -> Vec<String> {
    UNWANTED
        .iter()
        .filter(|(name, _)| packages.iter().any(|package| package.name == *name))
        .map(|(name, reason)| format!("{name} is in the graph: {reason}"))
        .collect()
}

/// A crate of ours, its normal dependencies among our crates, and its build dependencies among them.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const ALLOWED: &[Row] = &[
    (
        "bench",
        &[
            "dubbo",
            "dubbo-cluster",
            "dubbo-core",
            "dubbo-hessian2",
            "dubbo-metadata",
            "dubbo-registry",
        ],
        &["dubbo-build"],
    ),
    (
        "dubbo",
        &[
            "dubbo-cluster",
            "dubbo-core",
            "dubbo-hessian2",
            "dubbo-macros",
            "dubbo-metadata",
            "dubbo-protocol",
            "dubbo-registry",
        ],
        &[],
    ),
    ("dubbo-build", &[], &[]),
    ("dubbo-cli", &["dubbo"], &["dubbo-build"]),
    ("dubbo-cluster", &["dubbo-core"], &[]),
    ("dubbo-core", &[], &[]),
    ("dubbo-hessian2", &["dubbo-macros"], &[]),
    ("dubbo-macros", &[], &[]),
    ("dubbo-metadata", &["dubbo-core", "dubbo-hessian2"], &[]),
    ("dubbo-protocol", &["dubbo-core", "dubbo-hessian2"], &[]),
    ("dubbo-registry", &["dubbo-core", "dubbo-metadata"], &[]),
    ("dubbo-test", &["dubbo-core", "dubbo-hessian2"], &[]),
    ("acme-dubbo", &["dubbo-core"], &[]),
    ("examples", &["acme-dubbo", "dubbo"], &["dubbo-build"]),
    ("conformance", &["dubbo"], &["dubbo-build"]),
    ("interop", &["dubbo"], &["dubbo-build"]),
    ("xtask", &["dubbo-build"], &[]),
];

/// A second version of one of these would split the ecosystem that users meet us in.
const ONCE: [&str; 6] = ["h2", "http", "hyper", "prost", "rustls", "tonic"];

const UNWANTED: [(&str, &str); 7] = [
    (
        "aws-lc-sys",
        "TLS is rustls on ring, which builds with a C compiler alone",
    ),
    ("bindgen", "it needs libclang on the user's machine"),
    ("cmake", "it needs cmake on the user's machine"),
    ("etcd-client", "its build script needs protoc"),
    (
        "openssl-sys",
        "TLS is rustls on ring, which builds with a C compiler alone",
    ),
    (
        "protobuf-src",
        "it builds protoc from source; dubbo-build needs none",
    ),
    (
        "protoc-bin-vendored",
        "it ships a protoc; dubbo-build needs none",
    ),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|(name, kind)| json!({"name": name, "kind": kind, "path": format!("/{name}")}))
            .collect();
        json!({"name": name, "version": "0.1.0", "source": null, "dependencies": dependencies})
    }

    fn third_party(name: &str, version: &str) -> Value {
        json!({"name": name, "version": version, "source": "registry", "dependencies": []})
    }

    fn parse(list: &[Value]) -> Vec<Package> {
        packages(&json!({ "packages": list }))
    }

    #[test]
    fn the_graph_of_the_architecture_passes() {
        let list = parse(&[
            package("dubbo", &[("dubbo-core", None), ("dubbo-protocol", None)]),
            package(
                "dubbo-protocol",
                &[("dubbo-core", None), ("dubbo-test", Some("dev"))],
            ),
            package(
                "examples",
                &[("dubbo", None), ("dubbo-build", Some("build"))],
            ),
        ]);
        assert_eq!(forbidden_edges(&list), Vec::<String>::new());
    }

    #[test]
    fn any_other_edge_is_named() {
        for (from, to, kind, want) in [
            (
                "dubbo-cluster",
                "dubbo-protocol",
                None,
                "dubbo-cluster --> dubbo-protocol: not allowed as a dependency",
            ),
            (
                "dubbo-core",
                "dubbo-test",
                None,
                "dubbo-core --> dubbo-test: not allowed as a dependency",
            ),
            (
                "dubbo",
                "dubbo-build",
                Some("build"),
                "dubbo --> dubbo-build: not allowed as a build dependency",
            ),
        ] {
            let list = parse(&[package(from, &[(to, kind)])]);
            assert_eq!(forbidden_edges(&list), [want]);
        }
    }

    #[test]
    fn a_crate_without_a_row_is_named() {
        let list = parse(&[package("dubbo-extra", &[])]);
        assert_eq!(
            forbidden_edges(&list),
            ["the crate `dubbo-extra` has no place in the graph"]
        );
    }

    #[test]
    fn a_second_version_is_named_only_for_the_stack() {
        let list = parse(&[
            third_party("hyper", "0.14.32"),
            third_party("hyper", "1.12.0"),
            third_party("syn", "2.0.0"),
            third_party("syn", "3.0.0"),
        ]);
        assert_eq!(
            several_versions(&list),
            ["hyper is in the graph more than once: 0.14.32 and 1.12.0"]
        );
    }

    #[test]
    fn what_needs_more_than_a_c_compiler_is_named_with_the_reason() {
        let list = parse(&[
            third_party("ring", "0.17.14"),
            third_party("cmake", "0.1.0"),
        ]);
        assert_eq!(
            unwanted(&list),
            ["cmake is in the graph: it needs cmake on the user's machine"]
        );
    }

    #[test]
    fn the_table_is_the_one_that_the_architecture_page_shows() {
        let page = process::read("docs/architecture.md").expect("the page is part of the project");
        let shown: BTreeSet<(String, String)> = page
            .lines()
            .filter_map(|line| line.split_once(" --> "))
            .flat_map(|(from, to)| {
                let to = to.split('(').next().unwrap_or_default();
                from.split(',')
                    .flat_map(|from| to.split(',').map(move |to| (from, to)))
                    .map(|(from, to)| (from.trim().to_owned(), to.trim().to_owned()))
                    .collect::<Vec<_>>()
            })
            .collect();
        let table: BTreeSet<(String, String)> = ALLOWED
            .iter()
            .flat_map(|(from, normal, build)| {
                normal
                    .iter()
                    .chain(*build)
                    .map(|to| ((*from).to_owned(), (*to).to_owned()))
            })
            .collect();
        assert_eq!(shown, table);
    }
}
