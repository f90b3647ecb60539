//! `dubbo.labels`: what a program says of its instances that means nothing to the framework.

use std::{collections::BTreeMap, str::FromStr};

use super::keys;
use crate::error::MetadataError;

/// Keys and values that an instance says about itself beside what the framework does, for routers and people.
///
/// Their text is that of `dubbo.labels` in Dubbo Java: `zone=east;rack=r7`. Blanks around keys and values do not count. A
/// value may have a `=` in it, but no `;`: one that has is [inserted](Self::insert).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Adds a label, or replaces the one of that name.
    ///
    /// # Errors
    ///
    /// It has no name or no value, or the framework itself writes under that name.
    pub fn insert(&mut self, label: &str, value: &str) -> Result<(), MetadataError> {
        let reason = match label {
            "" => "has no name; write `name=value`",
            keys::TIMESTAMP => "is written by the framework; give it another name",
            own if keys::OWN.contains(&own) => "is written by the framework; give it another name",
            _ if value.is_empty() => "has no value; write one, or leave the label out",
            _ => {
                self.0.insert(label.to_owned(), value.to_owned());
                return Ok(());
            }
        };
        Err(error(label, reason))
    }

    /// Labels and values, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(label, value)| (label.as_str(), value.as_str()))
    }
}

impl FromStr for Labels {
    type Err = MetadataError;

    fn from_str(text: &str) -> Result<Self, MetadataError> {
        let mut labels = Self::default();
        let pairs = text.split(';').map(str::trim);
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let Some((label, value)) = pair.split_once('=') else {
                let reason = "has no `=`; write `name=value`, and a value with `;` in it in a map";
                return Err(error(pair, reason));
            };
            let (label, value) = (label.trim(), value.trim());
            if labels.0.contains_key(label) {
                return Err(error(label, "is there twice"));
            }
            labels.insert(label, value)?;
        }
        Ok(labels)
    }
}

fn error(label: &str, reason: &'static str) -> MetadataError {
    MetadataError::Label {
        label: label.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_java_reads_them_and_more() {
        for (text, want) in [
            ("", ""),
            (" ; ", ""),
            ("zone=east", "zone=east"),
            (" zone = east ;rack=r7; ", "rack=r7 zone=east"),
            ("expression=a=b", "expression=a=b"),
            (
                "dubbo.tag=gray;environment=prod",
                "dubbo.tag=gray environment=prod",
            ),
        ] {
            let labels: Labels = text.parse().expect(text);
            let pairs: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            assert_eq!(pairs.join(" "), want, "{text}");
        }
    }

    #[test]
    fn what_is_no_label_is_refused() {
        for (text, want) in [
            (
                "zone",
                "the label `zone` has no `=`; write `name=value`, and a value with `;` in it in a map",
            ),
            ("=east", "the label `` has no name; write `name=value`"),
            (
                "zone=",
                "the label `zone` has no value; write one, or leave the label out",
            ),
            ("a=1;a=2", "the label `a` is there twice"),
            (
                "a=1;dubbo.endpoints=[]",
                "the label `dubbo.endpoints` is written by the framework; give it another name",
            ),
            (
                "timestamp=1",
                "the label `timestamp` is written by the framework; give it another name",
            ),
        ] {
            let error = text.parse::<Labels>().expect_err(text);
            assert_eq!(error.to_string(), want);
        }
        let mut labels = Labels::default();
        labels.insert("note", "a;b").expect("not in a text");
        assert_eq!(labels.iter().collect::<Vec<_>>(), [("note", "a;b")]);
    }
}
