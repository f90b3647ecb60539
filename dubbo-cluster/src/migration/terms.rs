//! What is said about a migration, in one place or all in all.

use std::{borrow::Cow, str::FromStr, time::Duration};

use dubbo_core::{units::LONGEST, url::Url, yaml::Section};

use super::{MigrationStep, Path};

/// What one place says: a rule, an entry of one, a reference, the configuration. What it does not say, another does.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Terms {
    /// The step.
    pub step: Option<MigrationStep>,
    /// How many addresses the new path must have for each one of the old path, such as 0.8. Any number when 0.
    pub threshold: Option<f64>,
    /// How many calls in a hundred may go by the path that the step prefers.
    pub proportion: Option<u8>,
    /// How long a forced step waits before it looks whether it can be taken.
    pub delay: Option<Duration>,
    /// Whether a forced step is taken without comparing.
    pub force: Option<bool>,
}

impl Terms {
    /// What a reference says in the parameters of its URL: `migration.step`, `migration.threshold`,
    /// `migration.promotion` (so Java spells it), `migration.delay` in seconds, `migration.force`.
    ///
    /// # Errors
    ///
    /// A value that is none, with the parameter's name.
    pub fn of_consumer(consumer: &Url) -> Result<Self, TermsError> {
        Ok(Self {
            step: param(consumer, "migration.step", STEP, step)?,
            threshold: param(consumer, "migration.threshold", THRESHOLD, number)?
                .filter(|it| *it >= 0.0),
            proportion: param(consumer, "migration.promotion", PROPORTION, percent)?,
            delay: param(consumer, "migration.delay", "a number of seconds", |text| {
                let delay = text.parse().ok().map(Duration::from_secs)?;
                (delay <= LONGEST).then_some(delay)
            })?,
            force: param(consumer, "migration.force", "`true` or `false`", |text| {
                text.to_ascii_lowercase().parse().ok()
            })?,
        })
    }

    /// Reads them as rules have them.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            step: s.choice("step", &MigrationStep::NAMES),
            // Java's word for none is -1.
            threshold: s
                .parse("threshold", THRESHOLD, number)
                .filter(|it| *it >= 0.0),
            proportion: s.parse("proportion", PROPORTION, percent),
            delay: s.duration_in_seconds("delay"),
            force: s.bool("force"),
        }
    }
}

/// A parameter of a reference that says nothing about a migration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is `{value}`, and it takes {expected}")]
#[non_exhaustive]
pub struct TermsError {
    /// The parameter.
    pub key: &'static str,
    /// What it is.
    pub value: String,
    /// What it takes.
    pub expected: &'static str,
}

/// What all places together say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Agreed {
    pub(super) step: MigrationStep,
    pub(super) threshold: f64,
    pub(super) proportion: u8,
    pub(super) delay: Duration,
    pub(super) force: bool,
    /// Who named the step.
    pub(super) said_by: Cow<'static, str>,
}

impl Agreed {
    /// The first of `layers` that says something about a field counts for it.
    pub(super) fn of(layers: &[(Cow<'static, str>, &Terms)]) -> Self {
        fn first<T: Copy>(
            layers: &[(Cow<'static, str>, &Terms)],
            field: impl Fn(&Terms) -> Option<T>,
        ) -> Option<T> {
            layers.iter().find_map(|(_, terms)| field(terms))
        }
        let (said_by, step) = layers
            .iter()
            .find_map(|(name, terms)| Some((name.clone(), terms.step?)))
            .unwrap_or((
                Cow::Borrowed("the default"),
                MigrationStep::ApplicationFirst,
            ));
        Self {
            step,
            threshold: first(layers, |terms| terms.threshold).unwrap_or(0.0),
            proportion: first(layers, |terms| terms.proportion).unwrap_or(100),
            delay: first(layers, |terms| terms.delay).unwrap_or_default(),
            force: first(layers, |terms| terms.force).unwrap_or(false),
            said_by,
        }
    }

    pub(super) fn favoured(&self) -> Path {
        self.step.favoured()
    }

    /// Whether nothing moves between the two: Java compares these fields before it migrates.
    pub(super) fn is_same_step(&self, other: &Self) -> bool {
        self.step == other.step && self.threshold.to_bits() == other.threshold.to_bits()
    }
}

fn param<T>(
    url: &Url,
    key: &'static str,
    expected: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, TermsError> {
    let Some(text) = url
        .param(key)
        .map(str::trim)
        .filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    let value = read(text).ok_or_else(|| TermsError {
        key,
        value: text.to_owned(),
        expected,
    })?;
    Ok(Some(value))
}

fn step(text: &str) -> Option<MigrationStep> {
    MigrationStep::from_str(text).ok()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn percent(text: &str) -> Option<u8> {
    text.parse().ok().filter(|percent| *percent <= 100)
}

const STEP: &str = "FORCE_INTERFACE, INTERFACE_FIRST, APPLICATION_FIRST or FORCE_APPLICATION";
const THRESHOLD: &str = "a number such as 0.8";
const PROPORTION: &str = "a whole number from 0 to 100";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Terms, String> {
        let url: Url = format!("consumer://h/a.B?{query}").parse().expect("a URL");
        Terms::of_consumer(&url).map_err(|error| error.to_string())
    }

    #[test]
    fn a_reference_says_it_in_its_parameters() {
        let terms = of(
            "migration.step=force_application&migration.threshold=0.5&migration.promotion=30\
             &migration.delay=5&migration.force=TRUE",
        );
        assert_eq!(
            terms,
            Ok(Terms {
                step: Some(MigrationStep::ForceApplication),
                threshold: Some(0.5),
                proportion: Some(30),
                delay: Some(Duration::from_secs(5)),
                force: Some(true),
            })
        );
        assert_eq!(
            of("migration.threshold=-1&migration.step="),
            Ok(Terms::default())
        );
        for (query, want) in [
            (
                "migration.step=SOON",
                "`migration.step` is `SOON`, and it takes FORCE_INTERFACE, INTERFACE_FIRST, APPLICATION_FIRST or \
                 FORCE_APPLICATION",
            ),
            (
                "migration.threshold=NaN",
                "`migration.threshold` is `NaN`, and it takes a number such as 0.8",
            ),
            (
                "migration.promotion=101",
                "`migration.promotion` is `101`, and it takes a whole number from 0 to 100",
            ),
            (
                "migration.delay=5s",
                "`migration.delay` is `5s`, and it takes a number of seconds",
            ),
            (
                "migration.delay=18446744073709551615",
                "`migration.delay` is `18446744073709551615`, and it takes a number of seconds",
            ),
            (
                "migration.force=yes",
                "`migration.force` is `yes`, and it takes `true` or `false`",
            ),
        ] {
            assert_eq!(of(query), Err(want.to_owned()));
        }
    }

    #[test]
    fn each_field_comes_from_the_first_place_that_says_it() {
        let strong = Terms {
            threshold: Some(0.3),
            ..Terms::default()
        };
        let weak = Terms {
            step: Some(MigrationStep::ForceInterface),
            threshold: Some(0.9),
            proportion: Some(7),
            ..Terms::default()
        };
        let agreed = Agreed::of(&[("strong".into(), &strong), ("weak".into(), &weak)]);
        assert_eq!(agreed.step, MigrationStep::ForceInterface);
        assert_eq!(agreed.said_by, "weak");
        assert!((agreed.threshold - 0.3).abs() < f64::EPSILON);
        assert_eq!(
            (agreed.proportion, agreed.delay, agreed.force),
            (7, Duration::ZERO, false)
        );
        let none = Agreed::of(&[]);
        assert_eq!(none.step, MigrationStep::ApplicationFirst);
        assert_eq!(
            (none.said_by.as_ref(), none.proportion),
            ("the default", 100)
        );
    }
}
