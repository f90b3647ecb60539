//! Every value that Dubbo Java 3.3.6 wrote is read, and written again byte for byte.

mod support;

use dubbo_hessian2::Value;
use support::{golden, hex, values, written};

#[test]
fn what_java_wrote_is_written_again_byte_for_byte() {
    let goldens = &*golden::ALL;
    assert_eq!(goldens.len(), 330, "the golden file");
    let mut failures = Vec::new();
    for golden in goldens {
        let wanted = hex(&golden.bytes);
        let known = DIFFERENT.iter().find(|(name, _)| *name == golden.name);
        let again = values(&golden.bytes).map(|values| written(&values));
        let shorten = |text: &str| text.chars().take(300).collect::<String>();
        match (again, known) {
            (Ok(again), None) if again == wanted => {}
            (Ok(again), None) => failures.push(format!(
                "{}:\n  {}\n  {}",
                golden.name,
                shorten(&wanted),
                shorten(&again)
            )),
            (Ok(again), Some(_)) if again == wanted => {
                failures.push(format!("{} is listed as different and is not", golden.name));
            }
            (Ok(_), Some(_)) => {}
            (Err(_), Some((_, why))) if *why == BROKEN => {}
            (Err(error), _) => failures.push(format!("{}: {error}", golden.name)),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (name, _) in DIFFERENT {
        assert!(
            goldens.iter().any(|golden| golden.name == *name),
            "no golden value {name}"
        );
    }
}

#[test]
fn binary_that_is_cut_otherwise_is_the_same_value() {
    for (name, _) in DIFFERENT.iter().filter(|(_, why)| *why == CHUNKS) {
        let read = values(golden::named(name)).expect("decodes");
        let binary = read.last().and_then(Value::as_bytes).expect("binary");
        let counted = binary
            .iter()
            .enumerate()
            .all(|(index, byte)| usize::from(*byte) == index % 251);
        assert!(counted, "{name}");
    }
}

/// What is written otherwise, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("bytes.8190", CHUNKS),
    ("bytes.8192", CHUNKS),
    ("bytes.16384", CHUNKS),
    ("bytes.65535", CHUNKS),
    ("bytes.65536", CHUNKS),
    ("bytes.after-string", CHUNKS),
    ("Calendar.twice", BROKEN),
    ("char.55357", SURROGATE),
    ("string.lone-surrogate", SURROGATE),
];
const BROKEN: &str = "Java's second reference to a calendar leads beyond what there is";
const CHUNKS: &str = "Java cuts binary where its buffer ends";
const SURROGATE: &str = "half a surrogate pair is read as U+FFFD";
