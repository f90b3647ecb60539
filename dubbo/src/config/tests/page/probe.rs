//! What the readers of the model ask for, and what they say about a value.

use std::{cell::RefCell, collections::BTreeSet};

use dubbo_core::yaml::{
    Location, Node, Overlay, Path, Problem, ProblemKind, Problems, Reader, parse,
};

use crate::config::Config;

/// Every key that a reader asks for, with a protocol, a registry, a service and a reference that are there.
pub(super) fn asked() -> BTreeSet<String> {
    #[derive(Debug, Default)]
    struct Asked(RefCell<BTreeSet<String>>);

    impl Overlay for Asked {
        fn value(&self, path: &Path) -> Option<Node> {
            self.0.borrow_mut().insert(path.to_string());
            None
        }

        fn below(&self, path: &Path) -> Option<Location> {
            self.value(path);
            None
        }
    }

    let text = "{protocols: {<id>: {}}, registries: {<id>: {}}, \
        provider: {methods: [{}], services: {<name>: {methods: [{}]}}}, \
        consumer: {references: {<name>: {methods: [{}]}}}}";
    let mut problems = Problems::default();
    let document = parse("t", text, &mut problems);
    let asked = Asked::default();
    let mut reader = Reader::new(problems).overlay(&asked);
    reader.read("dubbo", document.as_ref(), Config::read);
    asked.0.into_inner()
}

/// One key.
pub(super) struct Probe<'p> {
    path: &'p str,
}

impl<'p> Probe<'p> {
    pub(super) fn of(path: &'p str) -> Self {
        Self { path }
    }

    /// What the key takes, in the words of its reader.
    pub(super) fn takes(&self) -> String {
        let wrong = self.problems("{x: 1}");
        let wrong = wrong.iter().find_map(|problem| {
            let message = problem.message.strip_prefix("expected ")?;
            let (takes, _) = message.rsplit_once(", found ")?;
            Some(takes.to_owned())
        });
        wrong.unwrap_or_else(|| panic!("{}: its reader takes a map", self.path))
    }

    /// Whether nobody reads the key, or anything above it, where it stands.
    pub(super) fn is_gone(&self) -> bool {
        let above = self
            .path
            .match_indices('.')
            .skip(1)
            .map(|(at, _)| &self.path[..at]);
        above
            .chain([self.path])
            .any(|path| Probe::of(path).is_pointless())
    }

    fn is_pointless(&self) -> bool {
        let is_told = |value: &str| {
            let told = self.problems(value);
            told.iter()
                .any(|problem| problem.kind == ProblemKind::NoEffect)
        };
        ["true", "1", "{x: 1}"].into_iter().all(is_told)
    }

    /// What is said about the key whatever its value is.
    pub(super) fn says(&self) -> Option<String> {
        ["true", "1", "{x: 1}"].into_iter().find_map(|value| {
            let told = self.problems(value);
            let told = told.into_iter().find(|problem| {
                use ProblemKind::{Deprecated, NoEffect, Unsupported};
                [Deprecated, NoEffect, Unsupported].contains(&problem.kind)
            });
            told.map(|problem| problem.message)
        })
    }

    /// What is wrong at this very key when it has this value.
    fn problems(&self, value: &str) -> Vec<Problem> {
        let keys = self.path.split('.').skip(1);
        let mut text = String::new();
        let mut ends = String::new();
        for key in keys {
            let (key, is_list) = match key.strip_suffix("[0]") {
                Some(key) => (key, true),
                None => (key, false),
            };
            text += "{\"";
            text += key;
            text += "\": ";
            ends.insert(0, '}');
            if is_list {
                text.push('[');
                ends.insert(0, ']');
            }
        }
        // Keys with points in them are one key and not several.
        let (text, ends) = self.joined(&text, &ends);
        let text = format!("{text}{value}{ends}");
        let mut problems = Problems::default();
        let document = parse("t", &text, &mut problems);
        let mut reader = Reader::new(problems);
        reader.read("dubbo", document.as_ref(), Config::read);
        let (errors, warnings) = reader.finish().0.into_parts();
        let all = errors.into_iter().chain(warnings);
        all.filter(|problem| problem.path == self.path).collect()
    }

    fn joined(&self, text: &str, ends: &str) -> (String, String) {
        use crate::config::format::properties::DOTTED;

        let dotted = DOTTED
            .iter()
            .copied()
            .chain(["service-discovery.migration"]);
        let longest = dotted
            .filter(|key| self.path.ends_with(&format!(".{key}")))
            .max_by_key(|key| key.len());
        let Some(key) = longest else {
            return (text.to_owned(), ends.to_owned());
        };
        let parts: Vec<_> = key.split('.').collect();
        let nested: Vec<_> = parts.iter().map(|part| format!("{{\"{part}\": ")).collect();
        let nested = nested.concat();
        let text = text.strip_suffix(&nested).unwrap_or(text);
        let ends = &ends[parts.len() - 1..];
        (format!("{text}{{\"{key}\": "), ends.to_owned())
    }
}
