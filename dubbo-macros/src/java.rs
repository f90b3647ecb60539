//! What Java allows as names.

use syn::{LitStr, meta::ParseNestedMeta};

use crate::options;

/// The full name of a class or an interface: `com.example.User`, `com.example.Outer$Inner`.
///
/// Peers in other languages have more letters than Java in what they call a class; what no peer can have is refused.
pub(crate) fn class_name(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let text = options::string(meta)?;
    let name = text.value();
    let never = |c: char| c.is_whitespace() || c.is_control() || "<>[];:/,".contains(c);
    if !name.contains(never) && name.split('.').all(|part| !part.is_empty()) {
        return Ok(name);
    }
    Err(syn::Error::new(
        text.span(),
        format!("`{name}` is not the full name of a Java class, such as `com.example.User`"),
    ))
}

/// The name of a method.
pub(crate) fn identifier(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let text = options::string(meta)?;
    let name = text.value();
    if is_identifier(&name) {
        return Ok(name);
    }
    Err(syn::Error::new(
        text.span(),
        format!("`{name}` cannot be the name of a method in Java"),
    ))
}

/// A type as `Class.getName()` gives it: `int`, `java.lang.String`, `[I`, `[Ljava.lang.String;`.
pub(crate) fn type_name(text: &LitStr) -> syn::Result<String> {
    let name = text.value();
    let element = name.trim_start_matches('[');
    let valid = if element.len() == name.len() {
        is_class_name(&name)
    } else {
        let class = element
            .strip_prefix('L')
            .and_then(|rest| rest.strip_suffix(';'));
        PRIMITIVES.contains(&element) || class.is_some_and(is_class_name)
    };
    if valid {
        return Ok(name);
    }
    let how = match name.split_once('<') {
        Some((erased, _)) => format!("Java erases generics: write `{erased}`"),
        None => "write it as `Class.getName()` gives it: `int`, `java.lang.String`, \
                 `[I`, `[Ljava.lang.String;`"
            .to_owned(),
    };
    Err(syn::Error::new(
        text.span(),
        format!("`{name}` does not name a Java type; {how}"),
    ))
}

fn is_class_name(name: &str) -> bool {
    name.split('.').all(is_identifier)
}

fn is_identifier(name: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    name.starts_with(starts) && name.chars().all(|c| starts(c) || c.is_numeric())
}

/// What stands for a primitive type in the name of an array.
const PRIMITIVES: [&str; 8] = ["B", "C", "D", "F", "I", "J", "S", "Z"];

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    #[test]
    fn types_are_named_as_java_names_classes() {
        for (name, message) in [
            ("int", None),
            ("java.lang.String", None),
            ("com.x.Outer$Inner", None),
            ("[I", None),
            ("[[Z", None),
            ("[Ljava.lang.String;", None),
            ("", Some("Class.getName()")),
            ("java.util.List<User>", Some("write `java.util.List`")),
            ("int[]", Some("Class.getName()")),
            ("[int", Some("Class.getName()")),
            ("[L;", Some("Class.getName()")),
            ("java..String", Some("Class.getName()")),
            ("java.lang.String ", Some("Class.getName()")),
        ] {
            let got = type_name(&LitStr::new(name, Span::call_site()));
            match (got, message) {
                (Ok(got), None) => assert_eq!(got, name),
                (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
                (got, _) => panic!("{name:?}: {got:?}"),
            }
        }
    }
}
