//! Servers on which everything stands in a tree of paths, as on ZooKeeper and etcd: what both lay out alike
//! (`docs/spec/registry.md` §2.1, §4, §7, §8.1).

mod interfaces;
#[cfg(test)]
pub(crate) mod tests;
mod texts;

use dubbo_core::{registry::RegistryError, text_map::TextMap, url::Url};
use serde_json::Value;

pub(crate) use interfaces::Interfaces;
pub(crate) use texts::Texts;

use crate::backend::Place;

/// The path of `name` below `parent`.
pub(crate) fn join(parent: &str, name: &str) -> String {
    format!("{}/{name}", parent.strip_suffix('/').unwrap_or(parent))
}

/// The path below which everything stands: the parameter `group`, with or without a slash at its beginning.
pub(crate) fn root(url: &Url, default: &str) -> String {
    let group = url.param("group").filter(|group| !group.is_empty());
    absolute(group.unwrap_or(default))
}

/// What stands right below `root`.
pub(crate) fn folder(root: &str) -> Place {
    Place(if root.is_empty() { "/" } else { root }.into())
}

/// Where the instances of `application` stand below `root`.
///
/// # Errors
///
/// The name is no segment of a path. `address` is for the message.
pub(crate) fn application(
    root: &str,
    application: &str,
    address: &str,
) -> Result<Place, RegistryError> {
    if application.is_empty() || application.contains('/') || [".", ".."].contains(&application) {
        let operation = format!("find the instances of `{application}`");
        let reason = "the name of an application is a segment of a path here, so it cannot be empty or a path";
        return Err(RegistryError::new(operation, address, reason).refused());
    }
    Ok(Place(join(root, application).into()))
}

/// The metadata of an instance. Numbers and booleans count as what they look like.
pub(crate) fn metadata(document: &Value) -> TextMap {
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let fields = document.as_object().into_iter().flatten();
    fields
        .filter_map(|(key, value)| Some((key.as_str(), text(value)?)))
        .collect()
}

/// The path with one slash at its beginning and none at its end; empty for the root itself.
fn absolute(path: &str) -> String {
    match path.trim_matches('/') {
        "" => String::new(),
        path => format!("/{path}"),
    }
}
