//! The types of a call's arguments, as the JVM writes them: `Ljava/lang/String;[I` (`docs/spec/dubbo-protocol.md` §12).

use std::borrow::Cow;

/// Reads the types of all parameters: what `Class.getName()` calls each, such as `int`, `java.lang.String`, `[I` or
/// `[Ljava.lang.String;`.
///
/// Takes what dubbo-go makes of its values too: `V` for a nil, and `[Ljava/util/Date` without its semicolon.
///
/// # Errors
///
/// The text is no list of descriptors, or a longer one than the JVM has parameters for.
pub(crate) fn parse(descriptor: &str) -> Result<Vec<Cow<'static, str>>, DescriptorError> {
    if descriptor.len() > MAX_LENGTH {
        return Err(DescriptorError::Length(descriptor.len()));
    }
    let mut names = Vec::new();
    let mut rest = descriptor;
    while !rest.is_empty() {
        if names.len() == MAX_PARAMETERS {
            return Err(DescriptorError::Count);
        }
        let (name, after) =
            take(rest).ok_or_else(|| DescriptorError::Syntax(descriptor.to_owned()))?;
        names.push(name);
        rest = after;
    }
    Ok(names)
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

/// The first type, and what is behind it.
fn take(text: &str) -> Option<(Cow<'static, str>, &str)> {
    let element = text.trim_start_matches('[');
    let dimensions = text.len() - element.len();
    let letter = element.chars().next()?;
    if let Some((_, name)) = PRIMITIVES.iter().find(|(known, _)| *known == letter) {
        let name = match dimensions {
            0 => Cow::Borrowed(*name),
            _ => Cow::Owned(text[..=dimensions].to_owned()),
        };
        return Some((name, &element[1..]));
    }
    let class = element.strip_prefix('L')?;
    let (class, after) = match class.strip_prefix(GO_DATE) {
        Some(after) if dimensions > 0 && !after.starts_with(';') => (GO_DATE, after),
        _ => class.split_once(';')?,
    };
    if !is_class(class) {
        return None;
    }
    let class = class.replace('/', ".");
    let name = match dimensions {
        0 => class,
        _ => format!("{}L{class};", &text[..dimensions]),
    };
    Some((Cow::Owned(name), after))
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
                parse(descriptor).as_deref(),
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
            let error = parse(text).expect_err(text);
            assert_eq!(error, DescriptorError::Syntax(text.to_owned()));
        }
        assert_eq!(parse(&"I".repeat(255)).map(|names| names.len()), Ok(255));
        assert_eq!(parse(&"I".repeat(256)), Err(DescriptorError::Count));
        let long = "[".repeat(MAX_LENGTH) + "I";
        assert_eq!(parse(&long), Err(DescriptorError::Length(long.len())));
    }
}
