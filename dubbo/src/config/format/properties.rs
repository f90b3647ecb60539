//! Java's properties, with a tree made of their dotted keys.

use std::{collections::BTreeMap, iter::Peekable, str::Chars, sync::Arc};

use dubbo_core::yaml::{
    Entry, Location, MAX_DEPTH, Map, Node, Problem, ProblemKind, Problems, Scalar, Value,
};

/// The tree of a document.
///
/// Lines, comments, continuation and escapes are Java's. A point leads one level down: `dubbo.registries.zk.timeout`. A
/// number in brackets is a place in a list, `methods[0].name`; anything else in brackets is a key that has points in it,
/// `services[com.example.Greeter].group`. Keys that have points by nature ([`DOTTED`]) and those of parameters
/// ([`OPEN`]) need no brackets.
pub(super) fn parse(source: &str, text: &str, problems: &mut Problems) -> Option<Node> {
    let mut scanner = Scanner {
        source: source.into(),
        letters: text.chars().peekable(),
        line: 1,
        column: 1,
    };
    let mut tree = Tree::Map(BTreeMap::new());
    let mut is_valid = true;
    while let Some(line) = scanner.next_line() {
        let added = line.and_then(|line| {
            let steps = steps(&line.key);
            let steps = steps.map_err(|message| {
                let at = line.at.clone();
                Problem::new(ProblemKind::Syntax, at, line.key.clone(), message)
            })?;
            tree.put(&steps, &line)
        });
        if let Err(problem) = added {
            is_valid &= problem.kind == ProblemKind::Duplicate;
            problems.error(problem);
        }
    }
    let root = Location::new(source, 1, 1);
    match tree.node(root) {
        Ok(node) if is_valid => Some(node),
        Ok(_) => None,
        Err(problem) => {
            problems.error(problem);
            None
        }
    }
}

/// One key with its value.
struct Line {
    key: String,
    at: Location,
    value: String,
    value_at: Location,
}

struct Scanner<'t> {
    source: Arc<str>,
    letters: Peekable<Chars<'t>>,
    line: usize,
    column: usize,
}

impl Scanner<'_> {
    /// The next line that says anything, those that go on in it included.
    fn next_line(&mut self) -> Option<Result<Line, Problem>> {
        loop {
            self.skip_blanks();
            match self.letters.peek()? {
                '#' | '!' => while self.bump().is_some_and(|letter| letter != '\n') {},
                '\n' | '\r' => drop(self.bump()),
                _ => break,
            }
        }
        let line = self.read_line();
        if line.is_err() {
            while self.bump().is_some_and(|letter| letter != '\n') {}
        }
        Some(line)
    }

    fn read_line(&mut self) -> Result<Line, Problem> {
        let at = self.place();
        let key = self.text(|letter| is_blank(letter) || matches!(letter, '=' | ':'))?;
        self.skip_blanks();
        if matches!(self.letters.peek(), Some('=' | ':')) {
            self.bump();
            self.skip_blanks();
        }
        let value_at = self.place();
        let value = self.text(|_| false)?;
        Ok(Line {
            key,
            at,
            value,
            value_at,
        })
    }

    /// The letters up to the end of the line, or to one at which the text `ends`, with escapes resolved.
    fn text(&mut self, ends: impl Fn(char) -> bool) -> Result<String, Problem> {
        let mut text = String::new();
        while let Some(&letter) = self.letters.peek() {
            if matches!(letter, '\n' | '\r') || ends(letter) {
                break;
            }
            let at = self.place();
            self.bump();
            if letter != '\\' {
                text.push(letter);
                continue;
            }
            match self.bump() {
                Some('\n') => self.skip_blanks(),
                Some('u') => text.push(self.unicode(at)?),
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('f') => text.push('\u{c}'),
                Some(other) => text.push(other),
                None => {}
            }
        }
        Ok(text)
    }

    /// What follows `\u`: four digits, and again as many where the character takes two halves.
    fn unicode(&mut self, at: Location) -> Result<char, Problem> {
        let mut units = vec![self.unit(&at)?];
        if (0xd800..0xdc00).contains(&units[0]) && self.letters.peek() == Some(&'\\') {
            self.bump();
            if self.letters.peek() == Some(&'u') {
                self.bump();
                units.push(self.unit(&at)?);
            }
        }
        let text = String::from_utf16(&units).unwrap_or_default();
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => Ok(letter),
            _ => Err(syntax(at, "`\\u` with half a character")),
        }
    }

    fn unit(&mut self, at: &Location) -> Result<u16, Problem> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.letters.peek().and_then(|letter| letter.to_digit(16));
            let digit = digit.and_then(|digit| u16::try_from(digit).ok());
            let digit =
                digit.ok_or_else(|| syntax(at.clone(), "`\\u` needs four hexadecimal digits"))?;
            self.bump();
            unit = unit * 16 + digit;
        }
        Ok(unit)
    }

    fn skip_blanks(&mut self) {
        while self.letters.peek().copied().is_some_and(is_blank) {
            self.bump();
        }
    }

    /// Takes one letter; every end of a line is `\n`.
    fn bump(&mut self) -> Option<char> {
        let mut letter = self.letters.next()?;
        if letter == '\r' {
            self.letters.next_if_eq(&'\n');
            letter = '\n';
        }
        if letter == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(letter)
    }

    fn place(&self) -> Location {
        Location::new(Arc::clone(&self.source), self.line, self.column)
    }
}

/// One step down the tree.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
}

/// The steps that a key stands for.
fn steps(key: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = key;
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() {
            return Err("a part of the key is empty".to_owned());
        }
        steps.push(Step::Key(name.to_owned()));
        rest = &rest[end..];
        while let Some(inside) = rest.strip_prefix('[') {
            let (inside, after) = inside.split_once(']').ok_or("`[` without `]`")?;
            steps.push(match inside.parse() {
                Ok(index) => Step::Item(index),
                Err(_) if inside.is_empty() => return Err("`[]` says nothing".to_owned()),
                Err(_) => Step::Key(inside.to_owned()),
            });
            rest = after;
        }
        if steps.len() > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} levels deep"));
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Ok(joined(steps)),
            None => return Err("after `]` comes `.` or nothing".to_owned()),
        }
    }
}

/// The steps with those made one that are one key.
fn joined(mut steps: Vec<Step>) -> Vec<Step> {
    for at in 1..steps.len() {
        let names: Option<Vec<_>> = steps[at..].iter().map(Step::name).collect();
        let Some(names) = names else {
            continue;
        };
        let rest = names.join(".");
        if OPEN.iter().any(|open| steps[at - 1].name() == Some(open)) || DOTTED.contains(&&*rest) {
            steps.truncate(at);
            steps.push(Step::Key(rest));
            break;
        }
    }
    steps
}

impl Step {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Key(name) => Some(name),
            Self::Item(_) => None,
        }
    }
}

/// What was read so far.
enum Tree {
    Text(String, Location),
    /// Each with the place of the first key that leads there.
    Map(BTreeMap<String, (Location, Self)>),
    List(BTreeMap<usize, (Location, Self)>),
}

impl Tree {
    fn put(&mut self, steps: &[Step], line: &Line) -> Result<(), Problem> {
        let problem =
            |kind, message: String| Problem::new(kind, line.at.clone(), line.key.clone(), message);
        let mut tree = self;
        for (index, step) in steps.iter().enumerate() {
            let new = || match steps.get(index + 1) {
                None => Self::Text(line.value.clone(), line.value_at.clone()),
                Some(Step::Key(_)) => Self::Map(BTreeMap::new()),
                Some(Step::Item(_)) => Self::List(BTreeMap::new()),
            };
            let mut is_new = false;
            let new = || {
                is_new = true;
                (line.at.clone(), new())
            };
            let (at, next) = match (step, tree) {
                (Step::Key(key), Self::Map(map)) => map.entry(key.clone()).or_insert_with(new),
                (Step::Item(item), Self::List(list)) => list.entry(*item).or_insert_with(new),
                (_, other) => {
                    let kind = other.kind();
                    let message = format!("what it stands below is {kind} already");
                    return Err(problem(ProblemKind::Conflict, message));
                }
            };
            if index + 1 == steps.len() && !is_new {
                let message = format!("the key is there already, at {at}");
                return Err(problem(ProblemKind::Duplicate, message));
            }
            tree = next;
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Text(..) => "a text",
            Self::Map(_) => "a map",
            Self::List(_) => "a list",
        }
    }

    fn node(self, at: Location) -> Result<Node, Problem> {
        match self {
            // Whatever is written is a text, even an empty one.
            Self::Text(text, at) => Ok(Node {
                value: Value::Scalar(Scalar {
                    text: text.into(),
                    quoted: true,
                }),
                at,
            }),
            Self::Map(entries) => {
                let mut map = Map::default();
                for (key, (key_at, tree)) in entries {
                    map.put(Entry {
                        key: key.into(),
                        at: key_at.clone(),
                        value: tree.node(key_at)?,
                    });
                }
                let value = Value::Map(map);
                Ok(Node { value, at })
            }
            Self::List(items) => {
                let mut nodes = Vec::new();
                for (index, (item_at, tree)) in items {
                    if index != nodes.len() {
                        let missing = nodes.len();
                        let message = format!("item [{index}] without an item [{missing}]");
                        return Err(syntax(item_at, message));
                    }
                    nodes.push(tree.node(item_at)?);
                }
                let value = Value::Seq(nodes);
                Ok(Node { value, at })
            }
        }
    }
}

fn syntax(at: Location, message: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Syntax, at, "", message)
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\u{c}')
}

/// The keys of the model that have points in them.
pub(in crate::config) const DOTTED: [&str; 10] = [
    "execute.limit",
    "execute.limit.rejected.handler",
    "force.tag",
    "heartbeat.timeout",
    "param.sign",
    "tps.limit.interval",
    "tps.limit.rate",
    "tps.limit.rejected.handler",
    "tps.limit.strategy",
    "tps.limiter",
];

/// What may have keys below it that are names of somebody else's, with points or without.
const OPEN: [&str; 4] = ["extend-params", "labels", "params", "settings"];

#[cfg(test)]
mod tests {
    use super::super::tests::{flat, problems};
    use crate::config::Format::Properties;

    #[test]
    fn a_document_is_the_same_tree_with_every_place() {
        let text = "# A comment, \\\n! and another\n\n  dubbo.application.name = gr\\u00f6\\u00dfe \\ud83d\\ude00\r\n\
            dubbo.application.version:1.10\rdubbo.application.owner an\\\n    na\\\tb\n\
            dubbo.registries.zk.address=zookeeper://a:1,\\\n\t b:2\n\
            dubbo.registries.zk.params.nacos.logDir = /tmp\n\
            dubbo.provider.filter[1] = echo\n\
            dubbo.provider.filter[0] = audit\n\
            dubbo.provider.services[com.example.Greeter].methods[0].tps.limit.rate = 5\n\
            dubbo.application.group=\n\
            dubbo.application.tag\n\
            dubbo.custom.a\\:b\\=c\\ d = e\\zf\\";
        assert_eq!(
            flat(Properties, text),
            [
                "14:25 dubbo.application.group=''",
                "4:28 dubbo.application.name='größe 😀'",
                "6:25 dubbo.application.owner='anna\\tb'",
                "15:22 dubbo.application.tag=''",
                "5:27 dubbo.application.version='1.10'",
                "16:27 dubbo.custom.a:b=c d='ezf'",
                "12:28 dubbo.provider.filter[0]='audit'",
                "11:28 dubbo.provider.filter[1]='echo'",
                "13:74 dubbo.provider.services.com.example.Greeter.methods[0].tps.limit.rate='5'",
                "8:29 dubbo.registries.zk.address='zookeeper://a:1,b:2'",
                "10:43 dubbo.registries.zk.params.nacos.logDir='/tmp'",
            ]
        );
    }

    #[test]
    fn what_makes_no_tree_is_refused_with_its_place() {
        let deep = "a.".repeat(70) + "b=1";
        for (text, want) in [
            ("a=1\na=2", "t:2:1: a: the key is there already, at t:1:1"),
            (
                "a=1\na.b=2",
                "t:2:1: a.b: what it stands below is a text already",
            ),
            (
                "a[0]=1\na.b=2",
                "t:2:1: a.b: what it stands below is a list already",
            ),
            (
                "a.b=1\na[0]=2",
                "t:2:1: a[0]: what it stands below is a map already",
            ),
            ("a[0]=1\n a[2]=2", "t:2:2: item [2] without an item [1]"),
            (
                "a[18446744073709551615]=1",
                "t:1:1: item [18446744073709551615] without an item [0]",
            ),
            ("a..b=1", "t:1:1: a..b: a part of the key is empty"),
            ("=1", "t:1:1: a part of the key is empty"),
            ("a[b=1", "t:1:1: a[b: `[` without `]`"),
            ("a[]=1", "t:1:1: a[]: `[]` says nothing"),
            ("a[b]c=1", "t:1:1: a[b]c: after `]` comes `.` or nothing"),
            ("a=x\\u12", "t:1:4: `\\u` needs four hexadecimal digits"),
            ("a=\\ud83d", "t:1:3: `\\u` with half a character"),
            ("a=\\ude00x", "t:1:3: `\\u` with half a character"),
            (&deep, "t:1:1: "),
        ] {
            let found = problems(Properties, text);
            assert!(found.starts_with(want), "{text}: {found}");
        }
        let all = problems(Properties, "a=\\uX\nb..c=1\nd=\\u1");
        assert_eq!(all.lines().count(), 3, "{all}");
    }
}
