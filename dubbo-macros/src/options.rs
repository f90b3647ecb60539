//! The options in attributes: `#[hessian(class = "com.example.User")]`, `#[dubbo(name = "overload")]`.

use syn::{Attribute, LitStr, Path, meta::ParseNestedMeta};

/// The options of all attributes `name` among `attributes`, each given to `option`.
pub(crate) fn read(
    attributes: &[Attribute],
    name: &str,
    mut option: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    for attribute in attributes.iter().filter(|a| a.path().is_ident(name)) {
        attribute.parse_nested_meta(|meta| option(&meta))?;
    }
    Ok(())
}

/// The option's name; empty when it is a longer path.
pub(crate) fn name(meta: &ParseNestedMeta<'_>) -> String {
    let ident = meta.path.get_ident();
    ident.map(ToString::to_string).unwrap_or_default()
}

/// The error for an option that is none of `known`.
pub(crate) fn unknown(meta: &ParseNestedMeta<'_>, known: &[&str]) -> syn::Error {
    let given = name(meta);
    let meant = meant(&given, known);
    meta.error(format!("there is no option `{given}` here; {meant}"))
}

/// What to write instead of `given`: the one of `known` that is close to it, or one of them all.
pub(crate) fn meant(given: &str, known: &[&str]) -> String {
    match closest(given, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("expected one of `{}`", known.join("`, `")),
    }
}

/// Sets an option that may be given once.
pub(crate) fn set<T>(
    slot: &mut Option<T>,
    meta: &ParseNestedMeta<'_>,
    value: T,
) -> syn::Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("this option is given twice")),
    }
}

/// The string of `option = "..."`.
pub(crate) fn string(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    meta.value()?.parse()
}

/// The path of `option = "path"`.
pub(crate) fn path(meta: &ParseNestedMeta<'_>) -> syn::Result<Path> {
    let text = string(meta)?;
    text.parse_with(Path::parse_mod_style)
        .map_err(|_| syn::Error::new(text.span(), "expected a path, such as \"::dubbo\""))
}

fn closest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|word| (distance(given, word), *word));
    let (distance, word) = near.min()?;
    (distance <= 1 + word.len() / 4).then_some(word)
}

/// How many letters must be added, left out or replaced to turn one word into the other, whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_another_word_is_not() {
        let known = ["default", "flatten", "rename", "skip"];
        for (given, meant) in [
            ("renam", Some("rename")),
            ("renames", Some("rename")),
            ("reanme", Some("rename")),
            ("Skip", Some("skip")),
            ("skipp", Some("skip")),
            ("defautl", Some("default")),
            ("transient", None),
            ("", None),
        ] {
            assert_eq!(closest(given, &known), meant, "{given}");
        }
    }
}
