//! The types of a call's arguments, as the JVM writes them: `Ljava/lang/String;[I` (`docs/spec/dubbo-protocol.md` §12).

use std::borrow::Cow;

/// How many parameters there are.
///
/// # Errors
///
/// The text is no list of descriptors, or a longer one than the JVM has parameters for.
pub(crate) fn count(descriptor: &str) -> Result<usize, DescriptorError> {
    walk(descriptor, |_| ())
}

/// The types of all parameters: what `Class.getName()` calls each, such as `int`, `java.lang.String`, `[I` or
/// `[Ljava.lang.String;`.
///
/// # Errors
///
/// As [`count`].
pub(crate) fn names(descriptor: &str) -> Result<Vec<Cow<'static, str>>, DescriptorError> {
    let mut names = Vec::new();
    walk(descriptor, |one| names.push(name(one)))?;
    Ok(names)
}

/// Calls `each` with every descriptor of a list: how many there are.
///
/// Takes what dubbo-go makes of its values too: `V` for a nil, and `[Ljava/util/Date` without its semicolon.
fn walk<'a>(descriptor: &'a str, mut each: impl FnMut(&'a str)) -> Result<usize, DescriptorError> {
    if descriptor.len() > MAX_LENGTH {
        return Err(DescriptorError::Length(descriptor.len()));
    }
    let mut count = 0;
    let mut rest = descriptor;
    while !rest.is_empty() {
        if count == MAX_PARAMETERS {
            return Err(DescriptorError::Count);
        }
        let (one, after) =
            take(rest).ok_or_else(|| DescriptorError::Syntax(descriptor.to_owned()))?;
        each(one);
        count += 1;
        rest = after;
    }
    Ok(count)
}

/// A text that is no list of type descriptors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DescriptorError {
    /// More types than a method of Java can have.
    #[error(
        "the parameter types are more than the {MAX_PARAMETERS} that a method of Java can have"
    )]
    Count,
    /// An endless text.
    #[error("the parameter types are a text of {0} bytes; the limit is {MAX_LENGTH}")]
    Length(usize),
    /// Something else.
    #[error("{0:?} is no list of JVM type descriptors, such as `Ljava/lang/String;[IJ`")]
    Syntax(String),
}

/// The first descriptor, without its semicolon, and what is behind it.
fn take(text: &str) -> Option<(&str, &str)> {
    let element = text.trim_start_matches('[');
    let dimensions = text.len() - element.len();
    if let Some(class) = element.strip_prefix('L') {
        let (class, after) = match class.strip_prefix(GO_DATE) {
            Some(after) if dimensions > 0 && !after.starts_with(';') => (GO_DATE, after),
            _ => class.split_once(';')?,
        };
        let one = &text[..=dimensions + class.len()];
        return is_class(class).then_some((one, after));
    }
    let letter = element.chars().next()?;
    primitive(letter)?;
    Some(text.split_at(dimensions + 1))
}

/// What `Class.getName()` calls a descriptor without its semicolon.
fn name(one: &str) -> Cow<'static, str> {
    let array = one.starts_with('[');
    let is_class = one.trim_start_matches('[').starts_with('L');
    Cow::Owned(match (array, is_class) {
        (true, true) => format!("{};", one.replace('/', ".")),
        (true, false) => one.to_owned(),
        (false, true) => one[1..].replace('/', "."),
        (false, false) => {
            let name = one.chars().next().and_then(primitive);
            return Cow::Borrowed(name.unwrap_or_default());
        }
    })
}

fn primitive(letter: char) -> Option<&'static str> {
    let found = PRIMITIVES.iter().find(|(known, _)| *known == letter);
    found.map(|(_, name)| *name)
}

fn is_class(name: &str) -> bool {
    name.split('/').all(|part| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || "_$".contains(c))
    })
}

/// The array of it is the one that dubbo-go leaves the semicolon off.
const GO_DATE: &str = "java/util/Date";

/// The JVM's limit.
const MAX_PARAMETERS: usize = 255;
/// The longest text that a class file has room for.
const MAX_LENGTH: usize = 64 << 10;

const PRIMITIVES: [(char, &str); 9] = [
    ('B', "byte"),
    ('C', "char"),
    ('D', "double"),
    ('F', "float"),
    ('I', "int"),
    ('J', "long"),
    ('S', "short"),
    ('V', "void"),
    ('Z', "boolean"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_become_the_names_of_classes() {
        for (descriptor, want) in [
            ("", &[][..]),
            ("Ljava/lang/String;", &["java.lang.String"]),
            (
                "Ljava/lang/String;[ILjava/util/Map;",
                &["java.lang.String", "[I", "java.util.Map"],
            ),
            ("[Lpkg/Foo$Bar;J", &["[Lpkg.Foo$Bar;", "long"]),
            ("[[Ljava/lang/String;[[Z", &["[[Ljava.lang.String;", "[[Z"]),
            (
                "ZBCDFIJS",
                &[
                    "boolean", "byte", "char", "double", "float", "int", "long", "short",
                ],
            ),
            // What dubbo-go makes of a nil.
            ("VJ", &["void", "long"]),
            ("[Ljava/util/Date", &["[Ljava.util.Date;"]),
            ("[Ljava/util/Date;", &["[Ljava.util.Date;"]),
            (
                "[Ljava/util/DateLjava/util/Date;I",
                &["[Ljava.util.Date;", "java.util.Date", "int"],
            ),
        ] {
            assert_eq!(
                names(descriptor).as_deref(),
                Ok(&want
                    .iter()
                    .map(|&name| Cow::Borrowed(name))
                    .collect::<Vec<_>>()[..]),
                "{descriptor}"
            );
        }
    }

    #[test]
    fn what_is_no_descriptor_is_refused() {
        for text in [
            "[",
            "L",
            "L;",
            "Ljava/lang/String",
            "Ljava//String;",
            "X",
            "I I",
            "int",
            "L/a;",
            "La/;",
            "Ljava/util/Date",
            "Lé",
            "é",
        ] {
            let error = names(text).expect_err(text);
            assert_eq!(error, DescriptorError::Syntax(text.to_owned()));
        }
        assert_eq!(count(&"I".repeat(255)), Ok(255));
        assert_eq!(count(&"I".repeat(256)), Err(DescriptorError::Count));
        let long = "[".repeat(MAX_LENGTH) + "I";
        assert_eq!(count(&long), Err(DescriptorError::Length(long.len())));
    }
}
