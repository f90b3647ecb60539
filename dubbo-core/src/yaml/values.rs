use std::{fmt, ops::RangeInclusive, time::Duration};

use super::{Section, Value};
use crate::units;

/// The values of a section, by type.
impl Section<'_, '_> {
    /// A text, exactly as it was written.
    pub fn string(&mut self, key: &'static str) -> Option<String> {
        self.parse(key, "a text", |text| Some(text.to_owned()))
    }

    /// `true` or `false` in any case, or `1` or `0`.
    pub fn bool(&mut self, key: &'static str) -> Option<bool> {
        self.parse(key, "`true` or `false`", |text| {
            match text.to_ascii_lowercase().as_str() {
                "1" | "true" => Some(true),
                "0" | "false" => Some(false),
                _ => None,
            }
        })
    }

    /// A whole number within `range`.
    pub fn integer<T>(&mut self, key: &'static str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i64> + PartialOrd + fmt::Display,
    {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.parse(key, &expected, |text| {
            let number = T::try_from(text.parse::<i64>().ok()?).ok()?;
            range.contains(&number).then_some(number)
        })
    }

    /// A duration in Go's syntax (`1h2m3.5s`, `500ms`, `µs`), or a whole number of milliseconds. Never negative.
    pub fn duration(&mut self, key: &'static str) -> Option<Duration> {
        let expected = "a duration such as `3s` or `500ms`, or a number of milliseconds";
        self.parse(key, expected, |text| units::parse_duration(text).ok())
    }

    /// Like [`duration`](Self::duration), for the few keys whose bare numbers count seconds.
    pub fn duration_in_seconds(&mut self, key: &'static str) -> Option<Duration> {
        let expected = "a duration such as `10m`, or a number of seconds";
        self.parse(key, expected, |text| match text.parse() {
            Ok(seconds) => Some(Duration::from_secs(seconds)).filter(|it| *it <= units::LONGEST),
            Err(_) => units::parse_duration(text).ok(),
        })
    }

    /// A number of bytes: plain, or with `kb`, `mb`, `gb` (thousands) or `kib`, `mib`, `gib` (1024).
    pub fn size(&mut self, key: &'static str) -> Option<u64> {
        let expected = "a size such as `4mib`, `4mb` or a number of bytes";
        self.parse(key, expected, |text| units::parse_size(text).ok())
    }

    /// One of the named choices, in any case.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let names: Vec<_> = choices
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        self.parse(key, &names.join(" or "), |text| {
            let chosen = choices
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(text));
            chosen.map(|(_, value)| *value)
        })
    }

    /// A list of texts, or one text with commas between them. Blanks around an item and empty items are dropped.
    pub fn list(&mut self, key: &'static str) -> Option<Vec<String>> {
        self.list_by(key, ',')
    }

    /// Like [`list`](Self::list), with another character than the comma between the items.
    pub fn list_by(&mut self, key: &'static str, separator: char) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let items = match &node.value {
            Value::Seq(items) => items.as_slice(),
            Value::Map(_) | Value::Scalar(_) => std::slice::from_ref(&*node),
        };
        let mut list = Vec::new();
        for item in items {
            let Some(text) = item.as_text() else {
                self.mismatch(key, "a text or a list of texts", item);
                continue;
            };
            let parts = text.split(separator).map(str::trim);
            list.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
        }
        Some(list)
    }

    /// Whatever `parse` makes of the text; `expected` says in the message what it takes.
    pub fn parse<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let node = self.node(key)?;
        let parsed = node.as_text().and_then(parse);
        if parsed.is_none() {
            self.mismatch(key, expected, &node);
        }
        parsed
    }
}
