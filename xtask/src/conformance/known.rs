//! The list of cases in which Triple says other than Connect. The suite's runner reads it too: it fails when a case on
//! it passes, and when an entry matches no case.
//!
//! A line that begins with `#` names the rule of the entries below it, as `docs/spec/triple.md §5.3` and a reason.

use std::fmt;

use crate::{failure::Failure, process};

/// An entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    pattern: String,
    rule: String,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  ({})", self.pattern, self.rule)
    }
}

/// The entries of `text`, the list at `path`.
///
/// # Errors
///
/// An entry has no rule, or a rule that the specification does not have.
pub(super) fn read(text: &str, path: &str) -> Result<Vec<Known>, Failure> {
    let specification = process::read(SPECIFICATION)?;
    let (known, problems) = read_by(text, &specification);
    let problems: Vec<_> = problems
        .iter()
        .map(|problem| format!("{path}: {problem}"))
        .collect();
    Failure::unless_none(
        &problems,
        "name the rule of Triple in a line above the entry, or mend what fails",
    )?;
    Ok(known)
}

fn read_by(text: &str, specification: &str) -> (Vec<Known>, Vec<String>) {
    let (mut known, mut problems) = (Vec::new(), Vec::new());
    let mut rule = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            rule = None;
        } else if let Some(comment) = line.strip_prefix('#') {
            let cited = comment.trim().strip_prefix(SPECIFICATION);
            if let Some(section) = cited.and_then(|rest| rest.trim().strip_prefix('§')) {
                let section = section.split([':', ' ']).next().unwrap_or_default();
                if has_section(specification, section) {
                    rule = Some(format!("§{section}"));
                } else {
                    problems.push(format!("there is no §{section} in {SPECIFICATION}"));
                }
            }
        } else if let Some(rule) = &rule {
            known.push(Known {
                pattern: line.to_owned(),
                rule: rule.clone(),
            });
        } else {
            problems.push(format!("`{line}` has no rule"));
        }
    }
    (known, problems)
}

fn has_section(specification: &str, section: &str) -> bool {
    let headings = specification.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.trim())
    });
    let mut numbers = headings.filter_map(|heading| heading.split(' ').next());
    numbers.any(|number| number.trim_end_matches('.') == section)
}

const SPECIFICATION: &str = "docs/spec/triple.md";

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "## 5. Unary\n### 5.3 Codes\ntext 9.9\n";

    #[test]
    fn entries_have_the_rule_above_them() {
        let list = "# Statuses.\n# docs/spec/triple.md §5.3: 408, not 499\na/**/b\nc\n\n# docs/spec/triple.md §5\nd\n";
        let (known, problems) = read_by(list, SPEC);
        let known: Vec<_> = known.iter().map(Known::to_string).collect();
        assert_eq!(known, ["a/**/b  (§5.3)", "c  (§5.3)", "d  (§5)"]);
        assert_eq!(problems, [""; 0]);
    }

    #[test]
    fn an_entry_without_a_rule_is_refused() {
        for (list, want) in [
            ("a/b\n", "`a/b` has no rule"),
            (
                "# docs/spec/triple.md §5.3\nx\n\na/b\n",
                "`a/b` has no rule",
            ),
            ("# because\na/b\n", "`a/b` has no rule"),
            (
                "# docs/spec/triple.md §9.9: x\n",
                "there is no §9.9 in docs/spec/triple.md",
            ),
        ] {
            let (_, problems) = read_by(list, SPEC);
            assert_eq!(problems, [want], "{list}");
        }
    }
}
