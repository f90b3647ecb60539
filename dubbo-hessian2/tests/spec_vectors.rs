//! The vectors of `docs/spec/hessian2.md` §14, taken from the page itself: each is read, and written again byte for
//! byte. What they mean is tested by kind, in the files beside this one.

mod support;

use support::{bytes, values, written};

#[test]
fn each_vector_of_java_is_written_again_byte_for_byte() {
    let mut count = 0;
    for section in ["### 14.1", "### 14.2", "### 14.3", "### 14.4"] {
        for vector in vectors(section) {
            let read = values(&bytes(&vector))
                .unwrap_or_else(|error| panic!("{section} {vector}: {error}"));
            if vector != LONE_SURROGATE {
                assert_eq!(written(&read), vector, "{section} {read:?}");
            }
            count += 1;
        }
    }
    assert!(count > 140, "{count} vectors were found");
}

#[test]
fn each_vector_of_go_is_read_and_what_is_written_means_the_same() {
    let vectors = vectors("### 14.5");
    assert!(vectors.len() > 10, "{} vectors were found", vectors.len());
    for vector in vectors {
        let read = values(&bytes(&vector)).unwrap_or_else(|error| panic!("{vector}: {error}"));
        let again = values(&bytes(&written(&read))).expect("what was written can be read");
        assert_eq!(again, read, "{vector}");
    }
}

#[test]
fn each_negative_vector_is_refused() {
    let page = page();
    let rows = section(&page, "## 15. ")
        .lines()
        .filter(|line| line.starts_with("| `"));
    let mut count = 0;
    for row in rows {
        let cell = row.split('|').nth(1).expect("a first cell");
        // "followed by" joins two pieces of one input; "," and ";" part several inputs.
        let pieces: Vec<String> = quoted(cell).collect();
        let joined = cell.contains("followed by");
        let inputs = if joined {
            vec![pieces.concat()]
        } else {
            pieces
        };
        for input in inputs {
            let outcome = values(&bytes(&input));
            assert!(outcome.is_err(), "{input}: {outcome:?}");
            count += 1;
        }
    }
    assert!(count > 20, "{count} vectors were found");
}

/// The hexadecimal texts in the tables of a section.
fn vectors(title: &str) -> Vec<String> {
    let page = page();
    let lines = section(&page, title)
        .lines()
        .filter(|line| line.starts_with('|'));
    lines
        .flat_map(|line| quoted(line).collect::<Vec<_>>())
        .collect()
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/hessian2.md");
    std::fs::read_to_string(path).expect("the specification")
}

/// From the line that starts with `title` to the next title.
fn section<'p>(page: &'p str, title: &str) -> &'p str {
    let start = page.find(&format!("\n{title}")).expect(title) + 1;
    let rest = &page[start..];
    let end = rest[1..].find("\n#").map_or(rest.len(), |end| end + 1);
    &rest[..end]
}

/// What stands between backticks and is hexadecimal.
fn quoted(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split('`')
        .skip(1)
        .step_by(2)
        .map(|text| text.replace(' ', ""))
        .filter(|text| {
            !text.is_empty()
                && text.len() % 2 == 0
                && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// Half a surrogate pair is read as U+FFFD, which is written as such.
const LONE_SURROGATE: &str = "01eda0bd";
