use std::{collections::HashMap, sync::Arc};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Entry, Location, Map, Node, Path, Problem, ProblemKind, Problems, Scalar, Value};

/// Reads one YAML (or JSON) document; `source` is the name it has in messages, usually the file's.
///
/// - Texts stay as they were written: see [`Value`].
/// - Aliases and merge keys (`<<`) are resolved; a value keeps the place where it was really written.
/// - A key that is there twice is an error that names both places; the first one is kept, so that reading can go on.
/// - Refused: several documents, tags other than YAML's own, keys that are not texts, a value nested in itself, more
///   than [`MAX_BYTES`] of text, more than [`MAX_NODES`] values after aliases are resolved (so a few lines cannot
///   unfold into gigabytes), nesting beyond [`MAX_DEPTH`].
///
/// JSON is read with one exception: a `\u` escape that is half a character, as JSON writes those beyond `\uffff`, is an
/// error.
///
/// An empty document is a [null](Node::is_null). `None` means that there is no document to go on with; why is in
/// `problems`, which may hold errors in either case.
pub fn parse(source: &str, text: &str, problems: &mut Problems) -> Option<Node> {
    let source = Arc::from(source);
    if text.len() > MAX_BYTES {
        problems.error(Problem::new(
            ProblemKind::Syntax,
            Location::named(source),
            "",
            format!(
                "{} bytes are more than the {MAX_BYTES} that are read",
                text.len()
            ),
        ));
        return None;
    }
    let mut composer = Composer {
        source,
        problems,
        frames: Vec::new(),
        anchors: HashMap::new(),
        budget: MAX_NODES,
        root: None,
    };
    match composer.run(text) {
        Ok(root) => Some(root),
        Err(problem) => {
            problems.error(problem);
            None
        }
    }
}

struct Composer<'p> {
    source: Arc<str>,
    problems: &'p mut Problems,
    /// The collections that are open, outermost first.
    frames: Vec<Frame>,
    /// What each anchor stands for, once its value is complete.
    anchors: HashMap<usize, Built>,
    /// How many more nodes may be made.
    budget: usize,
    root: Option<Node>,
}

impl Composer<'_> {
    fn run(&mut self, text: &str) -> Result<Node, Problem> {
        let mut documents = 0;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| self.scan_error(&error))?;
            let at = self.location(span);
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(syntax(at, "a second document begins here; one is read"));
                    }
                }
                Event::Alias(anchor) => self.alias(anchor, at)?,
                Event::Scalar(text, style, anchor, tag) => {
                    let tag = known_tag(tag.as_deref(), &at)?;
                    let scalar = Scalar {
                        text: text.into(),
                        quoted: style != ScalarStyle::Plain || tag == Some("str"),
                    };
                    self.charge(1, &at)?;
                    let node = Node {
                        value: Value::Scalar(scalar),
                        at,
                    };
                    self.complete(Built::leaf(node), anchor)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    known_tag(tag.as_deref(), &at)?;
                    self.open(Items::Seq(Vec::new()), anchor, at)?;
                }
                Event::MappingStart(anchor, tag) => {
                    known_tag(tag.as_deref(), &at)?;
                    self.open(Items::Map(Box::default()), anchor, at)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close()?,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
        }
        let empty = || Node::scalar("", Location::new(self.source.clone(), 1, 1));
        Ok(self.root.take().unwrap_or_else(empty))
    }

    fn open(&mut self, items: Items, anchor: usize, at: Location) -> Result<(), Problem> {
        self.charge(1, &at)?;
        check_depth(self.frames.len() + 1, &at)?;
        self.frames.push(Frame {
            items,
            anchor,
            at,
            size: 1,
            height: 1,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Problem> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let value = match frame.items {
            Items::Seq(nodes) => Value::Seq(nodes),
            Items::Map(pairs) => Value::Map(merged(*pairs)?),
        };
        let built = Built {
            node: Node {
                value,
                at: frame.at,
            },
            size: frame.size,
            height: frame.height,
        };
        self.complete(built, frame.anchor)
    }

    fn alias(&mut self, anchor: usize, at: Location) -> Result<(), Problem> {
        let Some(built) = self.anchors.get(&anchor) else {
            // The parser knows the anchor, so it belongs to a collection that is still open.
            return Err(syntax(at, "an alias inside the value it stands for"));
        };
        let (size, height) = (built.size, built.height);
        self.charge(size, &at)?;
        check_depth(self.frames.len() + height, &at)?;
        let built = self.anchors[&anchor].clone();
        self.complete(built, NO_ANCHOR)
    }

    /// Puts a finished value where it belongs.
    fn complete(&mut self, built: Built, anchor: usize) -> Result<(), Problem> {
        if anchor != NO_ANCHOR {
            self.charge(built.size, &built.node.at)?;
            self.anchors.insert(anchor, built.clone());
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(built.node);
            return Ok(());
        };
        frame.size += built.size;
        frame.height = frame.height.max(built.height + 1);
        match &mut frame.items {
            Items::Seq(nodes) => nodes.push(built.node),
            Items::Map(pairs) => match pairs.key.take() {
                None => pairs.key = Some(Key::of(built.node)?),
                Some(key) => self.pair(key, built.node),
            },
        }
        Ok(())
    }

    fn pair(&mut self, key: Key, value: Node) {
        let Some(Frame {
            items: Items::Map(pairs),
            ..
        }) = self.frames.last_mut()
        else {
            return;
        };
        if key.merges && pairs.merge.is_none() {
            pairs.merge = Some(value);
            return;
        }
        let entry = Entry {
            key: key.text.clone(),
            at: key.at.clone(),
            value,
        };
        let first = match pairs.map.insert(entry) {
            Ok(()) => return,
            Err(first) => first.at.clone(),
        };
        let path = self.path().join(&*key.text);
        self.problems.error(Problem::new(
            ProblemKind::Duplicate,
            key.at,
            path.to_string(),
            format!("the key is there already, at {first}"),
        ));
    }

    /// The keys that lead to the innermost open map.
    fn path(&self) -> Path {
        let segments = self.frames.iter().filter_map(|frame| match &frame.items {
            Items::Seq(nodes) => Some(format!("[{}]", nodes.len())),
            Items::Map(pairs) => pairs.key.as_ref().map(|key| key.text.as_ref().to_owned()),
        });
        Path::new(segments)
    }

    fn charge(&mut self, nodes: usize, at: &Location) -> Result<(), Problem> {
        self.budget = self.budget.checked_sub(nodes).ok_or_else(|| {
            let message = format!("more than {MAX_NODES} values, aliases resolved");
            syntax(at.clone(), message)
        })?;
        Ok(())
    }

    fn location(&self, span: Span) -> Location {
        Location::new(self.source.clone(), span.start.line(), span.start.col() + 1)
    }

    fn scan_error(&self, error: &ScanError) -> Problem {
        let mark = error.marker();
        let at = Location::new(self.source.clone(), mark.line(), mark.col() + 1);
        syntax(at, format!("not valid YAML: {}", error.info()))
    }
}

/// A collection whose end has not come yet.
struct Frame {
    items: Items,
    anchor: usize,
    at: Location,
    /// Nodes in it, itself included.
    size: usize,
    /// Levels in it, itself included.
    height: usize,
}

enum Items {
    Map(Box<Pairs>),
    Seq(Vec<Node>),
}

#[derive(Default)]
struct Pairs {
    map: Map,
    /// The key whose value comes next.
    key: Option<Key>,
    /// The value of `<<`.
    merge: Option<Node>,
}

struct Key {
    text: Arc<str>,
    at: Location,
    /// Whether this is `<<` without quotes.
    merges: bool,
}

impl Key {
    fn of(node: Node) -> Result<Self, Problem> {
        if node.is_null() {
            return Err(syntax(node.at, "an empty key"));
        }
        match node.value {
            Value::Scalar(scalar) => Ok(Self {
                merges: !scalar.quoted && &*scalar.text == "<<",
                text: scalar.text,
                at: node.at,
            }),
            Value::Map(_) | Value::Seq(_) => {
                let message = format!("a key must be a text, found {}", node.kind());
                Err(syntax(node.at, message))
            }
        }
    }
}

/// A complete value with what it weighs.
#[derive(Clone)]
struct Built {
    node: Node,
    size: usize,
    height: usize,
}

impl Built {
    fn leaf(node: Node) -> Self {
        Self {
            node,
            size: 1,
            height: 0,
        }
    }
}

fn check_depth(depth: usize, at: &Location) -> Result<(), Problem> {
    if depth > MAX_DEPTH {
        let message = format!("nested more than {MAX_DEPTH} levels deep");
        return Err(syntax(at.clone(), message));
    }
    Ok(())
}

/// A map's own entries, then those of the maps it merges in, the earlier of them first.
fn merged(mut pairs: Pairs) -> Result<Map, Problem> {
    let Some(merge) = pairs.merge else {
        return Ok(pairs.map);
    };
    let sources = match merge.value {
        Value::Seq(nodes) => nodes,
        Value::Map(_) | Value::Scalar(_) => vec![merge],
    };
    for source in sources {
        let Value::Map(map) = source.value else {
            let kind = source.kind();
            return Err(syntax(
                source.at,
                format!("`<<` takes a map or a list of maps, found {kind}"),
            ));
        };
        for entry in &map {
            // An entry that is there already is the stronger one: that is what merging means.
            let _ = pairs.map.insert(entry.clone());
        }
    }
    Ok(pairs.map)
}

/// The name of a tag of YAML's core schema. They change nothing but one thing: `!!str` makes a text of an empty value.
///
/// Any other tag asks for a meaning that nobody here gives it, so ignoring it would be wrong.
fn known_tag<'t>(tag: Option<&'t Tag>, at: &Location) -> Result<Option<&'t str>, Problem> {
    let Some(tag) = tag else {
        return Ok(None);
    };
    let known = ["bool", "float", "int", "map", "null", "seq", "str"];
    if tag.is_yaml_core_schema() && known.contains(&&*tag.suffix) {
        return Ok(Some(&tag.suffix));
    }
    let message = format!("the tag `{tag}` has no meaning here");
    Err(syntax(at.clone(), message))
}

fn syntax(at: Location, message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Syntax, at, "", message)
}

/// The largest document that is read. The parser keeps all of a flow collection in memory, at some hundred bytes a token.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;

/// The most values a document may have, those that aliases repeat included.
pub const MAX_NODES: usize = 100_000;

/// How the parser says that a value has no anchor.
const NO_ANCHOR: usize = 0;

#[cfg(test)]
mod tests;
