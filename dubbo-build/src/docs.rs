//! Comments of proto files as documentation.

use syn::{Attribute, Expr, Lit, Meta, parse_quote, visit_mut::VisitMut};

/// Marks code in comments as text. Rustdoc takes code without a language for Rust, and `cargo test` would run it.
pub(crate) struct CodeIsText;

impl VisitMut for CodeIsText {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
        let marked = mark_code(&lines);
        if marked != lines {
            let others = attributes
                .iter()
                .filter(|attribute| doc_line(attribute).is_none());
            let others: Vec<_> = others.cloned().collect();
            *attributes = marked
                .iter()
                .map(|line| parse_quote!(#[doc = #line]))
                .collect();
            attributes.extend(others);
        }
    }
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    match &meta.value {
        Expr::Lit(value) if meta.path.is_ident("doc") => match &value.lit {
            Lit::Str(line) => Some(line.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Markdown has two kinds of code: between fences, and four spaces in after an empty line.
fn mark_code(lines: &[String]) -> Vec<String> {
    let mut marked: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut indented = false;
    let mut after_empty = true;
    for line in lines {
        let text = line.trim();
        let found = ["```", "~~~"]
            .into_iter()
            .find(|mark| text.starts_with(mark));
        // The text of a comment begins after one space.
        let is_deep = line.starts_with(CODE_INDENT) && !text.is_empty();
        if indented && !is_deep && !text.is_empty() {
            close(&mut marked);
            indented = false;
        }
        match (fence, found) {
            (None, Some(mark)) => {
                fence = Some(mark);
                let language = text.trim_start_matches(mark.chars().next().unwrap_or('`'));
                let is_rust = language.is_empty() || language.starts_with("rust");
                marked.push(if is_rust {
                    format!(" {mark}text")
                } else {
                    line.clone()
                });
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                marked.push(line.clone());
            }
            (None, None) if is_deep && after_empty && !indented => {
                marked.extend([" ```text".to_owned(), line.clone()]);
                indented = true;
            }
            _ => marked.push(line.clone()),
        }
        after_empty = text.is_empty();
    }
    if indented {
        close(&mut marked);
    }
    if let Some(open) = fence {
        marked.push(format!(" {open}"));
    }
    marked
}

/// Ends a block before the empty lines that follow it.
fn close(marked: &mut Vec<String>) {
    let empty = marked
        .iter()
        .rev()
        .take_while(|line| line.trim().is_empty())
        .count();
    marked.insert(marked.len() - empty, " ```".to_owned());
}

const CODE_INDENT: &str = "     ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_text_and_the_rest_stays() {
        let cases: [(&[&str], &[&str]); 6] = [
            (
                &[" A sentence.", "", " - a list", "   goes on"],
                &[" A sentence.", "", " - a list", "   goes on"],
            ),
            (
                &[" See:", "", "     let a;", "     b", "", " End."],
                &[
                    " See:",
                    "",
                    " ```text",
                    "     let a;",
                    "     b",
                    " ```",
                    "",
                    " End.",
                ],
            ),
            (&[" Not code:", "     deep"], &[" Not code:", "     deep"]),
            (&[" ```", " a", " ```"], &[" ```text", " a", " ```"]),
            (&[" ```json", " {}", " ```"], &[" ```json", " {}", " ```"]),
            (
                &["", "     last", ""],
                &["", " ```text", "     last", " ```", ""],
            ),
        ];
        for (given, want) in cases {
            let given: Vec<_> = given.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(mark_code(&given), want, "{given:?}");
        }
    }
}
