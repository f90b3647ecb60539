//! Documents as YAML.

use std::fmt::{self, Write as _};

use super::tree::{Map, Node};

/// Writes `document` in YAML 1.2's block style, so that its core schema reads every value as what it is.
///
/// Texts are plain only where no reader could take them for anything else, YAML 1.1's included; all others stand in double
/// quotes, on one line.
pub(super) fn write(document: &Node) -> String {
    let mut out = String::new();
    match document {
        Node::Map(map) if !map.is_empty() => write_map(map, 0, &mut out),
        Node::List(items) if !items.is_empty() => write_list(items, 0, &mut out),
        scalar => {
            write_scalar(scalar, &mut out);
            out.push('\n');
        }
    }
    out
}

fn write_map(map: &Map, depth: usize, out: &mut String) {
    for (index, (key, value)) in map.iter().enumerate() {
        // The first key of a map in a list stands behind the dash.
        if index > 0 || !out.ends_with("- ") {
            indent(depth, out);
        }
        write_text(key, out);
        out.push(':');
        match value {
            Node::Map(map) if !map.is_empty() => {
                out.push('\n');
                write_map(map, depth + 1, out);
            }
            Node::List(items) if !items.is_empty() => {
                out.push('\n');
                write_list(items, depth + 1, out);
            }
            scalar => {
                out.push(' ');
                write_scalar(scalar, out);
                out.push('\n');
            }
        }
    }
}

fn write_list(items: &[Node], depth: usize, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !out.ends_with("- ") {
            indent(depth, out);
        }
        out.push_str("- ");
        match item {
            Node::Map(map) if !map.is_empty() => write_map(map, depth + 1, out),
            Node::List(items) if !items.is_empty() => write_list(items, depth + 1, out),
            scalar => {
                write_scalar(scalar, out);
                out.push('\n');
            }
        }
    }
}

fn write_scalar(value: &Node, out: &mut String) {
    match value {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => put(out, format_args!("{value}")),
        Node::Number(value) => put(out, format_args!("{value}")),
        Node::Text(text) => write_text(text, out),
        Node::List(_) => out.push_str("[]"),
        Node::Map(_) => out.push_str("{}"),
    }
}

fn write_text(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // What YAML does not count as printable, and what some editors break lines at.
            '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => put(out, format_args!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether `text` reads as itself without quotes: it begins with a letter or a slash, has nothing in it that means anything
/// to YAML, and is no word for a value.
fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'/');
    begins
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"/._- ".contains(&byte))
        && !text.ends_with(' ')
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn indent(depth: usize, out: &mut String) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn put(out: &mut String, text: fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("invariant: writing into a text does not fail");
}

/// What readers of any version take for a boolean or for nothing.
const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];

#[cfg(test)]
mod tests {
    use dubbo_core::yaml::{self, Problems, Value};

    use super::*;

    /// What the project's own reader makes of the YAML of `node`.
    fn read(text: &str) -> Node {
        fn node(read: &yaml::Node) -> Node {
            match &read.value {
                Value::Map(map) => map
                    .iter()
                    .map(|entry| (entry.key.to_string(), node(&entry.value)))
                    .collect::<Map>()
                    .into(),
                Value::Seq(items) => Node::List(items.iter().map(node).collect()),
                Value::Scalar(_) if read.is_null() => Node::Null,
                Value::Scalar(_) => Node::Text(read.as_text().unwrap_or_default().to_owned()),
            }
        }
        let mut problems = Problems::default();
        let document = yaml::parse("t.yaml", text, &mut problems);
        let (errors, _) = problems.into_parts();
        assert!(errors.is_empty(), "{text}\n{errors:?}");
        node(&document.expect("a document"))
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let texts = [
            "",
            " ",
            "a",
            "a b",
            "a: b",
            "- a",
            "#",
            "a #b",
            "'",
            "\"",
            "\\",
            "\\n",
            "a\nb",
            "a\r\n",
            "\t",
            "true",
            "No",
            "null",
            "~",
            "1",
            "1.0",
            "0x1f",
            ".5",
            "-",
            "--- a",
            "...",
            "{a}",
            "[a]",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "?",
            "/a.B/c",
            "$ref",
            "#/components/schemas/a.B",
            "application/json",
            "é",
            "日本",
            "🎉",
            "\u{7f}\u{85}\u{2028}\u{feff}",
            "a:",
            ":a",
            "200",
            "2024-01-01",
            "=",
            "<<",
            "a,b",
        ];
        let list: Vec<&str> = texts.to_vec();
        let keyed: Map = texts.iter().map(|text| (*text, *text)).collect();
        let nested: Node = vec![
            Node::from(vec![Node::from(vec!["a", "b"]), Node::from("c")]),
            Map::default()
                .with("x", Map::default().with("y", list.clone()))
                .with(
                    "z",
                    vec![Node::from(Map::default().with("a", "b").with("c", "d"))],
                )
                .into(),
            Node::List(Vec::new()),
            Map::default().into(),
            Node::Null,
        ]
        .into();
        for document in [Node::from(list), keyed.into(), nested] {
            let text = write(&document);
            assert_eq!(read(&text), document, "{text}");
        }
    }

    #[test]
    fn values_are_told_from_texts() {
        let document = Map::default()
            .with("number", 3_i64)
            .with("text", "3")
            .with("bool", true)
            .with("word", "true")
            .with("nothing", Node::Null)
            .with(
                "200",
                Map::default()
                    .with("list", vec!["a", "b: c"])
                    .with("empty", Map::default()),
            );
        let want = "number: 3\ntext: \"3\"\nbool: true\nword: \"true\"\nnothing: null\n\"200\":\n  list:\n    - a\n    - \
                    \"b: c\"\n  empty: {}\n";
        assert_eq!(write(&document.into()), want);
    }
}
