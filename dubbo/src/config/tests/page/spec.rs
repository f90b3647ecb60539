//! What the specification says of dubbo-go.

use std::{fs, path::Path};

pub(super) struct Spec(String);

impl Spec {
    pub(super) fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/config.md");
        Self(fs::read_to_string(file).expect("is there"))
    }

    /// What becomes of a key in dubbo-go, if it is in a section of the specification.
    pub(super) fn status(&self, section: Option<&str>, key: &str) -> &'static str {
        let Some(section) = section else {
            return Self::status_in(&self.section("7"), key);
        };
        Self::status_in(&self.section(section), key)
    }

    fn section(&self, number: &str) -> String {
        let heading = format!("\n### 1.{number} ");
        let (_, text) = self
            .0
            .split_once(&heading)
            .unwrap_or_else(|| panic!("there is no §1.{number}"));
        let end = text.find("\n### ").unwrap_or(text.len());
        let end = text[..end].find("\n## ").unwrap_or(end);
        text[..end].to_owned()
    }

    fn status_in(section: &str, key: &str) -> &'static str {
        let mut column = None;
        for line in section.lines() {
            let Some(row) = line.strip_prefix("| ") else {
                continue;
            };
            let cells: Vec<_> = row
                .split(" | ")
                .map(|cell| cell.trim_end_matches(" |"))
                .collect();
            if cells[0] == "key" {
                column = cells.iter().position(|cell| *cell == "status");
            } else if names(cells[0], key) {
                let status = column.and_then(|column| cells.get(column));
                return match status.map(|status| status.split([' ', ',', ';', ':']).next()) {
                    Some(Some("inert")) => "is read by nobody",
                    Some(Some("part")) => "in part",
                    Some(Some("ours")) => "—",
                    _ => "the same",
                };
            }
        }
        let is_ours = section.contains("ours; dubbo-go has no such section");
        let is_named = section
            .split("R **[B]**")
            .next()
            .unwrap_or_default()
            .split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter)))
            .any(|word| word.trim_end_matches('.') == key);
        if is_named && !is_ours {
            "the same"
        } else {
            "—"
        }
    }
}

/// Whether the first cell of a row names the key: alone, among others, or as the end of one before it.
fn names(cell: &str, key: &str) -> bool {
    let words: Vec<_> = cell
        .split([' ', ',', '/', '`', '{', '}'])
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().enumerate().any(|(index, word)| {
        let is_end = word.starts_with(['-', '.']) && index > 0;
        *word == key
            || word.rsplit('.').next() == Some(key) && !key.contains('.')
            || is_end && key.ends_with(word)
    })
}
