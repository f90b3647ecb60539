use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
};

use super::{
    Entry, Location, Map, Node, Path, Places, Problem, ProblemKind, Problems, Value, nearest,
    suggest::normal,
};

/// Takes typed values out of a tree and notes what is wrong with it.
#[derive(Debug)]
pub struct Reader<'t> {
    overlay: Option<&'t dyn Overlay>,
    problems: Problems,
    places: Places,
}

impl<'t> Reader<'t> {
    /// A reader that adds to `problems`, usually those of [`parse`](super::parse).
    pub fn new(problems: Problems) -> Self {
        Self {
            overlay: None,
            problems,
            places: Places::default(),
        }
    }

    /// A reader for which `overlay` is stronger than the tree.
    pub fn overlay(mut self, overlay: &'t dyn Overlay) -> Self {
        self.overlay = Some(overlay);
        self
    }

    /// Reads the map `node`, whose path is `path`; an absent node reads like an empty map.
    ///
    /// Every key that `read` has not asked for by its end is an error.
    pub fn read<T>(
        &mut self,
        path: &str,
        node: Option<&'t Node>,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        let path = Path::new(path.split('.').filter(|segment| !segment.is_empty()));
        let at = node.map_or_else(|| Location::named("(absent)"), |node| node.at.clone());
        Section::new(self, path, at, node).run(read)
    }

    /// All that was found wrong, and where the values were written.
    pub fn finish(self) -> (Problems, Places) {
        (self.problems, self.places)
    }
}

/// A source of values that is stronger than the tree and is asked for each key that is read, as the environment is.
pub trait Overlay: fmt::Debug {
    /// The value for this key, if the source has one.
    fn value(&self, path: &Path) -> Option<Node>;

    /// Where the source has a value for some key below this one, if anywhere.
    fn below(&self, path: &Path) -> Option<Location>;
}

/// A map that is being read: ask it for every key it may have.
///
/// Keys are spelled the way messages are to spell them; a document may write them in any case, and `-`, `_` and `.` are
/// the same in it (`provided_by` is `provided-by`). A key without a value (`key:`) reads like an absent one. A value
/// that cannot be read is noted and reads like an absent one too.
#[derive(Debug)]
pub struct Section<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
    path: Path,
    at: Location,
    map: Option<&'t Map>,
    /// The entries by the normal form of their keys.
    entries: HashMap<String, Vec<&'t Entry>>,
    /// The keys that were asked for, for suggestions.
    known: Vec<&'static str>,
}

impl<'r, 't> Section<'r, 't> {
    fn new(reader: &'r mut Reader<'t>, path: Path, at: Location, node: Option<&'t Node>) -> Self {
        let node = node.filter(|node| !node.is_null());
        if let Some(node) = node {
            reader.places.note_section(path.to_string(), &at);
            if node.as_map().is_none() {
                let message = format!("expected a map, found {}", node.kind());
                reader.problems.error(Problem::new(
                    ProblemKind::Type,
                    node.at.clone(),
                    path.to_string(),
                    message,
                ));
            }
        }
        let map = node.and_then(Node::as_map);
        let mut entries: HashMap<_, Vec<_>> = HashMap::new();
        for entry in map.into_iter().flatten() {
            entries.entry(normal(&entry.key)).or_default().push(entry);
        }
        Self {
            reader,
            path,
            at,
            map,
            entries,
            known: Vec::new(),
        }
    }

    fn run<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let value = read(&mut self);
        self.refuse_unknown_keys();
        value
    }

    /// The path of this section.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where this section was written.
    pub fn at(&self) -> &Location {
        &self.at
    }

    /// Reads the map below `key`; an absent one reads like an empty one.
    pub fn section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        let entry = self.entry(key);
        let at = entry.map_or_else(|| self.at.clone(), |entry| entry.at.clone());
        let node = entry.map(|entry| &entry.value);
        Section::new(self.reader, self.path.join(key), at, node).run(read)
    }

    /// Reads each entry of the map below `key`, whose own keys are ids that the document chooses.
    pub fn entries<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'_, 't>) -> T,
    ) -> BTreeMap<String, T> {
        let path = self.path.join(key);
        let Some(map) = self.map_of(key) else {
            return BTreeMap::new();
        };
        map.iter()
            .map(|entry| {
                let path = path.join(&*entry.key);
                let at = entry.at.clone();
                let section = Section::new(self.reader, path, at, Some(&entry.value));
                (entry.key.as_ref().to_owned(), section.run(&mut read))
            })
            .collect()
    }

    /// Reads each map in the list below `key`.
    pub fn items<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'_, 't>) -> T,
    ) -> Vec<T> {
        let path = self.path.join(key);
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        let Value::Seq(nodes) = &entry.value.value else {
            self.mismatch(key, "a list", &entry.value);
            return Vec::new();
        };
        let indexed = nodes.iter().enumerate();
        indexed
            .map(|(index, node)| {
                let path = path.join(format!("[{index}]"));
                Section::new(self.reader, path, node.at.clone(), Some(node)).run(&mut read)
            })
            .collect()
    }

    /// The texts in the map below `key`, whose own keys the document chooses.
    pub fn texts(&mut self, key: &'static str) -> BTreeMap<String, String> {
        let path = self.path.join(key);
        let mut texts = BTreeMap::new();
        for entry in self.map_of(key).into_iter().flatten() {
            let path = path.join(&*entry.key);
            let overlaid = self.reader.overlay.and_then(|overlay| overlay.value(&path));
            let node = overlaid.as_ref().unwrap_or(&entry.value);
            if let Some(text) = node.as_text() {
                self.reader.places.note_value(path.to_string(), node);
                let text = if node.is_null() { "" } else { text };
                texts.insert(entry.key.as_ref().to_owned(), text.to_owned());
            } else {
                let message = format!("expected a text, found {}", node.kind());
                let at = node.at.clone();
                let problem = Problem::new(ProblemKind::Type, at, path.to_string(), message);
                self.reader.problems.error(problem);
            }
        }
        texts
    }

    /// What stands below `key`, whatever it is.
    pub fn node(&mut self, key: &'static str) -> Option<Cow<'t, Node>> {
        let entry = self.entry(key);
        let path = self.path.join(key);
        let overlaid = self.reader.overlay.and_then(|overlay| overlay.value(&path));
        let node = overlaid
            .map(Cow::Owned)
            .or_else(|| entry.map(|entry| Cow::Borrowed(&entry.value)))?;
        self.reader.places.note_value(path.to_string(), &node);
        Some(node)
    }

    /// Refuses `key` in whatever form it is there: its feature does not exist here, and `why` says what to do.
    pub fn unsupported(&mut self, key: &'static str, why: &str) {
        if let Some(at) = self.place_of(key) {
            let message = format!("not supported: {why}");
            self.error_at(key, at, ProblemKind::Unsupported, message);
        }
    }

    /// Refuses the switch `key` unless it is off: its feature does not exist here, as `why` says.
    pub fn unsupported_switch(&mut self, key: &'static str, why: &str) {
        if self.bool(key) == Some(true) {
            let message = format!("not supported: {why}; leave it out or set it to `false`");
            self.error(key, ProblemKind::Unsupported, message);
        }
    }

    /// Warns that `key` is read by nobody, if it is there, and says `why`.
    pub fn no_effect(&mut self, key: &'static str, why: &str) {
        if let Some(at) = self.place_of(key) {
            let message = format!("has no effect: {why}");
            let problem = self.problem(key, at, ProblemKind::NoEffect, message);
            self.reader.problems.warn(problem);
        }
    }

    /// Warns that `key` is an old spelling of `instead`, if it is there. Read it all the same.
    pub fn deprecated(&mut self, key: &'static str, instead: &str) {
        if let Some(at) = self.place_of(key) {
            let message = format!("deprecated, write `{instead}`");
            let problem = self.problem(key, at, ProblemKind::Deprecated, message);
            self.reader.problems.warn(problem);
        }
    }

    /// Notes that something is wrong with the value of `key`, or with its absence.
    pub fn error(&mut self, key: &'static str, kind: ProblemKind, message: impl Into<String>) {
        let at = self.place_of(key).unwrap_or_else(|| self.at.clone());
        self.error_at(key, at, kind, message);
    }

    /// Notes a mistake that was found in what stands below, and not by this section.
    pub fn note(&mut self, problem: Problem) {
        self.reader.problems.error(problem);
    }

    pub(super) fn mismatch(&mut self, key: &'static str, expected: &str, found: &Node) {
        let message = match found.as_text() {
            Some(text) => format!("expected {expected}, found `{}`", shortened(text)),
            None => format!("expected {expected}, found {}", found.kind()),
        };
        self.error_at(key, found.at.clone(), ProblemKind::Type, message);
    }

    fn error_at(
        &mut self,
        key: &'static str,
        at: Location,
        kind: ProblemKind,
        message: impl Into<String>,
    ) {
        let problem = self.problem(key, at, kind, message);
        self.reader.problems.error(problem);
    }

    fn problem(
        &self,
        key: &str,
        at: Location,
        kind: ProblemKind,
        message: impl Into<String>,
    ) -> Problem {
        Problem::new(kind, at, self.path.join(key).to_string(), message)
    }

    fn map_of(&mut self, key: &'static str) -> Option<&'t Map> {
        let entry = self.entry(key)?;
        let map = entry.value.as_map();
        match map {
            Some(_) => {
                let path = self.path.join(key).to_string();
                self.reader.places.note_section(path, &entry.at);
            }
            None => self.mismatch(key, "a map", &entry.value),
        }
        map
    }

    /// Where `key` is set, in the tree or the overlay, at itself or below.
    fn place_of(&mut self, key: &'static str) -> Option<Location> {
        let entry = self.entry(key);
        let path = self.path.join(key);
        let overlaid = self.reader.overlay.and_then(|overlay| {
            let value = overlay.value(&path).map(|node| node.at);
            value.or_else(|| overlay.below(&path))
        });
        overlaid.or_else(|| entry.map(|entry| entry.at.clone()))
    }

    /// The entry of `key` in the tree, if it says anything.
    ///
    /// Of two spellings, the later one comes from the stronger layer; two in one file are a mistake.
    fn entry(&mut self, key: &'static str) -> Option<&'t Entry> {
        let spellings = self.entries.get(&normal(key));
        let spellings = spellings.map_or(&[][..], Vec::as_slice);
        let entry = spellings.last().copied();
        let first_time = !self.known.contains(&key);
        if first_time {
            self.known.push(key);
            if let [.., other, last] = spellings
                && other.at.source() == last.at.source()
            {
                let message = format!(
                    "the key is there already, as `{}` at {}",
                    other.key, other.at
                );
                let at = last.at.clone();
                self.error_at(key, at, ProblemKind::Duplicate, message);
            }
        }
        entry.filter(|entry| !entry.value.is_null())
    }

    fn refuse_unknown_keys(self) {
        for entry in self.map.into_iter().flatten() {
            let key = normal(&entry.key);
            if self.known.iter().any(|known| normal(known) == key) {
                continue;
            }
            let path = self.path.join(&*entry.key).to_string();
            let at = entry.at.clone();
            let problem = Problem::new(ProblemKind::UnknownKey, at, path, "unknown key");
            let suggestion = nearest(&entry.key, self.known.iter().copied());
            self.reader.problems.error(problem.suggest(suggestion));
        }
    }
}

/// The beginning of a value, for a message.
fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// So many letters of a value appear in a message.
const MAX_SHOWN: usize = 60;

#[cfg(test)]
mod tests;
