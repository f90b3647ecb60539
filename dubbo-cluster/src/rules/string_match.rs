//! How rules name texts without writing each of them down.

use dubbo_core::yaml::{ProblemKind, Section};
use regex::Regex;

/// A condition on one text, as rules of tags, meshes and overrides have it (`docs/spec/cluster.md` §4.8, §5).
///
/// Of several conditions the first of `exact`, `prefix`, `regex`, `wildcard`, `empty` and `noempty` counts, as in Dubbo Java.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StringMatch {
    /// The text is this.
    Exact(String),
    /// The text begins with this.
    Prefix(String),
    /// The whole text matches, as in Dubbo Java.
    Regex(WholeText),
    /// The text matches this [pattern](glob).
    Wildcard(String),
    /// There is no text, or an empty one.
    Empty,
    /// There is a text, and it is not empty.
    NotEmpty,
}

/// A regular expression for the whole of a text.
#[derive(Debug, Clone)]
pub struct WholeText(Regex);

impl StringMatch {
    /// Reads `{exact: …}` and the like. Without any condition that is a mistake, which is noted.
    pub fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let regex = s.parse("regex", "a regular expression", whole);
        // All are asked for, so that none is an unknown key.
        let (exact, prefix) = (s.string("exact"), s.string("prefix"));
        let wildcard = s.string("wildcard");
        let (empty, not_empty) = (is_said(s, "empty"), is_said(s, "noempty"));
        let said = exact
            .map(Self::Exact)
            .or_else(|| prefix.map(Self::Prefix))
            .or_else(|| regex.map(Self::Regex))
            .or_else(|| wildcard.map(Self::Wildcard))
            .or(empty.then_some(Self::Empty))
            .or(not_empty.then_some(Self::NotEmpty));
        if said.is_none() {
            let message =
                "needs one of `exact`, `prefix`, `regex`, `wildcard`, `empty` and `noempty`";
            s.error("exact", ProblemKind::Missing, message);
        }
        said
    }

    /// Whether `text` is meant. What is not there matches only [`Empty`](Self::Empty).
    pub fn matches(&self, text: Option<&str>) -> bool {
        let Some(text) = text else {
            return matches!(self, Self::Empty);
        };
        match self {
            Self::Exact(exact) => exact == text,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Regex(WholeText(regex)) => regex.is_match(text),
            Self::Wildcard(pattern) => glob(pattern, text),
            Self::Empty => text.is_empty(),
            Self::NotEmpty => !text.is_empty(),
        }
    }
}

/// Whether `text` matches `pattern`, in which the last `*` stands for anything, as in Dubbo Java. The `*` of the text has no
/// meaning.
pub fn glob(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.rsplit_once('*') else {
        return pattern == text;
    };
    text.len() >= before.len() + after.len() && text.starts_with(before) && text.ends_with(after)
}

/// Java writes `empty: ''`, and the key alone is what counts.
fn is_said(s: &mut Section<'_, '_>, key: &'static str) -> bool {
    s.string(key).is_some_and(|text| text != "false")
}

fn whole(text: &str) -> Option<WholeText> {
    let regex = Regex::new(&format!("^(?:{text})$"));
    regex.ok().map(WholeText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::read;

    #[test]
    fn the_first_condition_that_is_there_decides() {
        for (rule, yes, no) in [
            ("exact: a", "a", "ab"),
            ("prefix: a", "ab", "ba"),
            ("regex: 'a.*b'", "axb", "axbc"),
            ("regex: 'a|b'", "b", "bc"),
            ("wildcard: 'a*'", "abc", "ba"),
            ("wildcard: '*'", "", "-"),
            ("wildcard: a", "a", "ab"),
            ("empty: ''", "", "a"),
            ("noempty: ''", "a", ""),
            ("{exact: a, prefix: b}", "a", "b"),
            ("{wildcard: 'a*', regex: b}", "b", "ab"),
        ] {
            let read = read("rule", rule, StringMatch::read).expect(rule);
            let read = read.expect(rule);
            assert!(read.matches(Some(yes)), "{rule} {yes}");
            assert_eq!(read.matches(Some(no)), no == "-", "{rule} {no}");
            let is_empty = matches!(read, StringMatch::Empty);
            assert_eq!(read.matches(None), is_empty, "{rule} of nothing");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_its_place() {
        for (rule, want) in [
            (
                "regex: '('",
                "rule:1:8: regex: expected a regular expression",
            ),
            ("{}", "rule:1:1: exact: needs one of"),
        ] {
            let error = read("rule", rule, StringMatch::read).expect_err(rule);
            assert!(error.to_string().contains(want), "{error}");
        }
    }
}
