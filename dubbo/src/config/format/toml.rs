//! TOML, by the crate of that name: it knows the place of everything.

use std::sync::Arc;

use dubbo_core::yaml::{
    Entry, Location, MAX_DEPTH, Map, Node, Problem, ProblemKind, Problems, Scalar, Value,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The tree of a document: numbers, dates and switches are texts as they were written.
pub(super) fn parse(source: &str, text: &str, problems: &mut Problems) -> Option<Node> {
    let lines = Lines::of(source, text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let is_valid = errors.is_empty();
    for error in errors {
        let at = lines.place(error.span().map_or(0, |span| span.start));
        let message = format!("not valid TOML: {}", error.message());
        problems.error(Problem::new(ProblemKind::Syntax, at, "", message));
    }
    if !is_valid {
        return None;
    }
    let at = lines.place(0);
    match lines.map(table.into_inner(), 1) {
        Ok(map) => Some(Node {
            value: Value::Map(map),
            at,
        }),
        Err(problem) => {
            problems.error(problem);
            None
        }
    }
}

/// Where each line of a text begins.
struct Lines<'t> {
    source: Arc<str>,
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(source: &str, text: &'t str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            source: source.into(),
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    fn place(&self, offset: usize) -> Location {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        let before = self.text.get(start..offset).unwrap_or_default();
        Location::new(
            Arc::clone(&self.source),
            line.max(1),
            before.chars().count() + 1,
        )
    }

    fn map(&self, table: DeTable<'_>, depth: usize) -> Result<Map, Problem> {
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut map = Map::default();
        for (key, value) in entries {
            let entry = Entry {
                at: self.place(key.span().start),
                key: key.into_inner().into(),
                value: self.node(value, depth + 1)?,
            };
            // The parser has refused keys that are there twice.
            map.put(entry);
        }
        Ok(map)
    }

    fn node(&self, value: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Problem> {
        let at = self.place(value.span().start);
        if depth > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(Problem::new(ProblemKind::Syntax, at, "", message));
        }
        let (text, quoted) = match value.into_inner() {
            DeValue::String(text) => (text.into_owned(), true),
            DeValue::Integer(number) => {
                let decimal = i128::from_str_radix(number.as_str(), number.radix());
                let text = decimal.map_or_else(|_| number.to_string(), |it| it.to_string());
                (text, false)
            }
            DeValue::Float(number) => (number.as_str().to_owned(), false),
            DeValue::Boolean(on) => (on.to_string(), false),
            DeValue::Datetime(time) => (time.to_string(), false),
            DeValue::Array(items) => {
                let items = items.into_iter().map(|item| self.node(item, depth + 1));
                let value = Value::Seq(items.collect::<Result<_, _>>()?);
                return Ok(Node { value, at });
            }
            DeValue::Table(table) => {
                let value = Value::Map(self.map(table, depth)?);
                return Ok(Node { value, at });
            }
        };
        let text = text.into();
        let value = Value::Scalar(Scalar { text, quoted });
        Ok(Node { value, at })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flat, problems};
    use crate::config::Format::Toml;

    #[test]
    fn a_document_is_the_same_tree_with_every_place() {
        let text = r#"# A file.
dubbo.strict = true

[dubbo.application]
name = "größe" # a comment
version = 1.10
weight = 0x20
"owner" = ''

[dubbo.registries."a.b"]
address = """
nacos://h:8848"""

[[dubbo.provider.services.S.methods]]
name = "Get"
retries = 1_000

[[dubbo.provider.services.S.methods]]
name = 'Set'

[dubbo.provider]
filter = ["audit",
  'echo']
defaults = { a.b = 2026-12-01 }
"#;
        assert_eq!(
            flat(Toml, text),
            [
                "2:16 dubbo.strict=true",
                "5:8 dubbo.application.name='größe'",
                "6:11 dubbo.application.version=1.10",
                "7:10 dubbo.application.weight=32",
                "8:11 dubbo.application.owner=''",
                "11:11 dubbo.registries.a.b.address='nacos://h:8848'",
                "15:8 dubbo.provider.services.S.methods[0].name='Get'",
                "16:11 dubbo.provider.services.S.methods[0].retries=1000",
                "19:8 dubbo.provider.services.S.methods[1].name='Set'",
                "22:11 dubbo.provider.filter[0]='audit'",
                "23:3 dubbo.provider.filter[1]='echo'",
                "24:20 dubbo.provider.defaults.a.b=2026-12-01",
            ]
        );
    }

    #[test]
    fn what_is_not_toml_is_refused_with_its_place() {
        let deep = format!("a = {}{}", "[".repeat(70), "]".repeat(70));
        for (text, want) in [
            ("a = 1\na = 2", "t:2:1: not valid TOML: duplicate key"),
            ("a = 1\nb = [1", "t:2:7: not valid TOML: unclosed array"),
            ("dubbo: x", "t:1:6: not valid TOML"),
            (&deep, "t:1:68: nested more than 64 levels deep"),
        ] {
            let found = problems(Toml, text);
            assert!(found.starts_with(want), "{text}: {found}");
        }
    }
}
