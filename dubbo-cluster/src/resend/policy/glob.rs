//! Patterns of names.

use std::fmt;

/// A name in which `*` stands for any text, and `?` for any letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Box<str>);

impl Glob {
    /// The pattern of this text.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.into())
    }

    /// Whether `name` is one of those that it stands for.
    pub fn matches(&self, name: &str) -> bool {
        // Where the last star stood and what it stood for, to let it stand for more when the rest does not fit.
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut in_name) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, in_name));
                    at += 1;
                }
                Some(&byte) if byte == name[in_name] || byte == b'?' => {
                    at += 1;
                    in_name += 1;
                }
                _ => {
                    let Some((of, stood_for)) = star else {
                        return false;
                    };
                    star = Some((of, stood_for + 1));
                    (at, in_name) = (of + 1, stood_for + 1);
                }
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }

    /// How exact it is: one name before many, and more letters before fewer.
    pub(super) fn exactness(&self) -> (bool, usize) {
        let letters = self.0.bytes().filter(|byte| !matches!(byte, b'*' | b'?'));
        let letters = letters.count();
        (letters == self.0.len(), letters)
    }

    /// Whether it stands for every name.
    pub(super) fn is_any(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'*') && !self.0.is_empty()
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_any_letter() {
        for (pattern, name, want) in [
            ("get", "get", true),
            ("get", "gets", false),
            ("get*", "get", true),
            ("get*", "getUser", true),
            ("*User", "getUser", true),
            ("*User", "getUsers", false),
            ("g*t*r", "getUser", true),
            ("g*t*r", "getUserx", false),
            ("*a*ab", "aaab", true),
            ("ge?", "get", true),
            ("ge?", "ge", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("com.x.*", "com.x.Pay", true),
            ("com.x.*", "com.y.Pay", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), want, "{pattern} {name}");
        }
        let long = "a".repeat(5_000);
        assert!(
            !Glob::new("*a*a*a*a*b").matches(&long),
            "and no long search"
        );
    }

    #[test]
    fn one_name_is_more_exact_than_many() {
        let exactness = |pattern: &str| Glob::new(pattern).exactness();
        assert!(exactness("ab") > exactness("abc*") && exactness("abc*") > exactness("ab*"));
        assert!(Glob::new("**").is_any() && !Glob::new("").is_any() && !Glob::new("a*").is_any());
    }
}
