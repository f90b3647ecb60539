use std::fmt::Write as _;

use super::*;

#[test]
fn texts_stay_as_they_were_written() {
    let document = document("{version: 1.10, group: no, id: 007, empty: '', none: , octal: 0x1F}");
    let map = document.as_map().expect("a map");
    for (key, want) in [
        ("version", "1.10"),
        ("group", "no"),
        ("id", "007"),
        ("empty", ""),
        ("octal", "0x1F"),
    ] {
        let node = &map.get(key).expect("the key").value;
        assert_eq!(node.as_text(), Some(want), "{key}");
        assert!(!node.is_null(), "{key}");
    }
    assert!(map.get("none").expect("the key").value.is_null());
}

#[test]
fn json_is_read() {
    let document = document(
        "{\n\t\"a\": [1, true, null, \"x\\u00e9\\n\\/ \\\"q\\\"\"],\n\t\"b\":{\"c\":\"d\"}, \"e\" :-1.5e3\n}\n",
    );
    assert_eq!(
        outline(&document),
        r#"{a: [1, true, null, xé\n/ "q"], b: {c: d}, e: -1.5e3}"#
    );
}

#[test]
fn an_empty_document_says_nothing() {
    for text in [
        "",
        "\n# only a comment\n",
        "---\n",
        "\u{feff}",
        "---\n...\n",
    ] {
        assert!(document(text).is_null(), "{text:?}");
    }
}

#[test]
fn aliases_and_merge_keys_are_resolved() {
    for (text, want) in [
        ("[&a x, *a]", "[x, x]"),
        ("{a: &a {b: c}, d: *a}", "{a: {b: c}, d: {b: c}}"),
        (
            "base: &b {x: 1, y: 2}\nuse: {y: 3, <<: *b, z: 4}",
            "{base: {x: 1, y: 2}, use: {y: 3, z: 4, x: 1}}",
        ),
        (
            "- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]",
            "[{x: 1}, {x: 2, y: 2}, {x: 1, y: 2}]",
        ),
        ("{'<<': x}", "{<<: x}"),
        ("[&a x, &a y, *a]", "[x, y, y]"),
    ] {
        assert_eq!(outline(&document(text)), want, "{text}");
    }
}

#[test]
fn a_value_that_an_alias_repeats_keeps_its_place() {
    let document = document("a: &a\n  b: c\nd: *a\n");
    let d = &document.as_map().expect("a map").get("d").expect("d").value;
    let b = d.as_map().expect("a map").get("b").expect("b");
    assert_eq!(b.at, Location::new("t.yaml", 2, 3));
    assert_eq!(b.value.at, Location::new("t.yaml", 2, 6));
}

#[test]
fn what_is_not_read_is_refused_with_its_place() {
    let deep = "[".repeat(MAX_DEPTH + 1);
    let deep_alias = format!(
        "[&a {}x{}, {}*a",
        "[".repeat(60),
        "]".repeat(60),
        "[".repeat(5)
    );
    let long = format!("# {}", "x".repeat(MAX_BYTES));
    for (text, want) in [
        (
            "a: 1\na: 2\nb:\n  - {}\n  - {c: 1, \"c\": 2}",
            "t.yaml:2:1: a: the key is there already, at t.yaml:1:1|\
            t.yaml:5:12: b[1].c: the key is there already, at t.yaml:5:6",
        ),
        (
            "a: 1\n---\nb: 2",
            "t.yaml:2:1: a second document begins here; one is read",
        ),
        (
            "a: !secret x",
            "t.yaml:1:4: the tag `!secret` has no meaning here",
        ),
        (
            "a: !!binary eA==",
            "t.yaml:1:4: the tag `tag:yaml.org,2002:!binary` has no meaning here",
        ),
        (
            "a: &a [*a]",
            "t.yaml:1:8: an alias inside the value it stands for",
        ),
        (
            "? [a]\n: b",
            "t.yaml:1:3: a key must be a text, found a list",
        ),
        (": b", "t.yaml:1:1: an empty key"),
        (
            "a: {<<: 1}",
            "t.yaml:1:9: `<<` takes a map or a list of maps, found a text",
        ),
        (&deep, "t.yaml:1:65: nested more than 64 levels deep"),
        (&deep_alias, "t.yaml:1:133: nested more than 64 levels deep"),
        (
            &long,
            "t.yaml: 1048578 bytes are more than the 1048576 that are read",
        ),
    ] {
        assert_eq!(refusal(text), want, "{}", &text[..text.len().min(80)]);
    }
    for (text, place) in [
        ("a: [1", "t.yaml:2:1"),
        ("a: *b", "t.yaml:1:4"),
        ("a: b: c", "t.yaml:1:5"),
        (r#"{"a": "\ud83d\ude00"}"#, "t.yaml:1:7"),
    ] {
        let message = refusal(text);
        assert!(
            message.starts_with(&format!("{place}: not valid YAML: ")),
            "{text}: {message}"
        );
    }
}

#[test]
fn a_few_lines_cannot_unfold_into_gigabytes() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{items}]").expect("a string takes everything");
    }
    let message = refusal(&bomb);
    assert!(
        message.ends_with("more than 100000 values, aliases resolved"),
        "{message}"
    );

    // One long text repeated is cheap: the copies share it.
    let text = format!("[&a {}{}]", "x".repeat(1 << 19), ", *a".repeat(50_000));
    assert!(!document(&text).is_null());
}

#[test]
fn no_input_makes_it_panic() {
    let corpus = [
        "dubbo: {application: {name: \"a b\", version: 1.10}}\n",
        "a: &a\n  - b: |\n      text\n    c: >-\n      folded\n  - *a\n<<: {x: y}\n",
        "{\"json\": [1, null, {\"k\": \"\\u00e9\"}]}",
        "? complex\n: value\n--- !!map {a: 'it''s'}\n...\n%TAG ! tag:x,2000:\n",
    ];
    let alphabet: Vec<char> = "ab:-?[]{},&*!|>'\"%@`#~<\\ \t\r\n\u{0}\u{feff}é\u{85}"
        .chars()
        .collect();
    let mut random = Random(0x5eed);
    for round in 0..20_000 {
        let text: String = if round % 2 == 0 {
            (0..random.below(60))
                .map(|_| alphabet[random.below(alphabet.len())])
                .collect()
        } else {
            let mut letters: Vec<char> = corpus[random.below(corpus.len())].chars().collect();
            for _ in 0..=random.below(4) {
                let at = random.below(letters.len());
                match random.below(3) {
                    0 => drop(letters.remove(at)),
                    1 => letters.insert(at, alphabet[random.below(alphabet.len())]),
                    _ => letters[at] = alphabet[random.below(alphabet.len())],
                }
            }
            letters.into_iter().collect()
        };
        let mut problems = Problems::default();
        let node = parse("t.yaml", &text, &mut problems);
        assert!(
            node.is_some() || problems.has_errors(),
            "{text:?} fails without a reason"
        );
    }
}

fn document(text: &str) -> Node {
    let mut problems = Problems::default();
    let node = parse("t.yaml", text, &mut problems);
    assert_eq!(problems, Problems::default(), "{text}");
    node.expect("a document")
}

fn refusal(text: &str) -> String {
    let mut problems = Problems::default();
    parse("t.yaml", text, &mut problems);
    let (errors, _) = problems.into_parts();
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    lines.join("|")
}

/// The tree without its places.
fn outline(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) => scalar.text.replace('\n', "\\n"),
        Value::Seq(nodes) => {
            let items: Vec<_> = nodes.iter().map(outline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries = map
                .iter()
                .map(|entry| format!("{}: {}", entry.key, outline(&entry.value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A small generator with a fixed seed, so that a failure comes again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("below a usize")
    }
}
