//! A line as the name of a command and its arguments.

/// The words of `line`: parts between blanks. A blank behind a `\` belongs to its word, and loses the `\`. `invoke` takes
/// the rest of its line as one word (`docs/spec/config.md` §6.2).
pub(super) fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if let Some((name, rest)) = line.split_once(char::is_whitespace)
        && name == "invoke"
    {
        return vec![name.to_owned(), rest.trim().to_owned()];
    }
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek().is_some_and(|next| next.is_whitespace()) => {
                word.extend(letters.next());
            }
            letter if letter.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            letter => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_stand_between_words_unless_a_backslash_is_before_them() {
        for (line, want) in [
            ("ls", &["ls"][..]),
            ("  offline  a.B\tc ", &["offline", "a.B", "c"]),
            (r"a b\ c\d", &["a", r"b c\d"]),
            (r"a\", &[r"a\"]),
            ("", &[]),
            (
                r#"invoke  a.B.c({"x": "y z"}, 1)"#,
                &["invoke", r#"a.B.c({"x": "y z"}, 1)"#],
            ),
            ("invoke", &["invoke"]),
            ("invoked a b", &["invoked", "a", "b"]),
        ] {
            assert_eq!(words(line), want, "{line:?}");
        }
    }
}
