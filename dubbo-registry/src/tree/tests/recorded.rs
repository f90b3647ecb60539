//! Trees of live peers, as they were recorded.

use dubbo_core::url::Url;
use serde_json::Value;

use crate::matching::Category;

/// What stood at a path.
pub(crate) struct Node {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Node {
    pub(crate) fn parent(&self) -> &str {
        self.path.rsplit_once('/').expect("absolute").0
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit_once('/').expect("absolute").1
    }
}

/// All that stood anywhere in `recorded`.
pub(crate) fn nodes(recorded: &str) -> impl Iterator<Item = Node> {
    let mut found = Vec::new();
    collect(&serde_json::from_str(recorded).expect("JSON"), &mut found);
    found.into_iter()
}

fn collect(value: &Value, found: &mut Vec<Node>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(fields) => match fields.get("path").and_then(Value::as_str) {
            Some(path) => {
                let data = &fields.get("data").unwrap_or(&Value::Null);
                // The Go recordings have what is JSON as such too.
                let text = data["text"].as_str().or(data.as_str()).unwrap_or_default();
                found.push(Node {
                    path: path.to_owned(),
                    text: text.to_owned(),
                });
            }
            None => fields.values().for_each(|value| collect(value, found)),
        },
        _ => {}
    }
}

/// What `node` is, if it is a URL.
pub(crate) fn category(node: &Node) -> Category {
    let name = node.parent().rsplit_once('/').expect("absolute").1;
    Category::of(&Url::new("x", "h").with_param("category", name)).expect(name)
}

/// `url` as it is written.
pub(crate) fn without_empty(url: &Url) -> Url {
    let empty = url.params().filter(|(_, value)| value.is_empty());
    empty.fold(url.clone(), |left, (key, _)| left.without_param(key))
}
