//! What the rules of all routers have in common as documents.

use dubbo_core::yaml::{Location, Node, Problem, ProblemKind, Section, Value};

use crate::rules::{RuleError, read};

/// What every rule may say about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Whether it counts at all: `enabled` and `valid`, both by default true.
    pub(super) enabled: bool,
    /// Whether nobody is better than somebody whom it does not want; by default false.
    pub(super) force: bool,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            enabled: true,
            force: false,
        }
    }
}

impl Head {
    /// Reads what is in every rule. `scope`, `key`, `runtime`, `priority` and `configVersion` are for those who read and
    /// write rules: where a rule is kept says whom it is for, and its shape what it is.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        for key in [
            "configVersion",
            "scope",
            "key",
            "apiVersion",
            "name",
            "desc",
        ] {
            s.string(key);
        }
        s.parse("priority", "a whole number", |text| {
            text.parse::<i64>().ok()
        });
        s.bool("runtime");
        let enabled = s.bool("enabled").unwrap_or(true);
        let valid = s.bool("valid").unwrap_or(true);
        Self {
            enabled: enabled && valid,
            force: s.bool("force").unwrap_or(false),
        }
    }
}

/// Reads the rule under `key` as [`read`] does; what `take` finds wrong by itself is told with the rest.
pub(super) fn rule<R>(
    key: &str,
    text: &str,
    take: impl FnOnce(&mut Section<'_, '_>, &mut Mistakes) -> R,
) -> Result<R, RuleError> {
    let mut mistakes = Mistakes::default();
    match read(key, text, |s| take(s, &mut mistakes)) {
        Ok(rule) => mistakes.or(rule),
        Err(error) => {
            mistakes.0.extend(error.problems);
            Err(mistakes.into_error())
        }
    }
}

/// What is wrong at places for which a section has no key.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Problem>);

impl Mistakes {
    pub(super) fn note(
        &mut self,
        at: &Location,
        path: impl Into<String>,
        message: impl Into<String>,
    ) {
        let problem = Problem::new(ProblemKind::Type, at.clone(), path, message);
        self.0.push(problem);
    }

    /// Notes them with what else is wrong in the document of `s`.
    pub(super) fn tell(self, s: &mut Section<'_, '_>) {
        self.0.into_iter().for_each(|problem| s.note(problem));
    }

    /// `rule`, unless something is wrong.
    pub(super) fn or<R>(self, rule: R) -> Result<R, RuleError> {
        if self.0.is_empty() {
            return Ok(rule);
        }
        Err(self.into_error())
    }

    fn into_error(mut self) -> RuleError {
        self.0.sort_by(|a, b| a.at.cmp(&b.at));
        RuleError::of(self.0)
    }
}

/// Makes something of each text in the list below `key`, unless that is missing.
pub(super) fn each<T>(
    s: &mut Section<'_, '_>,
    mistakes: &mut Mistakes,
    key: &'static str,
    mut make: impl FnMut(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let node = s.node(key)?;
    let items = match &node.value {
        Value::Seq(items) => items.as_slice(),
        Value::Map(_) | Value::Scalar(_) => std::slice::from_ref::<Node>(&node),
    };
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let path = s.path().join(key).join(format!("[{index}]"));
        let result = match item.as_text() {
            Some(text) => make(text),
            None => Err(format!("expected a text, found {}", item.kind())),
        };
        match result {
            Ok(value) => list.push(value),
            Err(message) => mistakes.note(&item.at, path.to_string(), message),
        }
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_in_a_rule_has_the_defaults_of_java() {
        for (text, enabled, force) in [
            ("", true, false),
            (
                "configVersion: v3.0\nscope: service\nkey: a.B\nruntime: true\npriority: 1",
                true,
                false,
            ),
            ("enabled: false", false, false),
            ("valid: false\nforce: true", false, true),
            ("enabled: true\nforce: TRUE", true, true),
        ] {
            let head = read("rule", text, Head::read).expect(text);
            assert_eq!(head, Head { enabled, force }, "{text}");
        }
    }

    #[test]
    fn all_mistakes_are_told_in_their_order() {
        let text = "conditions: [ok, bad, [x], worse]\nforce: perhaps\npriority: high\n";
        let error = rule("k", text, |s, mistakes| {
            Head::read(s);
            each(s, mistakes, "conditions", |text| match text {
                "ok" => Ok(()),
                text => Err(format!("`{text}` is bad")),
            })
        });
        assert_eq!(
            error.expect_err("is bad").to_string(),
            "k:1:18: conditions[1]: `bad` is bad; k:1:23: conditions[2]: expected a text, found a list; \
             k:1:28: conditions[3]: `worse` is bad; k:2:8: force: expected `true` or `false`, found `perhaps`; \
             k:3:11: priority: expected a whole number, found `high`"
        );
    }
}
