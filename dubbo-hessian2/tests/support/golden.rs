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

/// The result in the answers that a recording (`dubbo-test/golden/…`) has under a label, in their order.
pub fn results(file: &str, label: &str) -> Vec<dubbo_hessian2::Value> {
    let path = format!("{}/../dubbo-test/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let records = text.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).expect("a JSON object per line")
    });
    records
        .filter(|record| {
            record["label"] == label && record["dir"] == "s2c" && record["status"] == 20
        })
        .map(|record| {
            let frame = bytes(record["hex"].as_str().expect("the frame"));
            // A header of 16 bytes, and what kind of result it is.
            let mut decoder = dubbo_hessian2::Decoder::new(&frame[16..]);
            decoder.int().expect("the kind of the result");
            decoder.value().expect("the result")
        })
        .collect()
}
