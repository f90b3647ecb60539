//! What something comes to, line by line, so that two of them can be compared and their differences read.

use std::{collections::BTreeMap, fmt::Display};

/// One entry in which two sheets differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// What kind of entry it is: the name without a number.
    pub(crate) kind: String,
    /// Both sides, to be read.
    pub(crate) shown: String,
}

/// Named findings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sheet(BTreeMap<String, String>);

impl Sheet {
    pub(crate) fn put(&mut self, name: impl Into<String>, value: impl Display) {
        self.0.insert(name.into(), value.to_string());
    }

    /// Numbered entries and how many there are.
    pub(crate) fn put_all(&mut self, name: &str, values: impl IntoIterator<Item = impl Display>) {
        let mut count = 0;
        for value in values {
            self.put(format!("{name} {count}"), value);
            count += 1;
        }
        self.put(format!("{name} count"), count);
    }

    pub(crate) fn put_lists(&mut self, kind: &str, lists: &BTreeMap<String, Vec<String>>) {
        for (name, values) in lists {
            self.put(format!("{kind} {name}"), format!("{values:?}"));
        }
    }

    /// An exception.
    pub(crate) fn put_thrown(&mut self, class: &str, message: Option<&str>) {
        self.put("exception", class);
        self.put("exception message", message.unwrap_or("null"));
    }

    /// Takes over the entries of `other`, each under `kind`.
    pub(crate) fn put_sheet(&mut self, kind: &str, other: Self) {
        for (name, value) in other.0 {
            self.put(format!("{kind}: {name}"), value);
        }
    }

    /// Where the two differ.
    pub(crate) fn differences(recorded: &Self, ours: &Self) -> Vec<Difference> {
        let names = recorded.0.keys().chain(ours.0.keys());
        let names: std::collections::BTreeSet<_> = names.collect();
        names
            .into_iter()
            .filter(|name| recorded.0.get(*name) != ours.0.get(*name))
            .map(|name| {
                let (theirs, own) = (recorded.0.get(name), ours.0.get(name));
                let from = first_difference(theirs, own);
                let (theirs, own) = (extract(theirs, from), extract(own, from));
                Difference {
                    kind: kind(name).to_owned(),
                    shown: format!("{name}\n      recorded  {theirs}\n      ours      {own}"),
                }
            })
            .collect()
    }
}

/// `message` for `message 0` and `message count`.
fn kind(name: &str) -> &str {
    match name.rsplit_once(' ') {
        Some((kind, last)) if last == "count" || last.parse::<usize>().is_ok() => kind,
        _ => name,
    }
}

fn first_difference(a: Option<&String>, b: Option<&String>) -> usize {
    match (a, b) {
        (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    }
}

/// All of a short text; of a long one what surrounds `from`.
fn extract(text: Option<&String>, from: usize) -> String {
    let Some(text) = text else {
        return "-".to_owned();
    };
    let total = text.chars().count();
    if total <= SHOWN {
        return text.escape_debug().to_string();
    }
    let start = from.saturating_sub(SHOWN / 2);
    let part: String = text.chars().skip(start).take(SHOWN).collect();
    format!(
        "…{}… ({total} characters, from {start})",
        part.escape_debug()
    )
}

const SHOWN: usize = 300;

#[test]
fn differences_show_both_sides() {
    let sheet = |pairs: &[(&str, &str)]| {
        let mut sheet = Sheet::default();
        for (name, value) in pairs {
            sheet.put(*name, value);
        }
        sheet
    };
    let (a, b) = (
        sheet(&[("x", "1"), ("y 1", "2")]),
        sheet(&[("x", "1"), ("z", "3")]),
    );
    assert!(Sheet::differences(&a, &a).is_empty());
    let differences = Sheet::differences(&a, &b);
    let read: Vec<_> = differences.iter().map(|d| (&*d.kind, &*d.shown)).collect();
    assert_eq!(
        read,
        [
            ("y", "y 1\n      recorded  2\n      ours      -"),
            ("z", "z\n      recorded  -\n      ours      3")
        ]
    );
    let long = "a".repeat(1_000);
    let (a, b) = (sheet(&[("x", &long)]), sheet(&[("x", &format!("{long}b"))]));
    let shown = Sheet::differences(&a, &b).remove(0).shown;
    assert!(shown.contains("ab…") && shown.len() < 1_000, "{shown}");
}
