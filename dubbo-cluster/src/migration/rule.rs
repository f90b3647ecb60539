//! Rules: what Dubbo Java keeps in a config center for a consumer application.

use std::{borrow::Cow, fmt};

use dubbo_core::{
    service::ServiceKey,
    yaml::{Problem, ProblemKind, Section},
};

use super::{Terms, terms::Agreed};
use crate::rules::{self, listed};

/// A migration rule: Java's YAML, unchanged (`docs/spec/metadata.md` §7.5).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// `key`: the consumer application, for readers of the rule.
    pub key: Option<String>,
    /// What applies to every service that no entry says more about.
    pub terms: Terms,
    /// `interfaces`: what is different for single services, `interface:version`. With a group before it, `group/…`, for
    /// that group alone.
    pub interfaces: Vec<Entry>,
    /// `applications`: what is different for the services of single provider applications.
    pub applications: Vec<Entry>,
}

/// What a rule says about one service or one provider application.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// `serviceKey`: which.
    pub service_key: String,
    /// What is different for it.
    pub terms: Terms,
}

impl Rule {
    /// Reads a rule; `name` stands for its place in messages. `None` is an empty text, which says that there is no rule.
    ///
    /// Keys that are not known are left alone, with a warning in the log. Of two entries for the same the last counts.
    ///
    /// # Errors
    ///
    /// All that is wrong with it, each with its line.
    pub fn parse(name: &str, text: &str) -> Result<Option<Self>, RuleError> {
        let read = rules::read_document(name, text, Self::read);
        let (rule, says_something) = read.map_err(|problems| RuleError { problems })?;
        Ok(says_something.then_some(rule))
    }

    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            key: s.string("key"),
            terms: Terms::read(s),
            interfaces: s.items("interfaces", Entry::read),
            applications: s.items("applications", Entry::read),
        }
    }

    /// Whether it says anything about single applications.
    pub(super) fn asks_for_applications(&self) -> bool {
        !self.applications.is_empty()
    }

    /// What it says about `service`, which `applications` provide; the strongest first.
    fn layers(
        &self,
        service: &ServiceKey,
        applications: &[String],
    ) -> Vec<(Cow<'static, str>, &Terms)> {
        let shown = ServiceKey::new(service.interface())
            .with_version(service.version().unwrap_or_default())
            .to_string();
        let mut keys = vec![service.to_string()];
        if !keys.contains(&shown) {
            keys.push(shown);
        }
        let interfaces = keys.iter().filter_map(|key| entry(&self.interfaces, key));
        let interfaces = interfaces.map(|entry| ("interface", entry));
        let applications = applications
            .iter()
            .filter_map(|name| entry(&self.applications, name));
        let applications = applications.map(|entry| ("application", entry));
        let entries = interfaces.chain(applications).map(|(kind, entry)| {
            let key = &entry.service_key;
            (
                format!("the rule's entry for the {kind} {key}").into(),
                &entry.terms,
            )
        });
        entries.chain([("the rule".into(), &self.terms)]).collect()
    }
}

impl Entry {
    fn read(s: &mut Section<'_, '_>) -> Self {
        let service_key = s.string("serviceKey").unwrap_or_default();
        if service_key.is_empty() {
            let message = "an entry needs the service or the application that it is for";
            s.error("serviceKey", ProblemKind::Missing, message);
        }
        Self {
            service_key,
            terms: Terms::read(s),
        }
    }
}

/// A text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleError {
    /// All that is wrong with it.
    pub problems: Vec<Problem>,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the migration rule cannot be read: {}",
            listed(&self.problems)
        )
    }
}

impl std::error::Error for RuleError {}

/// What holds for `service`: the rule's word before that of the reference, and that before the configuration's.
pub(super) fn agree(
    rule: Option<&Rule>,
    service: &ServiceKey,
    applications: &[String],
    reference: &Terms,
    configured: &Terms,
) -> Agreed {
    let mut layers = rule.map_or_else(Vec::new, |rule| rule.layers(service, applications));
    layers.push(("the reference".into(), reference));
    layers.push(("the configuration".into(), configured));
    Agreed::of(&layers)
}

fn entry<'e>(entries: &'e [Entry], key: &str) -> Option<&'e Entry> {
    entries.iter().rfind(|entry| entry.service_key == key)
}

#[cfg(test)]
mod tests {
    use super::{super::MigrationStep, *};

    const RULE: &str = "
key: demo-consumer
step: APPLICATION_FIRST
threshold: 0.8
proportion: 60
delay: 10
force: false
comment: not Java's
interfaces:
  - {serviceKey: com.foo.Bar, step: FORCE_INTERFACE}
  - {serviceKey: 'com.foo.Greet:1.0.0', threshold: 0.5, proportion: 30}
  - {serviceKey: 'g/com.foo.Greet:1.0.0', proportion: 5}
applications:
  - {serviceKey: legacy, step: Interface, threshold: 0.1}
";

    #[test]
    fn metadata_a25_entries_come_before_the_rule_and_that_before_all_else() {
        let rule = Rule::parse("rule", RULE)
            .expect("valid")
            .expect("not empty");
        assert_eq!(rule.key.as_deref(), Some("demo-consumer"));
        let reference = Terms {
            step: Some(MigrationStep::InterfaceFirst),
            ..Terms::default()
        };
        let configured = Terms {
            step: Some(MigrationStep::ForceInterface),
            threshold: Some(0.2),
            ..Terms::default()
        };
        let legacy = ["other".to_owned(), "legacy".to_owned()];
        for (rule, service, applications, want) in [
            (
                Some(&rule),
                "a.B",
                &[][..],
                "APPLICATION_FIRST 0.8 60 the rule",
            ),
            (
                Some(&rule),
                "com.foo.Bar",
                &[],
                "FORCE_INTERFACE 0.8 60 the rule's entry for the interface com.foo.Bar",
            ),
            (
                Some(&rule),
                "com.foo.Bar:1",
                &[],
                "APPLICATION_FIRST 0.8 60 the rule",
            ),
            (
                Some(&rule),
                "com.foo.Greet:1.0.0",
                &[],
                "APPLICATION_FIRST 0.5 30 the rule",
            ),
            (
                Some(&rule),
                "g/com.foo.Greet:1.0.0",
                &[],
                "APPLICATION_FIRST 0.5 5 the rule",
            ),
            (
                Some(&rule),
                "h/com.foo.Greet:1.0.0",
                &legacy,
                "FORCE_INTERFACE 0.5 30 the rule's entry for the application legacy",
            ),
            (
                None,
                "a.B",
                &legacy,
                "INTERFACE_FIRST 0.2 100 the reference",
            ),
        ] {
            let key: ServiceKey = service.parse().expect(service);
            let agreed = agree(rule, &key, applications, &reference, &configured);
            let got = format!(
                "{} {} {} {}",
                agreed.step, agreed.threshold, agreed.proportion, agreed.said_by
            );
            assert_eq!(got, want, "{service}");
        }
        let agreed = agree(
            None,
            &ServiceKey::new("a.B"),
            &[],
            &Terms::default(),
            &configured,
        );
        assert_eq!(agreed.said_by, "the configuration");
    }

    #[test]
    fn a_text_without_content_is_no_rule() {
        for text in ["", " \n", "# later\n", "---\n", "~"] {
            assert_eq!(Rule::parse("rule", text), Ok(None), "{text:?}");
        }
        assert!(matches!(Rule::parse("rule", "{}"), Ok(Some(_))));
    }

    #[test]
    fn metadata_a25_all_mistakes_of_a_rule_are_told_with_their_lines() {
        for (text, want) in [
            ("step: [", "rule:2:1: "),
            (
                "step: NOW",
                "rule:1:7: step: expected `APPLICATION_FIRST` or",
            ),
            ("just text", "rule:1:1: expected a map, found a text"),
            (
                "threshold: much",
                "rule:1:12: threshold: expected a number such as 0.8",
            ),
            (
                "proportion: 101",
                "rule:1:13: proportion: expected a whole number",
            ),
            ("delay: -1", "rule:1:8: delay: expected"),
            ("interfaces: x", "rule:1:13: interfaces: expected a list"),
            (
                "applications:\n- {step: INTERFACE}",
                "rule:2:3: applications[0].serviceKey: an entry needs",
            ),
            ("step: NOW\nforce: maybe", "; rule:2:8: force: expected"),
        ] {
            let error = Rule::parse("rule", text).expect_err(text).to_string();
            assert!(error.contains(want), "{want} in {error}");
        }
    }

    #[test]
    fn of_thousands_of_mistakes_the_first_are_told_and_all_are_known() {
        let text = format!("interfaces: [{}]", "{},".repeat(20_000));
        let error = Rule::parse("rule", &text).expect_err("entries for nothing");
        assert_eq!(error.problems.len(), 20_000);
        let shown = error.to_string();
        assert!(shown.contains("interfaces[9].serviceKey: "), "{shown}");
        assert!(shown.ends_with("; and 19990 more"), "{shown}");

        let (logs, _guard) = dubbo_test::logs::Logs::record();
        let text = format!(
            "{}: 1\n",
            (0..500)
                .map(|n| format!("key{n}"))
                .collect::<Vec<_>>()
                .join(": 1\n")
        );
        assert!(Rule::parse("rule", &text).is_ok());
        let lines = logs.with("is read, but");
        assert_eq!(lines.len(), 1);
        assert!(lines[0].ends_with("and 490 more"), "{}", lines[0]);
    }
}
