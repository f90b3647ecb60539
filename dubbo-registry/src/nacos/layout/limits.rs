//! What Nacos takes (`docs/spec/nacos-2.5.1.md` §3), and how too much metadata is made to fit.

use std::collections::BTreeMap;

/// A name that Nacos would not take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{name}` {why}")]
pub(in crate::nacos) struct Illegal {
    what: &'static str,
    name: String,
    why: String,
}

/// Metadata of which not even what consumers need would be taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what consumers need of its parameters takes {0} characters, and Nacos takes {METADATA} in all"
)]
pub(in crate::nacos) struct TooLong(usize);

/// The name of a service.
pub(in crate::nacos) fn service(name: &str) -> Result<(), Illegal> {
    let why = if name.trim().is_empty() {
        "is blank".to_owned()
    } else if name.starts_with('@') || name.contains("@@") {
        "begins with `@` or has `@@` in it, which Nacos does not take".to_owned()
    } else if let Some(character) = name.chars().find(|c| is_space(*c) || is_han(*c)) {
        format!("has {character:?} in it, which Nacos does not take")
    } else {
        return length("service", name, 512);
    };
    Err(illegal("service", name, why))
}

/// The address of an instance.
pub(in crate::nacos) fn host(name: &str) -> Result<(), Illegal> {
    if let Some(character) = name.chars().find(|c| is_space(*c) || is_han(*c)) {
        let why = format!("has {character:?} in it, which Nacos does not take");
        return Err(illegal("host", name, why));
    }
    length("host", name, 128)
}

/// The name of a group.
pub(in crate::nacos) fn group(name: &str) -> Result<(), Illegal> {
    plain("group", name, 128)
}

/// The id of a text.
pub(in crate::nacos) fn data_id(name: &str) -> Result<(), Illegal> {
    plain("data id", name, 256)
}

/// The id of a namespace, which may be empty.
pub(in crate::nacos) fn namespace(name: &str) -> Result<(), Illegal> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match name.chars().find(|c| !is_legal(*c)) {
        Some(character) => {
            let why = format!("has {character:?} in it, where Nacos takes A-Z, a-z, 0-9, - and _");
            Err(illegal("namespace", name, why))
        }
        None => length("namespace", name, 64),
    }
}

/// Leaves out as few entries as it takes for Nacos to take the rest, the longest first and of two alike the one whose key
/// is last; those that are `needed` stay. The keys of what was left out.
pub(in crate::nacos) fn fit(
    metadata: &mut BTreeMap<String, String>,
    needed: impl Fn(&str) -> bool,
) -> Result<Vec<String>, TooLong> {
    let mut size: usize = metadata.iter().map(|(key, value)| cost(key, value)).sum();
    if size <= METADATA {
        return Ok(Vec::new());
    }
    let others = metadata.iter().filter(|(key, _)| !needed(key));
    let mut others: Vec<_> = others.map(|(k, v)| (cost(k, v), k.clone())).collect();
    others.sort();
    let mut left_out = Vec::new();
    while size > METADATA {
        let (cost, key) = others.pop().ok_or(TooLong(size))?;
        metadata.remove(&key);
        size -= cost;
        left_out.push(key);
    }
    Ok(left_out)
}

/// Nacos counts the characters of Java, and none of what is blank.
fn cost(key: &str, value: &str) -> usize {
    let texts = [key, value].into_iter();
    let texts = texts.filter(|text| !text.chars().all(is_space));
    texts.map(|text| text.encode_utf16().count()).sum()
}

fn plain(what: &'static str, name: &str, most: usize) -> Result<(), Illegal> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    match name.chars().find(|c| !is_legal(*c)) {
        _ if name.is_empty() => Err(illegal(what, name, "is empty".to_owned())),
        Some(character) => {
            let why =
                format!("has {character:?} in it, where Nacos takes A-Z, a-z, 0-9, _, ., : and -");
            Err(illegal(what, name, why))
        }
        None => length(what, name, most),
    }
}

fn length(what: &'static str, name: &str, most: usize) -> Result<(), Illegal> {
    let length = name.encode_utf16().count();
    if length > most {
        let why = format!("is {length} characters long, and Nacos takes {most}");
        return Err(illegal(what, name, why));
    }
    Ok(())
}

fn illegal(what: &'static str, name: &str, why: String) -> Illegal {
    let name = name.to_owned();
    Illegal { what, name, why }
}

/// As in Java's regular expressions.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

fn is_han(c: char) -> bool {
    ('一'..='龥').contains(&c)
}

/// The most characters of an instance's metadata.
const METADATA: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_as_nacos_has_it() {
        for (name, legal) in [
            ("providers:a.B::", true),
            ("a/b,c$d%e*f@g\u{e9}\u{1f600}\u{3000}", true),
            ("", false),
            (" ", false),
            ("@a", false),
            ("a@@b", false),
            ("a b", false),
            ("a\u{b}b", false),
            ("中", false),
            (&"x".repeat(512), true),
            (&"x".repeat(513), false),
        ] {
            assert_eq!(service(name).is_ok(), legal, "{name}");
        }
        for (name, legal) in [
            ("A-z_0.9:", true),
            ("", false),
            ("a/b", false),
            ("a$b", false),
            ("a@b", false),
            ("é", false),
            (&"x".repeat(128), true),
            (&"x".repeat(129), false),
        ] {
            assert_eq!(group(name).is_ok(), legal, "{name}");
        }
        assert!(data_id(&"x".repeat(256)).is_ok());
        assert!(data_id(&"x".repeat(257)).is_err());
        assert!(namespace("").is_ok() && namespace("a-b_1").is_ok());
        assert!(namespace("a.b").is_err() && namespace(&"x".repeat(65)).is_err());
        assert!(host("2001:db8::1").is_ok() && host("").is_ok());
        assert!(host("a b").is_err() && host(&"x".repeat(129)).is_err());
    }

    #[test]
    fn what_is_refused_is_said() {
        let text = |illegal: Result<(), Illegal>| illegal.expect_err("illegal").to_string();
        assert_eq!(
            text(group("a/b")),
            "group `a/b` has '/' in it, where Nacos takes A-Z, a-z, 0-9, _, ., : and -"
        );
        let long = "x".repeat(129);
        assert_eq!(
            text(group(&long)),
            format!("group `{long}` is 129 characters long, and Nacos takes 128")
        );
    }

    #[test]
    fn registry_t07_the_longest_of_what_nobody_needs_goes_first() {
        let entry = |key: &str, length: usize| (key.to_owned(), "x".repeat(length - key.len()));
        let all = [
            entry("needed", 500),
            entry("service.filter", 300),
            entry("methods", 400),
            entry("short", 100),
        ];
        let mut metadata = BTreeMap::from(all.clone());
        let left_out = fit(&mut metadata, |key| key == "needed");
        assert_eq!(left_out, Ok(vec!["methods".to_owned()]));
        let keys: Vec<_> = metadata.keys().map(String::as_str).collect();
        assert_eq!(keys, ["needed", "service.filter", "short"]);
        // It is enough by now.
        assert_eq!(fit(&mut metadata, |_| false), Ok(Vec::new()));

        let mut metadata = BTreeMap::from(all);
        metadata.insert("needed".to_owned(), "x".repeat(1018));
        let left_out = fit(&mut metadata, |key| key == "needed").expect("fits");
        assert_eq!(left_out, ["methods", "service.filter", "short"]);
        metadata.insert("needed".to_owned(), "x".repeat(1019));
        assert_eq!(fit(&mut metadata, |_| true), Err(TooLong(1025)));
    }

    #[test]
    fn characters_are_counted_as_java_has_them() {
        for (value, fits) in [
            ("中".repeat(1023), true),
            ("中".repeat(1024), false),
            ("\u{1f600}".repeat(511), true),
            ("\u{1f600}".repeat(512), false),
            (" ".repeat(2000), true),
        ] {
            let mut metadata = BTreeMap::from([("k".to_owned(), value.clone())]);
            assert_eq!(
                fit(&mut metadata, |_| true).is_ok(),
                fits,
                "{}",
                value.len()
            );
        }
    }
}
