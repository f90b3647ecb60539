use dubbo_core::yaml::{Node, Path, Problem, ProblemKind, Problems, Value};

use super::Environment;

/// Puts values in the place of `${key}` and `${key:default}`, in every text of `document`.
///
/// `key` is the path of another text of the document, such as `dubbo.custom.config-map.zk` (a variable that overrides that
/// key counts), or else the name of an environment variable. A placeholder may stand inside a longer text, and a default
/// or the text of another key may have placeholders of its own. `$${` is a `${` that means nothing.
///
/// A placeholder without value and default is an error if `strict`; otherwise it is empty, with a warning.
pub(super) fn resolve(
    document: &Node,
    environment: &Environment,
    strict: bool,
    problems: &mut Problems,
) -> Node {
    let mut resolved = document.clone();
    let root = Path::default();
    Resolver::new(document, environment).resolve(&mut resolved, &root, strict, problems);
    resolved
}

/// The text of the key at this path, with its placeholders resolved as well as they can be.
pub(super) fn text_of(key: &str, document: &Node, environment: &Environment) -> Option<Node> {
    if let Some(node) = environment.node(key) {
        return Some(node);
    }
    let node = find(document, key).filter(|node| !node.is_null())?;
    let resolved = Resolver::new(document, environment).text(node.as_text()?);
    resolved
        .ok()
        .map(|(text, _)| Node::scalar(text, node.at.clone()))
}

struct Resolver<'a> {
    document: &'a Node,
    environment: &'a Environment,
    /// How many more placeholders are looked at.
    budget: usize,
    /// The keys whose texts are being expanded.
    open: Vec<String>,
    /// How many texts are inside each other at the moment.
    depth: usize,
    /// The placeholders of the current text that have no value.
    missing: Vec<String>,
}

impl<'a> Resolver<'a> {
    fn new(document: &'a Node, environment: &'a Environment) -> Self {
        Self {
            document,
            environment,
            budget: MAX_PLACEHOLDERS,
            open: Vec::new(),
            depth: 0,
            missing: Vec::new(),
        }
    }

    fn resolve(&mut self, node: &mut Node, path: &Path, strict: bool, problems: &mut Problems) {
        match &mut node.value {
            Value::Map(map) => {
                for (key, value) in map.iter_mut() {
                    self.resolve(value, &path.join(key), strict, problems);
                }
            }
            Value::Seq(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.resolve(item, &path.join(format!("[{index}]")), strict, problems);
                }
            }
            Value::Scalar(scalar) if scalar.text.contains(OPEN) => {
                let problem = |message| {
                    let path = path.to_string();
                    Problem::new(ProblemKind::Unresolved, node.at.clone(), path, message)
                };
                match self.text(&scalar.text) {
                    Ok((text, missing)) => {
                        for key in missing {
                            let message = format!(
                                "`${{{key}}}` is neither a key nor an environment variable, and has no default"
                            );
                            if strict {
                                problems.error(problem(message));
                            } else {
                                problems.warn(problem(message));
                            }
                        }
                        scalar.text = text.into();
                    }
                    Err(message) => problems.error(problem(message)),
                }
            }
            Value::Scalar(_) => {}
        }
    }

    /// The expanded text and the placeholders in it that have no value, or what is wrong with it.
    fn text(&mut self, text: &str) -> Result<(String, Vec<String>), String> {
        self.open.clear();
        self.missing.clear();
        self.depth = 0;
        let mut expanded = String::new();
        self.expand(text, &mut expanded)?;
        Ok((expanded, std::mem::take(&mut self.missing)))
    }

    fn expand(&mut self, text: &str, expanded: &mut String) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!(
                "more than {MAX_DEPTH} placeholders inside each other"
            ));
        }
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            if let Some(before) = before.strip_suffix('$') {
                expanded.push_str(before);
                expanded.push_str(OPEN);
                rest = after;
                continue;
            }
            expanded.push_str(before);
            let end =
                closing_brace(after).ok_or("`${` without `}`; if none is meant, write `$${`")?;
            self.substitute(&after[..end], expanded)?;
            rest = &after[end + 1..];
        }
        expanded.push_str(rest);
        if expanded.len() > MAX_LENGTH {
            return Err(format!(
                "more than {MAX_LENGTH} bytes with its placeholders resolved"
            ));
        }
        self.depth -= 1;
        Ok(())
    }

    fn substitute(&mut self, placeholder: &str, expanded: &mut String) -> Result<(), String> {
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| format!("more than {MAX_PLACEHOLDERS} placeholders in one document"))?;
        let (key, default) = match placeholder.split_once(':') {
            Some((key, default)) => (key.trim(), Some(default.trim())),
            None => (placeholder.trim(), None),
        };
        if let Some(node) = self.environment.node(key) {
            expanded.push_str(node.as_text().unwrap_or_default());
        } else if let Some(node) = find(self.document, key).filter(|node| !node.is_null()) {
            let text = node
                .as_text()
                .ok_or_else(|| format!("`{key}` is {}, not a text", node.kind()))?;
            if self.open.iter().any(|open| open == key) {
                return Err(format!("`{key}` refers to itself"));
            }
            self.open.push(key.to_owned());
            self.expand(text, expanded)?;
            self.open.pop();
        } else if let Some(value) = self.environment.get(key) {
            expanded.push_str(value);
        } else if let Some(default) = default {
            self.expand(default, expanded)?;
        } else {
            self.missing.push(key.to_owned());
        }
        Ok(())
    }
}

/// Where the `}` stands that ends the placeholder whose inside begins here.
fn closing_brace(text: &str) -> Option<usize> {
    let mut inner = 0_usize;
    for (at, letter) in text.char_indices() {
        if letter == '}' {
            match inner.checked_sub(1) {
                Some(less) => inner = less,
                None => return Some(at),
            }
        } else if text[at..].starts_with(OPEN) {
            inner += 1;
        }
    }
    None
}

/// The value at this path. A key of a map may itself have points in it.
fn find<'n>(node: &'n Node, path: &str) -> Option<&'n Node> {
    let map = node.as_map()?;
    if let Some(entry) = map.get(path) {
        return Some(&entry.value);
    }
    path.match_indices('.').find_map(|(at, _)| {
        let entry = map.get(&path[..at])?;
        find(&entry.value, &path[at + 1..])
    })
}

const OPEN: &str = "${";

/// So many texts inside each other are followed.
const MAX_DEPTH: usize = 32;

/// The longest text that placeholders may grow to.
const MAX_LENGTH: usize = 64 << 10;

/// The most placeholders of one document, those that other keys repeat included.
const MAX_PLACEHOLDERS: usize = 10_000;

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use dubbo_core::yaml::parse;

    use super::*;

    #[test]
    fn a_placeholder_is_a_key_or_a_variable_or_its_default() {
        let environment = Environment::from_iter([
            ("ZK_ADDR", "10.0.0.9:2181"),
            ("DUBBO_APPLICATION_NAME", "from-env"),
            ("EMPTY", ""),
            ("dubbo.custom.host", "the key is stronger"),
        ]);
        for (text, want) in [
            ("${dubbo.custom.host}", "10.0.0.1"),
            ("  ${ dubbo.custom.host : x }", "10.0.0.1"),
            ("${dubbo.custom.host}:${dubbo.custom.port}", "10.0.0.1:2181"),
            ("tri://${dubbo.custom.address}/x", "tri://10.0.0.1:2181/x"),
            ("${dubbo.application.name}", "from-env"),
            ("${ZK_ADDR:127.0.0.1:2181}", "10.0.0.9:2181"),
            ("${NO_ADDR:127.0.0.1:2181}", "127.0.0.1:2181"),
            ("${EMPTY:d}", "d"),
            ("${NOPE:${dubbo.custom.port}}", "2181"),
            ("${NOPE:}", ""),
            ("${dubbo.custom.nothing:d}", "d"),
            (
                "${dubbo.consumer.references.com.example.Greeter.group}",
                "g1",
            ),
            ("$${ZK_ADDR} ${ZK_ADDR}", "${ZK_ADDR} 10.0.0.9:2181"),
            ("$ZK_ADDR {}", "$ZK_ADDR {}"),
        ] {
            assert_eq!(
                resolved(text, &environment, true),
                Ok(want.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_placeholder_without_a_value_says_so() {
        let environment = Environment::default();
        let deep = "${a:".repeat(40) + &"}".repeat(40);
        for (text, want) in [
            (
                "x${NOPE}",
                "t.yaml:2:8: probe: `${NOPE}` is neither a key nor an environment variable, and has no default",
            ),
            (
                "${dubbo.custom",
                "t.yaml:2:8: probe: `${` without `}`; if none is meant, write `$${`",
            ),
            (
                "${dubbo.custom}",
                "t.yaml:2:8: probe: `dubbo.custom` is a map, not a text",
            ),
            (
                "${dubbo.custom.me}",
                "t.yaml:2:8: probe: `dubbo.custom.me` refers to itself",
            ),
            (
                &deep,
                "t.yaml:2:8: probe: more than 32 placeholders inside each other",
            ),
            (
                "${dubbo.b9}",
                "t.yaml:2:8: probe: more than 10000 placeholders in one document",
            ),
            (
                "${dubbo.l4}",
                "t.yaml:2:8: probe: more than 65536 bytes with its placeholders resolved",
            ),
        ] {
            let problems = resolved(text, &environment, true).expect_err(text);
            assert!(problems.contains(&want.to_owned()), "{text}: {problems:?}");
        }
        assert_eq!(
            resolved("x${NOPE}y", &environment, false),
            Ok("xy".to_owned())
        );
    }

    /// What becomes of `probe`, or what is wrong with it.
    fn resolved(
        probe: &str,
        environment: &Environment,
        strict: bool,
    ) -> Result<String, Vec<String>> {
        let mut text = format!(
            "# The first line.
probe: '{probe}'
dubbo:
  custom:
    host: 10.0.0.1
    port: 2181
    nothing:
    address: '${{dubbo.custom.host}}:${{dubbo.custom.port}}'
    me: 'x${{dubbo.custom.me}}'
  consumer: {{references: {{com.example.Greeter: {{group: g1}}}}}}
  b0: ''
  l0: xxxxxxxxxx
"
        );
        for level in 1..10 {
            for name in ["b", "l"] {
                let below = format!("${{dubbo.{name}{}}}", level - 1).repeat(10);
                writeln!(text, "  {name}{level}: {below}").expect("a string takes all");
            }
        }
        let mut problems = Problems::default();
        let document = parse("t.yaml", &text, &mut problems).expect("valid YAML");
        let resolved = resolve(&document, environment, strict, &mut problems);
        let (errors, _) = problems.into_parts();
        let errors = errors.iter().filter(|problem| problem.path == "probe");
        let errors: Vec<_> = errors.map(ToString::to_string).collect();
        if errors.is_empty() {
            let probe = find(&resolved, "probe").and_then(Node::as_text);
            Ok(probe.expect("a text").trim().to_owned())
        } else {
            Err(errors)
        }
    }
}
