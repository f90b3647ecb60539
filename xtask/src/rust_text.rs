//! Rust source as lines of code and comment, so that a rule about code is not tripped by a string or a comment.

/// One line of a source file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, with what stands in string and character literals left out.
    pub(crate) code: String,
    /// What stands in comments.
    pub(crate) comment: String,
    /// What stands in string literals.
    pub(crate) strings: String,
}

/// Tells code, comments and strings apart.
pub(crate) fn lines(source: &str) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let (length, after) = state.step(rest, next);
        let (token, left) = rest.split_at(length);
        // A token belongs to where it was read, so that quotes stay with the code.
        let text = token.trim_end_matches('\n');
        if let Some(line) = lines.last_mut() {
            match state {
                State::Code => line.code.push_str(text),
                State::LineComment | State::BlockComment(_) => line.comment.push_str(text),
                State::Text | State::RawText(_) => line.strings.push_str(text),
            }
        }
        if token.ends_with('\n') {
            lines.push(Line::default());
        }
        state = after;
        rest = left;
    }
    lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    BlockComment(usize),
    Code,
    LineComment,
    /// In a raw string closed by a quote and this many hashes.
    RawText(usize),
    Text,
}

impl State {
    /// How many bytes the next token of `rest` has, and the state after it. `next` is the first character.
    fn step(self, rest: &str, next: char) -> (usize, Self) {
        let one = (next.len_utf8(), self);
        match self {
            Self::BlockComment(depth) if rest.starts_with("*/") => {
                let after = if depth == 1 {
                    Self::Code
                } else {
                    Self::BlockComment(depth - 1)
                };
                (2, after)
            }
            Self::BlockComment(depth) if rest.starts_with("/*") => {
                (2, Self::BlockComment(depth + 1))
            }
            Self::Code if rest.starts_with("//") => (2, Self::LineComment),
            Self::Code if rest.starts_with("/*") => (2, Self::BlockComment(1)),
            Self::Code if next == '"' => (1, Self::Text),
            Self::Code if next == '\'' => (char_literal(rest).unwrap_or(1), self),
            Self::Code if next.is_alphanumeric() || next == '_' => word(rest),
            Self::LineComment if next == '\n' => (1, Self::Code),
            Self::RawText(hashes) if closes(rest, hashes) => (1 + hashes, Self::Code),
            // The character after a backslash says nothing, unless it ends the line.
            Self::Text if next == '\\' => {
                let escaped = rest[1..].chars().next().filter(|c| *c != '\n');
                (1 + escaped.map_or(0, char::len_utf8), self)
            }
            Self::Text if next == '"' => (1, Self::Code),
            _ => one,
        }
    }
}

/// A word of code; the prefix of a raw string takes its opening quote with it.
fn word(rest: &str) -> (usize, State) {
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    if ["r", "br", "cr"].contains(&&rest[..end]) {
        let hashes = rest[end..].bytes().take_while(|byte| *byte == b'#').count();
        if rest[end + hashes..].starts_with('"') {
            return (end + hashes + 1, State::RawText(hashes));
        }
    }
    (end, State::Code)
}

/// The length of the character literal that `rest` starts with; a lifetime is none.
fn char_literal(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        // The character after the backslash may itself be a quote.
        chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

fn closes(rest: &str, hashes: usize) -> bool {
    rest.strip_prefix('"')
        .is_some_and(|after| after.bytes().take_while(|byte| *byte == b'#').count() >= hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        for (source, code, comment, strings) in [
            ("a(); // b", "a(); //", " b", ""),
            ("a(\"b // c\"); d", "a(\"); d", "", "b // c\""),
            (r#"a("b\"c"); d"#, "a(\"); d", "", "b\\\"c\""),
            ("a /* b /* c */ d */ e", "a /* e", " b /* c */ d */", ""),
            ("a(r#\"b\"c\"#, 'd')", "a(r#\", 'd')", "", "b\"c\"#"),
            ("a('\"', '\\'', \"b\")", "a('\"', '\\'', \")", "", "b\""),
            (
                "fn a<'b>(c: &'b str) // d",
                "fn a<'b>(c: &'b str) //",
                " d",
                "",
            ),
            ("for r in \"b\" {}", "for r in \" {}", "", "b\""),
            ("\"ä\\ä\" ö // ü", "\" ö //", " ü", "ä\\ä\""),
        ] {
            let want = Line {
                code: code.to_owned(),
                comment: comment.to_owned(),
                strings: strings.to_owned(),
            };
            assert_eq!(lines(source), [want], "source {source}");
        }
    }

    #[test]
    fn what_spans_lines_stays_what_it_is() {
        let codes = |source| {
            lines(source)
                .into_iter()
                .map(|line| line.code)
                .collect::<Vec<_>>()
        };
        assert_eq!(codes("a \"b\nc\" d"), ["a \"", " d"]);
        assert_eq!(codes("a \"b\\\nc\" d"), ["a \"", " d"]);
        assert_eq!(codes("a /* b\nc */ d"), ["a /*", " d"]);
        assert_eq!(codes("a // b\nc"), ["a //", "c"]);
    }
}
