//! `#[derive(Hessian)]`.

mod expand;
mod parse;

use proc_macro2::TokenStream;
use syn::{DeriveInput, Path};

/// The traits of `hessian` for `input`; `#[hessian(crate = "...")]` names another path.
pub(crate) fn expand(input: DeriveInput, hessian: Path) -> syn::Result<TokenStream> {
    parse::Class::parse(input, hessian).map(|class| expand::class(&class))
}

#[cfg(test)]
mod tests {
    use syn::{parse_quote, parse_str};

    use super::*;
    use crate::mistakes::assert_told;

    #[test]
    fn what_cannot_be_a_class_is_told() {
        for (source, messages) in [
            (
                "struct A;",
                &["needs its full name: `#[hessian(class = "][..],
            ),
            (
                "#[hessian(class = \"com.x. A\")] struct A;",
                &["`com.x. A` is not the full name"],
            ),
            (
                "#[hessian(klass = \"A\")] struct A;",
                &["no option `klass` here; did you mean `class`?"],
            ),
            (
                "#[hessian(transient)] struct A;",
                &["no option `transient` here; expected one of `class`, `crate`, `rename_all`"],
            ),
            (
                "#[hessian(class = \"A\", class = \"B\")] struct A;",
                &["given twice"],
            ),
            (
                "#[hessian(class = \"A\", rename_all = \"camelcase\")] struct A;",
                &["no case `camelcase`; did you mean `camelCase`?"],
            ),
            (
                "#[hessian(class = \"A\", rename_all = \"train\")] struct A;",
                &["no case `train`; expected one of `camelCase`, "],
            ),
            (
                "#[hessian(class = \"A\", crate = \"a b\")] struct A;",
                &["expected a path"],
            ),
            (
                "#[hessian(class = \"A\")] struct A(i32);",
                &["a tuple struct cannot be a class"],
            ),
            (
                "#[hessian(class = \"A\")] union A { x: i32 }",
                &["a union cannot be a class"],
            ),
        ] {
            assert_told(source, expanded(source), messages);
        }
    }

    #[test]
    fn what_cannot_be_a_field_is_told() {
        for (fields, messages) in [
            (
                "#[hessian(renam = \"x\")] a: i32, b_c: i32, #[hessian(rename = \"bC\")] d: i32",
                &[
                    "did you mean `rename`?",
                    "the field `bC` is there already: it is `b_c`",
                ][..],
            ),
            (
                "#[hessian(flatten)] a: B, #[hessian(flatten)] b: C",
                &["one superclass"],
            ),
            (
                "#[hessian(flatten, default)] a: B",
                &["flattened has no other options"],
            ),
            (
                "#[hessian(flatten, skip)] a: B",
                &["flattened has no other options"],
            ),
            (
                "#[hessian(skip, rename = \"b\")] a: B",
                &["skipped has no name"],
            ),
            ("#[hessian(rename = \"\")] a: B", &["not empty"]),
            ("#[hessian(default = 3)] a: B", &["expected string literal"]),
        ] {
            let source = format!("#[hessian(class = \"A\")] struct A {{ {fields} }}");
            assert_told(fields, expanded(&source), messages);
        }
    }

    #[test]
    fn what_cannot_be_a_constant_is_told() {
        for (variants, messages) in [
            ("", &["without constants"][..]),
            ("B(i32)", &["a constant has no data"]),
            ("B { c: i32 }", &["a constant has no data"]),
            ("#[hessian(flatten)] B", &["no fields to flatten"]),
            (
                "#[hessian(skip)] B, C(i32)",
                &["expected one of `other`, `rename`", "no data"],
            ),
            ("#[hessian(other)] B", &["has their name: `Other(String)`"]),
            (
                "#[hessian(other, rename = \"x\")] B(String)",
                &["no name of its own"],
            ),
            (
                "#[hessian(other)] B(String), #[hessian(other)] C(String)",
                &["a variant for all other constants before"],
            ),
            (
                "B, #[hessian(rename = \"B\")] C",
                &["the constant `B` is there already"],
            ),
        ] {
            let source = format!("#[hessian(class = \"A\")] enum A {{ {variants} }}");
            assert_told(variants, expanded(&source), messages);
        }
    }

    fn expanded(source: &str) -> syn::Result<TokenStream> {
        let input = parse_str(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        expand(input, parse_quote!(::dubbo_hessian2))
    }
}
