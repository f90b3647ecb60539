//! The documents of one text.

/// The documents of `text` that say something. Before each stand as many empty lines as lines come before it in `text`, so
/// that its places are those of the text.
pub(in super::super) fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (number, line) in text.lines().enumerate() {
        let is_end = line == MARK || line.starts_with("--- ") || line.trim_end() == MARK;
        if is_end {
            documents.push("\n".repeat(number));
        }
        if let Some(document) = documents.last_mut() {
            // What stands behind the mark belongs to the document.
            let line = if is_end { &line[MARK.len()..] } else { line };
            let blank = if is_end { "   " } else { "" };
            document.push_str(blank);
            document.push_str(line);
            document.push('\n');
        }
    }
    documents.retain(|document| document.lines().any(says_something));
    documents
}

fn says_something(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

const MARK: &str = "---";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_keeps_its_lines() {
        for (text, want) in [
            ("a: 1", &["a: 1\n"][..]),
            ("a: 1\n---\nb: 2\n", &["a: 1\n", "\n   \nb: 2\n"]),
            ("---\na: 1\n---  \n# nothing\n---\n", &["   \na: 1\n"]),
            ("--- {a: 1}\n", &["    {a: 1}\n"]),
            ("a: |\n  ---\n", &["a: |\n  ---\n"]),
            ("", &[]),
        ] {
            assert_eq!(documents(text), want, "{text}");
        }
    }
}
