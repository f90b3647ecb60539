//! Who said which rule, and whose counts.

use std::sync::Arc;

/// What several places say under one key, and which of it counts: the newest of the strongest.
#[derive(Debug)]
pub(crate) struct Sources<R, E> {
    slots: Vec<Slot<R, E>>,
    said: u64,
    strength: fn(Place) -> u8,
}

/// Who says a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// What the program began with.
    Configuration,
    File,
    /// A config center, by its position: several may have one address.
    Center(usize),
    /// The program.
    Call,
}

#[derive(Debug)]
struct Slot<R, E> {
    place: Place,
    name: Arc<str>,
    /// What it said last, be it a rule or not.
    text: Option<Arc<str>>,
    rule: Option<Arc<R>>,
    /// Why what it said last is no rule.
    refused: Option<E>,
    said: u64,
}

/// A rule and who said it.
#[derive(Debug)]
pub(crate) struct Current<R> {
    pub(crate) rule: Option<Arc<R>>,
    pub(crate) source: Option<Arc<str>>,
}

impl<R, E: Clone> Sources<R, E> {
    /// Nobody has said anything. Of those who do, whoever has the greatest `strength` counts.
    pub(crate) fn new(strength: fn(Place) -> u8) -> Self {
        Self {
            slots: Vec::new(),
            said: 0,
            strength,
        }
    }

    /// Takes in what `place`, called `name`, says now. What `parse` refuses changes nothing; without a text, or with one
    /// that it finds nothing in, the place says nothing any more. A center may repeat itself, and that changes nothing,
    /// while each call is meant.
    pub(crate) fn take(
        &mut self,
        place: Place,
        name: &str,
        text: Option<&str>,
        parse: impl FnOnce(&str) -> Result<Option<R>, E>,
    ) -> Result<(), E> {
        let index = self.slot(place, name);
        let slot = &mut self.slots[index];
        if slot.text.as_deref() == text && place != Place::Call {
            return Ok(());
        }
        slot.text = text.map(Into::into);
        let rule = parse(text.unwrap_or_default())
            .inspect_err(|error| slot.refused = Some(error.clone()))?;
        slot.refused = None;
        slot.rule = rule.map(Arc::new);
        self.said += 1;
        slot.said = self.said;
        Ok(())
    }

    /// The rule that counts.
    pub(crate) fn current(&self) -> Current<R> {
        let spoken = self.slots.iter().filter(|slot| slot.rule.is_some());
        let strongest = spoken.max_by_key(|slot| ((self.strength)(slot.place), slot.said));
        strongest.map_or_else(Current::default, |slot| Current {
            rule: slot.rule.clone(),
            source: Some(Arc::clone(&slot.name)),
        })
    }

    /// Why what somebody says now is no rule.
    pub(crate) fn refused(&self) -> Option<&E> {
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

impl<R> Default for Current<R> {
    fn default() -> Self {
        Self {
            rule: None,
            source: None,
        }
    }
}

impl<R> Clone for Current<R> {
    fn clone(&self) -> Self {
        Self {
            rule: self.rule.clone(),
            source: self.source.clone(),
        }
    }
}

impl<R: PartialEq> PartialEq for Current<R> {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.source == other.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migration::{Rule, RuleError};

    /// Migration's: the newest counts before the file.
    fn sources() -> Sources<Rule, RuleError> {
        Sources::new(|place| u8::from(place != Place::File))
    }

    fn parse(text: &str) -> Result<Option<Rule>, RuleError> {
        Rule::parse("rule", text)
    }

    #[test]
    fn metadata_a25_the_newest_counts_of_the_strongest_that_say_something() {
        use Place::{Call, Center, File};

        let (zk, nacos) = (Center(0), Center(1));

        let mut sources = sources();
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
            let taken = sources.take(place, name, text, parse);
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

        let mut sources = sources();
        for (place, text, refused, want) in [
            (Call, "proportion: 1", false, 1),
            (Center(0), "proportion: 2", false, 2),
            (Call, "proportion: 1", false, 1),
            (Center(0), "proportion: 2", false, 1),
            (Call, "proportion: x", true, 1),
            (Call, "proportion: x", true, 1),
            (Call, "proportion: 1", false, 1),
        ] {
            let taken = sources.take(place, "somebody", Some(text), parse);
            assert_eq!(taken.is_err(), refused, "{place:?} {text}");
            assert_eq!(sources.refused().is_some(), refused, "{place:?} {text}");
            let rule = sources.current().rule.expect("somebody said one");
            assert_eq!(rule.terms.proportion, Some(want), "{place:?} {text}");
        }
        // What is no rule stays known as such when it is heard again.
        for _ in 0..2 {
            let _ = sources.take(Center(0), "somebody", Some("proportion: x"), parse);
            assert!(sources.refused().is_some());
        }
    }

    #[test]
    fn of_two_centers_with_one_address_neither_speaks_for_the_other() {
        let mut sources = sources();
        for (place, text) in [(0, Some("proportion: 1")), (1, None), (1, Some(""))] {
            let taken = sources.take(Place::Center(place), "nacos://10.0.0.1:8848", text, parse);
            taken.expect("a rule or none");
            let rule = sources.current().rule.expect("the first one has said it");
            assert_eq!(rule.terms.proportion, Some(1));
        }
    }
}
