//! Who said which rule, and whose counts.

use std::sync::Arc;

use super::{Rule, RuleError};

/// Where rules come from. The newest one counts, before that of the file.
#[derive(Debug, Default)]
pub(super) struct Sources {
    slots: Vec<Slot>,
    said: u64,
}

/// Who says a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    File,
    /// A config center, by its position: several may have one address.
    Center(usize),
    /// The program.
    Call,
}

#[derive(Debug)]
struct Slot {
    place: Place,
    name: Arc<str>,
    /// What it said last, be it a rule or not.
    text: Option<Arc<str>>,
    rule: Option<Arc<Rule>>,
    /// Why what it said last is no rule.
    refused: Option<RuleError>,
    said: u64,
}

/// A rule and who said it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Current {
    pub(super) rule: Option<Arc<Rule>>,
    pub(super) source: Option<Arc<str>>,
}

impl Sources {
    /// Takes in what `place`, called `name`, says now. What is no rule changes nothing; without a text, or with an empty
    /// one, it says nothing any more. A center may repeat itself, and that changes nothing, while each call is meant.
    pub(super) fn take(
        &mut self,
        place: Place,
        name: &str,
        text: Option<&str>,
    ) -> Result<(), RuleError> {
        let index = self.slot(place, name);
        let slot = &mut self.slots[index];
        if slot.text.as_deref() == text && place != Place::Call {
            return Ok(());
        }
        slot.text = text.map(Into::into);
        let rule = Rule::parse(name, text.unwrap_or_default())
            .inspect_err(|error| slot.refused = Some(error.clone()))?;
        slot.refused = None;
        slot.rule = rule.map(Arc::new);
        self.said += 1;
        slot.said = self.said;
        Ok(())
    }

    /// The rule that counts.
    pub(super) fn current(&self) -> Current {
        let spoken = self.slots.iter().filter(|slot| slot.rule.is_some());
        let strongest = spoken.max_by_key(|slot| (slot.place != Place::File, slot.said));
        strongest.map_or_else(Current::default, |slot| Current {
            rule: slot.rule.clone(),
            source: Some(Arc::clone(&slot.name)),
        })
    }

    /// Why what somebody says now is no rule.
    pub(super) fn refused(&self) -> Option<&RuleError> {
        self.slots.iter().find_map(|slot| slot.refused.as_ref())
    }

    fn slot(&mut self, place: Place, name: &str) -> usize {
        let known = self.slots.iter().position(|slot| slot.place == place);
        known.unwrap_or_else(|| {
            self.slots.push(Slot {
                place,
                name: name.into(),
                text: None,
                rule: None,
                refused: None,
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
        use Place::{Call, Center, File};

        let (zk, nacos) = (Center(0), Center(1));

        let mut sources = Sources::default();
        for (place, name, text, want, why) in [
            (zk, "zk", None, "none", "there is nothing at first"),
            (File, "file", Some("proportion: 1"), "file 1", "the file"),
            (zk, "zk", Some("proportion: 2"), "zk 2", "a remote one"),
            (
                File,
                "file",
                Some("proportion: 3"),
                "zk 2",
                "a file is weaker",
            ),
            (
                nacos,
                "nacos",
                None,
                "zk 2",
                "who says nothing is not newer",
            ),
            (nacos, "nacos", Some("proportion: 4"), "nacos 4", "newer"),
            (Call, "admin", Some("proportion: 5"), "admin 5", "newer"),
            (zk, "zk", Some("proportion: 2"), "admin 5", "a duplicate"),
            (zk, "zk", Some("proportion: 6"), "zk 6", "newer"),
            (zk, "zk", Some("proportion: x"), "zk 6", "no rule"),
            (zk, "zk", Some(""), "admin 5", "empty: the other one"),
            (Call, "admin", None, "nacos 4", "taken back"),
            (nacos, "nacos", Some(""), "file 3", "the file again"),
            (File, "file", Some(" "), "none", "nobody says anything"),
        ] {
            let taken = sources.take(place, name, text);
            assert_eq!(taken.is_err(), why == "no rule");
            assert_eq!(sources.refused().is_some(), why == "no rule");
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

    #[test]
    fn a_call_is_meant_each_time_and_a_center_may_repeat_itself() {
        use Place::{Call, Center};

        let mut sources = Sources::default();
        for (place, text, refused, want) in [
            (Call, "proportion: 1", false, 1),
            (Center(0), "proportion: 2", false, 2),
            (Call, "proportion: 1", false, 1),
            (Center(0), "proportion: 2", false, 1),
            (Call, "proportion: x", true, 1),
            (Call, "proportion: x", true, 1),
            (Call, "proportion: 1", false, 1),
        ] {
            let taken = sources.take(place, "somebody", Some(text));
            assert_eq!(taken.is_err(), refused, "{place:?} {text}");
            assert_eq!(sources.refused().is_some(), refused, "{place:?} {text}");
            let rule = sources.current().rule.expect("somebody said one");
            assert_eq!(rule.terms.proportion, Some(want), "{place:?} {text}");
        }
        // What is no rule stays known as such when it is heard again.
        for _ in 0..2 {
            let _ = sources.take(Center(0), "somebody", Some("proportion: x"));
            assert!(sources.refused().is_some());
        }
    }

    #[test]
    fn of_two_centers_with_one_address_neither_speaks_for_the_other() {
        let mut sources = Sources::default();
        for (place, text) in [(0, Some("proportion: 1")), (1, None), (1, Some(""))] {
            let taken = sources.take(Place::Center(place), "nacos://10.0.0.1:8848", text);
            taken.expect("a rule or none");
            let rule = sources.current().rule.expect("the first one has said it");
            assert_eq!(rule.terms.proportion, Some(1));
        }
    }
}
