//! Rules that a program begins with: the entries of `dubbo.router`.

use dubbo_core::{
    service::ServiceKey,
    yaml::{Node, ProblemKind, Section, Value},
};
use serde_json::{Map, json};

use super::{
    affinity, condition,
    document::{Head, Mistakes},
    mesh, script, tag,
};
use crate::rules::{
    RuleError,
    key::{self, Subject},
};

/// A rule that counts as long as nobody else says one under its key: what an entry of `dubbo.router` says in YAML
/// (`docs/spec/config.md` §1.17).
///
/// ```
/// use dubbo_cluster::router::ConfiguredRule;
///
/// let rule = ConfiguredRule::new("users.tag-router", "tags: [{name: gray, addresses: ['10.0.0.1']}]");
/// assert!(rule.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfiguredRule {
    /// What the rule is kept under, such as `users.tag-router` ([`rules::key`](crate::rules::key) makes them).
    pub key: String,
    /// The rule, in YAML.
    pub text: String,
}

impl ConfiguredRule {
    /// The rule `text` under `key`.
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            text: text.into(),
        }
    }

    /// Reads one entry, as dubbo-go has it: whom it is for, and conditions, tags or a script; it may have several of them.
    /// What is wrong with it is noted at its place, and such a rule is left out.
    pub fn read(s: &mut Section<'_, '_>) -> Vec<Self> {
        let scopes = [
            ("application", Scope::Application),
            ("service", Scope::Service),
        ];
        let scope = s.choice("scope", &scopes);
        if scope.is_none() && s.node("scope").is_none() {
            s.error(
                "scope",
                ProblemKind::Missing,
                "required: `application` or `service`",
            );
        }
        let subject = s.string("key").unwrap_or_default();
        if subject.is_empty() {
            s.error(
                "key",
                ProblemKind::Missing,
                "required: the application or the service it is for",
            );
        }
        let mut mistakes = Mistakes::default();
        let has = |s: &mut Section<'_, '_>, key| s.node(key).is_some_and(|node| !node.is_null());
        let (conditions, tags, script) = (has(s, "conditions"), has(s, "tags"), has(s, "script"));
        Head::read(s);
        if conditions {
            condition::Rule::read(s, &mut mistakes);
        }
        if tags {
            tag::Rule::read(s, &mut mistakes);
        }
        if script {
            script::Rule::read(s, &mut mistakes);
        } else {
            s.string("type");
        }
        mistakes.tell(s);
        if !(conditions || tags || script) {
            s.error(
                "conditions",
                ProblemKind::Missing,
                "needs `conditions`, `tags` or a `script`",
            );
        }
        if scope == Some(Scope::Service) && (tags || script) {
            let key = if tags { "tags" } else { "script" };
            s.error(
                key,
                ProblemKind::Conflict,
                "is for applications, and the scope is `service`",
            );
        }
        let Some(scope) = scope else {
            return Vec::new();
        };
        let condition = match scope {
            Scope::Application => key::condition(Subject::Application(&subject)),
            Scope::Service => of_service(&subject),
        };
        let parts = [
            (conditions, condition, &["conditions"][..]),
            (tags, key::tag(&subject), &["tags"]),
            (script, key::script(&subject), &["type", "script"]),
        ];
        let said = parts.into_iter().filter(|(is_said, ..)| *is_said);
        let rules = said.map(|(_, key, of_kind)| {
            let members = OF_ALL.iter().chain(of_kind).filter_map(|&member| {
                let node = s.node(member)?;
                Some((member.to_owned(), as_json(&node)))
            });
            Self::new(key, json!(members.collect::<Map<_, _>>()).to_string())
        });
        rules.filter(|rule| rule.check().is_ok()).collect()
    }

    /// Reads the rule, as those do who follow its key.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or that no router goes by such a key.
    pub fn check(&self) -> Result<(), RuleError> {
        let Self { key, text } = self;
        let kind = key.rsplit_once('.').map_or("", |(_, kind)| kind);
        match kind {
            "affinity-router" => affinity::Rule::parse(key, text).map(drop),
            "condition-router" => condition::Rule::parse(key, text).map(drop),
            "MESHAPPRULE" => mesh::Rule::parse(key, text).map(drop),
            "script-router" => script::Rule::parse(key, text).map(drop),
            "tag-router" => tag::Rule::parse(key, text).map(drop),
            _ => Err(RuleError::new(format!("no router goes by the key `{key}`"))),
        }
    }
}

/// Whom an entry is for.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Application,
    Service,
}

/// Where the conditions of a service are that is named `interface`, `group/interface:version` or, as in keys of rules,
/// `interface:version:group`.
fn of_service(name: &str) -> String {
    let is_key = name.matches(':').count() > 1;
    match name.parse::<ServiceKey>() {
        Ok(service) if !is_key => key::condition(Subject::Service(&service)),
        _ => key::condition(Subject::Application(name)),
    }
}

/// What was written, as JSON: the readers of rules take texts for numbers and truth values, too.
fn as_json(node: &Node) -> serde_json::Value {
    match &node.value {
        _ if node.is_null() => serde_json::Value::Null,
        Value::Map(map) => {
            let members = map.iter();
            json!(
                members
                    .map(|entry| (entry.key.to_string(), as_json(&entry.value)))
                    .collect::<Map<_, _>>()
            )
        }
        Value::Scalar(scalar) => json!(&*scalar.text),
        Value::Seq(items) => json!(items.iter().map(as_json).collect::<Vec<_>>()),
    }
}

/// What every rule may say.
const OF_ALL: [&str; 5] = ["enabled", "force", "priority", "runtime", "valid"];

#[cfg(test)]
mod tests {
    use dubbo_core::yaml::{Problems, Reader, parse};

    use super::*;

    fn read(text: &str) -> (Vec<ConfiguredRule>, Vec<String>) {
        let mut problems = Problems::default();
        let document = parse("t.yaml", text, &mut problems);
        let mut reader = Reader::new(problems);
        let rules = reader.read("", document.as_ref(), |s| {
            s.items("router", ConfiguredRule::read)
        });
        let (errors, _) = reader.finish().0.into_parts();
        (
            rules.concat(),
            errors.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn an_entry_is_a_rule_under_the_key_of_its_kind() {
        let (rules, errors) = read(
            "
router:
  - scope: service
    key: a.B
    force: true
    conditions: ['method=x => port=1']
  - {scope: service, key: 'g/a.B:1.0', conditions: ['=> a=1']}
  - {scope: service, key: 'a.B:1.0:g', conditions: ['=> a=1']}
  - scope: Application
    key: users
    priority: 2
    conditions: ['=> a=1']
    tags:
      - {name: gray, addresses: ['10.0.0.1:1'], match: [{key: env, value: {empty: ''}}]}
",
        );
        assert_eq!(errors, [""; 0]);
        let keys: Vec<_> = rules.iter().map(|rule| &*rule.key).collect();
        assert_eq!(
            keys,
            [
                "a.B::.condition-router",
                "a.B:1.0:g.condition-router",
                "a.B:1.0:g.condition-router",
                "users.condition-router",
                "users.tag-router",
            ]
        );
        assert_eq!(
            rules[0].text,
            r#"{"conditions":["method=x => port=1"],"force":"true"}"#
        );
        for rule in &rules {
            assert_eq!(rule.check(), Ok(()), "{rule:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_told_at_its_place() {
        for (entry, want) in [
            (
                "{key: a, conditions: []}",
                "t.yaml:2:5: router[0].scope: required: `application` or `service`",
            ),
            (
                "{scope: all, key: a, conditions: []}",
                "t.yaml:2:13: router[0].scope: expected `application`",
            ),
            (
                "{scope: service, conditions: []}",
                "t.yaml:2:5: router[0].key: required: the application or the service it is for",
            ),
            (
                "{scope: service, key: a.B}",
                "t.yaml:2:5: router[0].conditions: needs `conditions`, `tags` or a `script`",
            ),
            (
                "{scope: service, key: a.B, conditions: ['=> a=1', 'a==b']}",
                "t.yaml:2:55: router[0].conditions[1]: `==b` cannot stand where it does in `a==b`",
            ),
            (
                "{scope: service, key: a.B, tags: [{name: t}]}",
                "t.yaml:2:32: router[0].tags: is for applications, and the scope is `service`",
            ),
            (
                "{scope: service, key: a.B, conditions: [], forced: true}",
                "t.yaml:2:48: router[0].forced: unknown key (did you mean `force`?)",
            ),
        ] {
            let (_, errors) = read(&format!("router:\n  - {entry}"));
            assert!(
                errors.len() == 1 && errors[0].starts_with(want),
                "{entry}: {errors:?}"
            );
        }
    }

    #[test]
    fn a_rule_from_code_is_checked_by_its_key() {
        for (key, text, want) in [
            (
                "a.configurators",
                "",
                "no router goes by the key `a.configurators`",
            ),
            (
                "a.condition-router",
                "conditions: ['=x']",
                "a.condition-router:1:14: conditions[0]: `=x`",
            ),
            (
                "a.affinity-router",
                "affinityAware: {}",
                "needs the parameter",
            ),
            ("a.MESHAPPRULE", "kind: x", "metadata"),
            ("a.tag-router", "tags: [{}]", "a tag needs a name"),
            ("a.script-router", "type: lua\nscript: x", "script"),
        ] {
            let error = ConfiguredRule::new(key, text)
                .check()
                .expect_err(key)
                .to_string();
            assert!(error.contains(want), "{key}: {error}");
        }
    }
}
