use std::{collections::BTreeMap, fmt};

use dubbo_core::yaml::{Location, Places};

/// What files, config center and environment say together, key by key: each key that is set, spelled as
/// `docs/spec/config.md` spells it, with its value and where it was written. What code says is not in it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, (String, Location)>);

impl Tree {
    /// What a key such as `dubbo.application.name` is set to, if it is set. Of a list the items, with `, ` between them.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(|(value, _)| value.as_str())
    }

    /// Every key that is set, in order, with what may be shown of its value, and where it was written.
    pub fn shown(&self) -> impl Iterator<Item = (&str, String, &Location)> {
        let keys = self.0.iter();
        keys.map(|(path, (value, at))| (path.as_str(), shown(path, value), at))
    }

    /// This, with what `other` says of the keys at `paths`.
    pub(crate) fn taking<'p>(
        &self,
        other: &Self,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Self {
        let mut taken = self.clone();
        for path in paths {
            match other.0.get(path) {
                Some(set) => drop(taken.0.insert(path.to_owned(), set.clone())),
                None => drop(taken.0.remove(path)),
            }
        }
        taken
    }

    pub(super) fn of(places: &Places) -> Self {
        let values = places.values();
        Self(
            values
                .map(|(path, value, at)| (path.to_owned(), (value, at.clone())))
                .collect(),
        )
    }
}

/// Without values: passwords are among them.
impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("keys", &self.0.len())
            .finish_non_exhaustive()
    }
}

/// One key that two versions of a configuration set differently.
///
/// Prints as one line: `dubbo.logger.level: info -> debug (dubbo.yaml:3:12)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The key, such as `dubbo.consumer.references.Users.timeout`.
    pub path: String,
    /// What may be shown of the old value; `None` if the key was not set.
    pub from: Option<String>,
    /// What may be shown of the new value; `None` if the key is not set any more.
    pub to: Option<String>,
    /// Where the new value is written; for a key that is gone, where it was.
    pub at: Location,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<String>| match value {
            Some(value) => value.escape_debug().to_string(),
            None => "(not set)".to_owned(),
        };
        let (from, to) = (text(&self.from), text(&self.to));
        write!(f, "{}: {from} -> {to} ({})", self.path, self.at)
    }
}

/// The keys whose values differ, in order. Where a value is written does not count.
///
/// Passwords, tokens and secrets are compared, and shown as `***`.
pub fn changes(old: &Tree, new: &Tree) -> Vec<Change> {
    let gone = old.0.iter().filter(|(path, _)| !new.0.contains_key(*path));
    let gone = gone.map(|(path, (value, at))| Change {
        path: path.clone(),
        from: Some(shown(path, value)),
        to: None,
        at: at.clone(),
    });
    let other = new.0.iter().filter_map(|(path, (value, at))| {
        let from = old.get(path);
        (from != Some(value)).then(|| Change {
            path: path.clone(),
            from: from.map(|from| shown(path, from)),
            to: Some(shown(path, value)),
            at: at.clone(),
        })
    });
    let mut changes: Vec<_> = gone.chain(other).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// What may be shown of the value of a key.
pub(crate) fn shown(path: &str, value: &str) -> String {
    let path = path.to_ascii_lowercase();
    if SECRET_KEYS.iter().any(|key| path.ends_with(key)) {
        return HIDDEN.to_owned();
    }
    // Addresses may have a user and a password in them.
    let mut shown = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let authority = after.find(['/', ',', ';', '?', ' ']).unwrap_or(after.len());
        rest = after;
        if let Some(at) = after[..authority].rfind('@') {
            shown.push_str(HIDDEN);
            rest = &after[at..];
        }
    }
    shown + rest
}

const HIDDEN: &str = "***";

/// How the keys end whose values are not for everybody.
const SECRET_KEYS: [&str; 6] = [
    "password",
    "passwd",
    "secret",
    "token",
    "nacos.access",
    "secretkey",
];

#[cfg(test)]
mod tests {
    use crate::config::{LoadOptions, changes, read};

    #[test]
    fn what_two_versions_set_differently_is_told_key_by_key_and_without_secrets() {
        let old = "
dubbo:
  application: {name: a, owner: ann}
  registries: {r: {address: 'nacos://joe:x1@h:8848', password: p1, params: {secretKey: k1}}}
  provider: {filter: [audit, echo]}
  consumer: {references: {Users: {timeout: 1s, provided_by: x, methods: [{name: Get, retries: 1}]}}}
  custom: {list: [1, {a: b}], token: t1}
";
        let new = "
dubbo:
  application: {owner: ann, name: b}
  registries: {r: {address: 'nacos://joe:x2@h:8848', password: p2, params: {secretKey: k2}}}
  provider: {filter: audit}
  consumer: {references: {Users: {timeout: 2s, provided-by: x, methods: [{name: Get, retries: 0}]}}}
  custom: {list: [1, {a: c}], token: t2}
  logger: {level: debug}
";
        let tree = |text: &str| {
            let draft = read(&LoadOptions::text("t.yaml", text)).expect("YAML");
            draft.tree().clone()
        };
        let (old, new) = (tree(old), tree(new));
        let told: Vec<_> = changes(&old, &new)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            told,
            [
                "dubbo.application.name: a -> b (t.yaml:3:35)",
                "dubbo.consumer.references.Users.methods[0].retries: 1 -> 0 (t.yaml:6:95)",
                "dubbo.consumer.references.Users.timeout: 1s -> 2s (t.yaml:6:44)",
                "dubbo.custom.list[1].a: b -> c (t.yaml:7:26)",
                "dubbo.custom.token: *** -> *** (t.yaml:7:38)",
                "dubbo.logger.level: (not set) -> debug (t.yaml:8:19)",
                "dubbo.provider.filter: audit, echo -> audit (t.yaml:5:22)",
                "dubbo.registries.r.address: nacos://***@h:8848 -> nacos://***@h:8848 (t.yaml:4:29)",
                "dubbo.registries.r.params.secretKey: *** -> *** (t.yaml:4:88)",
                "dubbo.registries.r.password: *** -> *** (t.yaml:4:64)",
            ]
        );
        let back = changes(&new, &old);
        let level = back
            .iter()
            .find(|change| change.path == "dubbo.logger.level");
        assert_eq!(level.map(|change| change.to.is_none()), Some(true));
        assert_eq!(changes(&new, &new), []);
        assert!(!format!("{old:?}").contains("p1"));
    }
}
