//! Names of Java types.

use std::borrow::Cow;

/// A type as `Class.getName()` gives it, from all that callers write (`docs/spec/dubbo-protocol.md` §13.1): `int[][]`,
/// `java.lang.String[]`, `[I`, `[Ljava.lang.String;`, and the latter with slashes or without its `;`, as dubbo-go has it.
/// Type arguments, which service definitions have, are erased.
///
/// A name that is none of these is returned as it is: it is that of no type.
pub(super) fn class_name<'a>(name: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
    let name = name.into();
    let text = name.trim();
    if let (Some(start), Some(end)) = (text.find('<'), text.rfind('>'))
        && start < end
    {
        let erased = format!("{}{}", &text[..start], &text[end + 1..]);
        return Cow::Owned(class_name(&*erased).into_owned());
    }
    if let Some(element) = text.strip_suffix("[]") {
        let mut element = element;
        let mut dimensions = 1;
        while let Some(inner) = element.strip_suffix("[]") {
            element = inner;
            dimensions += 1;
        }
        let element = element.trim_end();
        return format!("{}{}", "[".repeat(dimensions), element_name(element)).into();
    }
    if text.starts_with('[') {
        let class = text.trim_start_matches('[').starts_with('L');
        if class && (text.contains('/') || !text.ends_with(';')) {
            let ended = text.trim_end_matches(';').replace('/', ".");
            return format!("{ended};").into();
        }
    }
    if text.len() == name.len() {
        name
    } else {
        text.to_owned().into()
    }
}

/// What stands behind the brackets in the name of an array.
fn element_name(element: &str) -> Cow<'_, str> {
    match PRIMITIVES.iter().find(|(name, _)| *name == element) {
        Some((_, letter)) => Cow::Borrowed(letter),
        None => format!("L{element};").into(),
    }
}

const PRIMITIVES: [(&str, &str); 8] = [
    ("boolean", "Z"),
    ("byte", "B"),
    ("char", "C"),
    ("double", "D"),
    ("float", "F"),
    ("int", "I"),
    ("long", "J"),
    ("short", "S"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_type_is_one_name() {
        for (written, want) in [
            ("int", "int"),
            ("java.lang.String", "java.lang.String"),
            (" java.util.List ", "java.util.List"),
            ("com.x.Outer$Inner", "com.x.Outer$Inner"),
            ("int[]", "[I"),
            ("int[][]", "[[I"),
            ("long []", "[J"),
            ("java.lang.String[]", "[Ljava.lang.String;"),
            ("com.x.Outer$Inner[][]", "[[Lcom.x.Outer$Inner;"),
            ("[I", "[I"),
            ("[[Z", "[[Z"),
            ("[Ljava.lang.String;", "[Ljava.lang.String;"),
            ("[Ljava/lang/String;", "[Ljava.lang.String;"),
            ("[Ljava.util.Date", "[Ljava.util.Date;"),
            ("java.util.List<java.lang.String>", "java.util.List"),
            (
                "java.util.Map<java.lang.String,java.util.List<com.x.A>>",
                "java.util.Map",
            ),
            ("java.util.List<com.x.A>[]", "[Ljava.util.List;"),
            ("", ""),
            ("<", "<"),
            ("><", "><"),
            ("[", "["),
            ("[]", "[L;"),
        ] {
            assert_eq!(class_name(written), want, "{written:?}");
        }
    }
}
