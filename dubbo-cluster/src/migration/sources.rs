//! Who said which rule, and whose counts.

use std::sync::Arc;

use super::{Rule, RuleError};

/// Where rules come from. The newest one counts of those of the strongest kind.
#[derive(Debug, Default)]
pub(super) struct Sources {
    slots: Vec<Slot>,
    said: u64,
}

/// Who is stronger comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    File,
    /// A config center, or a call of the program.
    Remote,
}

#[derive(Debug)]
struct Slot {
    name: Arc<str>,
    kind: Kind,
    /// What it said last, be it a rule or not.
    text: Option<Arc<str>>,
    rule: Option<Arc<Rule>>,
    said: u64,
}

/// A rule and who said it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Current {
    pub(super) rule: Option<Arc<Rule>>,
    pub(super) source: Option<Arc<str>>,
}

impl Sources {
    /// Takes in what `name` says now. The same once more changes nothing, and neither does what is no rule; without a
    /// text, or with an empty one, it says nothing any more.
    pub(super) fn take(
        &mut self,
        name: &str,
        kind: Kind,
        text: Option<&str>,
    ) -> Result<(), RuleError> {
        let index = self.slot(name, kind);
        let slot = &mut self.slots[index];
        if slot.text.as_deref() == text {
            return Ok(());
        }
        slot.text = text.map(Into::into);
        let rule = Rule::parse(name, text.unwrap_or_default())?;
        slot.rule = rule.map(Arc::new);
        self.said += 1;
        slot.said = self.said;
        Ok(())
    }

    /// The rule that counts.
    pub(super) fn current(&self) -> Current {
        let spoken = self.slots.iter().filter(|slot| slot.rule.is_some());
        let strongest = spoken.max_by_key(|slot| (slot.kind, slot.said));
        strongest.map_or_else(Current::default, |slot| Current {
            rule: slot.rule.clone(),
            source: Some(Arc::clone(&slot.name)),
        })
    }

    fn slot(&mut self, name: &str, kind: Kind) -> usize {
        let known = self.slots.iter().position(|slot| &*slot.name == name);
        known.unwrap_or_else(|| {
            self.slots.push(Slot {
                name: name.into(),
                kind,
                text: None,
                rule: None,
                said: 0,
            });
            self.slots.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_a25_the_newest_counts_of_the_strongest_that_say_something() {
        use Kind::{File, Remote};

        let mut sources = Sources::default();
        for (name, kind, text, want, why) in [
            ("zk", Remote, None, "none", "there is nothing at first"),
            ("file", File, Some("proportion: 1"), "file 1", "the file"),
            ("zk", Remote, Some("proportion: 2"), "zk 2", "a remote one"),
            (
                "file",
                File,
                Some("proportion: 3"),
                "zk 2",
                "a file is weaker",
            ),
            (
                "nacos",
                Remote,
                None,
                "zk 2",
                "who says nothing is not newer",
            ),
            ("nacos", Remote, Some("proportion: 4"), "nacos 4", "newer"),
            ("admin", Remote, Some("proportion: 5"), "admin 5", "newer"),
            (
                "zk",
                Remote,
                Some("proportion: 2"),
                "admin 5",
                "a duplicate",
            ),
            ("zk", Remote, Some("proportion: 6"), "zk 6", "newer"),
            ("zk", Remote, Some("proportion: x"), "zk 6", "no rule"),
            ("zk", Remote, Some(""), "admin 5", "empty: the other one"),
            ("admin", Remote, None, "nacos 4", "taken back"),
            ("nacos", Remote, Some(""), "file 3", "the file again"),
            ("file", File, Some(" "), "none", "nobody says anything"),
        ] {
            let taken = sources.take(name, kind, text);
            assert_eq!(taken.is_err(), why == "no rule");
            let current = sources.current();
            let got = match (current.rule, current.source) {
                (Some(rule), Some(source)) => {
                    format!("{source} {}", rule.terms.proportion.expect("set"))
                }
                _ => "none".to_owned(),
            };
            assert_eq!(got, want, "{why}");
        }
    }
}
