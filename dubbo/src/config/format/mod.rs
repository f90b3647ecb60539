//! The languages that a configuration may be written in. Whatever the language, the tree is the same.

pub(super) mod properties;
mod toml;

use std::path::Path;

use dubbo_core::yaml::{Location, MAX_BYTES, Node, Problem, ProblemKind, Problems};

/// A language of configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `properties`: Java's, with points between the levels of a key (`docs/spec/config.md` §1.2).
    Properties,
    /// `toml`.
    Toml,
    /// `yaml`, `yml`, and `json`, which is a part of it.
    #[default]
    Yaml,
}

impl Format {
    /// The format that a file's ending says: what follows the last point. YAML if there is none; `None` if it is of
    /// something else.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        match path.extension() {
            Some(extension) => Self::of_extension(extension.to_str()?),
            None => Some(Self::default()),
        }
    }

    pub(super) fn of_extension(extension: &str) -> Option<Self> {
        let mut known = EXTENSIONS.iter();
        let (_, format) = known.find(|(known, _)| known.eq_ignore_ascii_case(extension))?;
        Some(*format)
    }

    /// The tree of a document; `source` is the name it has in messages. `None` if there is nothing to go on with; why is
    /// in `problems`.
    pub(super) fn parse(self, source: &str, text: &str, problems: &mut Problems) -> Option<Node> {
        if text.len() > MAX_BYTES {
            let message = format!(
                "{} bytes are more than the {MAX_BYTES} that are read",
                text.len()
            );
            let at = Location::named(source);
            problems.error(Problem::new(ProblemKind::Syntax, at, "", message));
            return None;
        }
        match self {
            Self::Properties => properties::parse(source, text, problems),
            Self::Toml => toml::parse(source, text, problems),
            Self::Yaml => dubbo_core::yaml::parse(source, text, problems),
        }
    }
}

/// The endings of files, and the values of `file-extension`.
pub(super) const EXTENSIONS: [(&str, Format); 5] = [
    ("yaml", Format::Yaml),
    ("yml", Format::Yaml),
    ("json", Format::Yaml),
    ("toml", Format::Toml),
    ("properties", Format::Properties),
];

#[cfg(test)]
mod tests {
    use dubbo_core::yaml::Value;

    use super::*;

    /// Every text of a document that nothing is wrong with, in order, with its place and its path.
    pub(super) fn flat(format: Format, text: &str) -> Vec<String> {
        let mut problems = Problems::default();
        let node = format.parse("t", text, &mut problems);
        let (errors, _) = problems.into_parts();
        assert_eq!(errors, []);
        let mut texts = Vec::new();
        flatten(&node.expect("no errors"), "", &mut texts);
        texts
    }

    /// What is wrong with a document, one problem a line.
    pub(super) fn problems(format: Format, text: &str) -> String {
        let mut problems = Problems::default();
        let node = format.parse("t", text, &mut problems);
        let (errors, _) = problems.into_parts();
        assert!(node.is_some() || !errors.is_empty(), "no reason for {text}");
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    fn flatten(node: &Node, path: &str, texts: &mut Vec<String>) {
        match &node.value {
            Value::Map(map) => {
                for entry in map {
                    let point = if path.is_empty() { "" } else { "." };
                    flatten(&entry.value, &format!("{path}{point}{}", entry.key), texts);
                }
            }
            Value::Seq(items) => {
                for (index, item) in items.iter().enumerate() {
                    flatten(item, &format!("{path}[{index}]"), texts);
                }
            }
            Value::Scalar(scalar) => {
                let text = scalar.text.escape_default();
                let text = if scalar.text.is_ascii() {
                    text.to_string()
                } else {
                    scalar.text.to_string()
                };
                let quote = if scalar.quoted { "'" } else { "" };
                let at = node.at.to_string();
                let at = at.trim_start_matches("t:");
                texts.push(format!("{at} {path}={quote}{text}{quote}"));
            }
        }
    }

    #[test]
    fn the_last_ending_of_a_file_says_its_format() {
        for (path, want) in [
            ("dubbo.yaml", Some(Format::Yaml)),
            ("conf/dubbogo.prod.yml", Some(Format::Yaml)),
            ("a.yaml.json", Some(Format::Yaml)),
            ("dubbo.TOML", Some(Format::Toml)),
            ("dubbo.v1.properties", Some(Format::Properties)),
            ("dubbo", Some(Format::Yaml)),
            ("conf.d/dubbo", Some(Format::Yaml)),
            ("dubbo.xml", None),
        ] {
            assert_eq!(Format::of_file(Path::new(path)), want, "{path}");
        }
    }

    /// Whatever the text is, it is read or refused with a place in it.
    #[test]
    fn no_text_makes_a_parser_panic() {
        let pieces = [
            "dubbo",
            ".",
            "[",
            "]",
            "[[",
            "]]",
            "0",
            "1",
            "=",
            ":",
            " ",
            "\n",
            "\r",
            "\t",
            "\"",
            "'",
            "\\",
            "\\u",
            "d83d",
            "#",
            "!",
            "{",
            "}",
            ",",
            "- ",
            "&a",
            "*a",
            "<<",
            "é",
            "\u{0}",
            "😀",
            "\"\"\"",
            "|",
            "a",
            "null",
            "-",
            "1e9",
            "2026-01-01",
            "18446744073709551616",
        ];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed >> 33).expect("31 bits") % below
        };
        for _ in 0..20_000 {
            let length = next(24);
            let text: String = (0..length).map(|_| pieces[next(pieces.len())]).collect();
            for format in [Format::Properties, Format::Toml, Format::Yaml] {
                let mut found = Problems::default();
                let node = format.parse("t", &text, &mut found);
                assert!(node.is_some() || found.has_errors(), "{format:?}: {text:?}");
                let (errors, _) = found.into_parts();
                let last = text.lines().count() + 1;
                for error in errors {
                    let line = error.at.line().unwrap_or_default();
                    assert!(
                        (1..=last + text.matches('\r').count()).contains(&line),
                        "{error} in {text:?}"
                    );
                }
            }
        }
    }
}
