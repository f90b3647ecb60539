//! What Dubbo Java 3.3.6 wrote (`dubbo-test/golden/java/hessian-values.json`).

use std::sync::LazyLock;

use super::bytes;

/// A named value, or several, one after the other in one message.
pub struct Golden {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// All values that Java could write.
pub static ALL: LazyLock<Vec<Golden>> = LazyLock::new(read);

/// The value of this name.
pub fn named(name: &str) -> &'static [u8] {
    let golden = ALL.iter().find(|golden| golden.name == name);
    &golden
        .unwrap_or_else(|| panic!("no golden value {name}"))
        .bytes
}

fn read() -> Vec<Golden> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../dubbo-test/golden/java/hessian-values.json"
    );
    let text = std::fs::read_to_string(path).expect("the golden file");
    let entries: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a JSON array");
    entries
        .iter()
        .filter_map(|entry| {
            Some(Golden {
                name: entry["name"].as_str().expect("a name").to_owned(),
                bytes: bytes(entry["hex"].as_str()?),
            })
        })
        .collect()
}
