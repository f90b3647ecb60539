//! No foreign type in a public signature: what users compile against is ours, or on a short list of stable crates.
//!
//! rustdoc writes each library's public API as JSON (private and doc-hidden items are not in it). Every path in it that
//! leads into another crate is looked up: in signatures, fields, bounds, associated types, trait implementations and
//! re-exports. Without this, replacing hyper or tonic by a newer version would break users.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    failure::Failure,
    process::{self, cargo},
};

/// Checks every library that users depend on.
pub(crate) fn check() -> Result<String, Failure> {
    let libraries = libraries()?;
    let own: Vec<String> = libraries
        .iter()
        .map(|library| library.replace('-', "_"))
        .collect();
    let mut problems = Vec::new();
    for library in &libraries {
        problems.extend(api(library)?.foreign(&own)?);
    }
    Failure::unless_none(
        &problems,
        "wrap the type in one of ours or keep it private; the allow-list is in xtask/src/external_types.rs",
    )?;
    Ok(libraries.join(", "))
}

/// The names of the library crates that users depend on.
fn libraries() -> Result<Vec<String>, Failure> {
    let text = process::output(
        &mut cargo(["metadata", "--format-version=1", "--no-deps"]),
        "mend the manifest that cargo names above",
    )?;
    let metadata: Value = json(&text)?;
    let is_library = |target: &Value| {
        array(&target["kind"])
            .iter()
            .any(|kind| kind == "lib" || kind == "proc-macro")
    };
    let names = array(&metadata["packages"])
        .iter()
        .filter(|package| array(&package["targets"]).iter().any(is_library))
        .filter_map(|package| package["name"].as_str())
        .filter(|name| !TOOLS.contains(name))
        .map(str::to_owned);
    Ok(names.collect())
}

/// The public API of a library, as rustdoc describes it.
fn api(library: &str) -> Result<Api, Failure> {
    // Of its own, because RUSTC_BOOTSTRAP rebuilds every crate whose build script looks at it.
    let target = process::target_dir().join("external-types");
    process::run(
        cargo([
            "rustdoc",
            "--quiet",
            "--lib",
            "--all-features",
            "--package",
            library,
        ])
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        // JSON output is not stable in a stable rustdoc; this check is the only thing that reads it.
        .env("RUSTC_BOOTSTRAP", "1"),
        "run `cargo xtask ci doc` first: the library has to build",
    )?;
    let file = target
        .join("doc")
        .join(format!("{}.json", library.replace('-', "_")));
    let text = std::fs::read(&file).map_err(|e| {
        Failure::new(
            format!("rustdoc left nothing to read at {}: {e}", file.display()),
            "remove the external-types folder in the target folder",
        )
    })?;
    Ok(Api(json(&text)?))
}

struct Api(Value);

impl Api {
    /// Names each place that leads into a crate that is neither in `own` nor allowed.
    fn foreign(&self, own: &[String]) -> Result<Vec<String>, Failure> {
        let Some(index) = self.0["index"].as_object() else {
            return Err(self.unknown_format());
        };
        let mut problems = BTreeSet::new();
        let mut seen = 0;
        for item in index.values().filter(|item| is_written(item)) {
            let mut ids = Vec::new();
            collect_ids(&item["inner"], &mut ids);
            seen += ids.len();
            for id in ids {
                let name = self.full_name(id)?;
                if !is_allowed(&name, own) {
                    problems.insert(format!("{} shows {name}", place(item)));
                }
            }
        }
        // A library of a few lines names nothing; a grown one that names nothing was not understood.
        if seen == 0 && index.len() > EMPTY_LIBRARY {
            return Err(self.unknown_format());
        }
        Ok(problems.into_iter().collect())
    }

    /// Where the item was defined, such as `tokio::time::instant::Instant`.
    fn full_name(&self, id: u64) -> Result<String, Failure> {
        let segments: Vec<_> = array(&self.0["paths"][id.to_string()]["path"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if segments.is_empty() {
            return Err(self.unknown_format());
        }
        Ok(segments.join("::"))
    }

    fn unknown_format(&self) -> Failure {
        Failure::new(
            format!(
                "rustdoc's JSON, format {}, is not as expected",
                self.0["format_version"]
            ),
            "the toolchain changed: adapt xtask/src/external_types.rs",
        )
    }
}

/// The item stands in this library's source: not inherited from a blanket implementation, not an auto trait.
fn is_written(item: &Value) -> bool {
    let implementation = &item["inner"]["impl"];
    item["crate_id"] == 0
        && implementation["is_synthetic"] != true
        && implementation["blanket_impl"].is_null()
}

/// The ids of what an item refers to by path: types and traits (`path`), and re-exports (`source`).
fn collect_ids(value: &Value, ids: &mut Vec<u64>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_ids(value, ids)),
        Value::Object(object) => {
            if object.contains_key("path") || object.contains_key("source") {
                ids.extend(object.get("id").and_then(Value::as_u64));
            }
            object.values().for_each(|value| collect_ids(value, ids));
        }
        _ => {}
    }
}

fn is_allowed(name: &str, own: &[String]) -> bool {
    let root = name.split("::").next().unwrap_or_default();
    STANDARD.contains(&root)
        || own.iter().any(|own| own == root)
        || ALLOWED.iter().any(|allowed| {
            name.strip_prefix(allowed)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
}

/// Where in the source an item stands, and its name if it has one.
fn place(item: &Value) -> String {
    let span = &item["span"];
    let file = span["filename"].as_str().unwrap_or("(macro)");
    let line = span["begin"][0].as_u64().unwrap_or_default();
    let kind = item["inner"]
        .as_object()
        .and_then(|inner| inner.keys().next());
    let kind = kind.map_or("item", String::as_str);
    let name = item["name"]
        .as_str()
        .map_or_else(String::new, |name| format!(" `{name}`"));
    format!("{file}:{line}: {kind}{name}")
}

fn json(text: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(text)
        .map_err(|e| Failure::new(format!("this is no JSON: {e}"), "update the toolchain"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

const STANDARD: [&str; 4] = ["alloc", "core", "proc_macro", "std"];

/// Crates, or single items by the path of their definition. The reasons are in `docs/architecture.md`.
const ALLOWED: [&str; 12] = [
    "async_trait::async_trait",
    "bytes",
    "futures_core",
    "http",
    "http_body",
    "pbjson_types",
    "prost",
    "serde",
    "serde_core",
    "tokio::sync::watch::Receiver",
    "tokio::time::instant::Instant",
    "tower_service::Service",
];

/// Libraries that only this project's own programs and tests use. They speak to the libraries that they exercise.
const TOOLS: [&str; 5] = ["bench", "conformance", "dubbo-test", "examples", "interop"];

const EMPTY_LIBRARY: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An API of one item that refers to `path` by id 7.
    fn api_of(inner: &Value, path: &[&str]) -> Api {
        Api(json!({
            "format_version": 57,
            "index": {"1": {
                "crate_id": 0,
                "name": "connect",
                "span": {"filename": "src/lib.rs", "begin": [12, 0]},
                "inner": inner,
            }},
            "paths": {"7": {"path": path}},
        }))
    }

    fn problems(inner: &Value, path: &[&str]) -> Vec<String> {
        api_of(inner, path)
            .foreign(&["dubbo_core".to_owned()])
            .expect("a known format")
    }

    #[test]
    fn a_foreign_path_is_named_wherever_it_stands() {
        let path = json!({"path": "Method", "id": 7, "args": null});
        for inner in [
            json!({"function": {"sig": {"output": {"resolved_path": path}}}}),
            json!({"function": {"sig": {"inputs": [["a", {"borrowed_ref": {"type": {"resolved_path": path}}}]]}}}),
            json!({"struct_field": {"resolved_path": {"path": "Vec", "id": 7, "args": {"angle_bracketed": {"args": [{"type": {"resolved_path": path}}]}}}}}),
            json!({"impl": {"trait": path, "is_synthetic": false, "blanket_impl": null}}),
            json!({"use": {"source": "hyper::Error", "name": "Error", "id": 7, "is_glob": false}}),
        ] {
            let found = problems(&inner, &["hyper", "error", "Error"]);
            assert_eq!(found.len(), 1, "{inner}");
            assert!(found[0].starts_with("src/lib.rs:12: "), "{found:?}");
            assert!(
                found[0].ends_with(" `connect` shows hyper::error::Error"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn implementations_nobody_wrote_do_not_count() {
        let path = json!({"path": "Instrument", "id": 7, "args": null});
        for inner in [
            json!({"impl": {"trait": path, "is_synthetic": true, "blanket_impl": null}}),
            json!({"impl": {"trait": path, "is_synthetic": false, "blanket_impl": {"generic": "T"}}}),
        ] {
            assert_eq!(
                problems(&inner, &["tracing", "Instrument"]),
                Vec::<String>::new()
            );
        }
    }

    #[test]
    fn only_listed_crates_and_items_are_allowed() {
        let own = ["dubbo_core".to_owned()];
        for (name, want) in [
            ("dubbo_core::status::Status", true),
            ("core::option::Option", true),
            ("http::header::map::HeaderMap", true),
            ("httparse::Header", false),
            ("tokio::time::instant::Instant", true),
            ("tokio::sync::mpsc::bounded::Receiver", false),
            ("tokio::sync::watch::Receiver", true),
            ("tonic::status::Status", false),
        ] {
            assert_eq!(is_allowed(name, &own), want, "{name}");
        }
    }

    #[test]
    fn an_unknown_format_is_a_failure_and_not_a_pass() {
        let inner = json!({"function": {"output": {"path": "Method", "id": 8}}});
        api_of(&inner, &["hyper"])
            .foreign(&[])
            .expect_err("id 8 leads nowhere");
        Api(json!({"format_version": 99}))
            .foreign(&[])
            .expect_err("there is no index");
    }
}
