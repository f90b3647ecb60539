//! The table at the end.

use std::fmt::Write as _;

/// A case and how it went in each direction.
#[derive(Debug)]
pub(super) struct Row {
    case: String,
    pub(super) cells: Vec<Cell>,
}

/// How a case went in one direction.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) direction: &'static str,
    pub(super) problems: Vec<String>,
    /// What is special about it.
    pub(super) note: &'static str,
}

impl Row {
    pub(super) fn new(case: &str) -> Self {
        Self {
            case: case.to_owned(),
            cells: Vec::new(),
        }
    }
}

impl Cell {
    fn word(&self) -> &'static str {
        if self.problems.is_empty() {
            "ok"
        } else {
            "FAILED"
        }
    }
}

/// The table, every problem, and the count alone on the last line; also how many checks failed.
pub(super) fn render(rows: &[Row]) -> (String, usize) {
    let width = rows.iter().map(|row| row.case.len()).max().unwrap_or(0);
    let mut text = format!("\n{:width$}", "case");
    for cell in rows.first().iter().flat_map(|row| &row.cells) {
        let _ = write!(text, "  {}", cell.direction);
    }
    text.push_str("  note\n");
    let mut problems = String::new();
    let (mut passed, mut failed) = (0, 0);
    for row in rows {
        let mut line = format!("{:width$}", row.case);
        let mut notes = Vec::new();
        for cell in &row.cells {
            let column = cell.direction.chars().count();
            let _ = write!(line, "  {:column$}", cell.word());
            if !cell.note.is_empty() {
                notes.push(format!("{}: {}", cell.direction, cell.note));
            }
            if cell.problems.is_empty() {
                passed += 1;
                continue;
            }
            failed += 1;
            let _ = writeln!(
                problems,
                "\n{} {}:\n  {}",
                row.case,
                cell.direction,
                cell.problems.join("\n  ")
            );
        }
        let _ = write!(line, "  {}", notes.join("; "));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    (
        format!("{text}{problems}\n{passed} passed, {failed} failed"),
        failed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(direction: &'static str, problems: &[&str], note: &'static str) -> Cell {
        Cell {
            direction,
            problems: problems.iter().map(|&problem| problem.to_owned()).collect(),
            note,
        }
    }

    #[test]
    fn the_table_names_what_failed_and_ends_with_the_count() {
        let rows = [
            Row {
                case: "greet".to_owned(),
                cells: vec![cell("A→B", &[], ""), cell("B→A", &["no"], "")],
            },
            Row {
                case: "int".to_owned(),
                cells: vec![cell("A→B", &[], "A is odd"), cell("B→A", &[], "")],
            },
        ];
        let (text, failed) = render(&rows);
        assert_eq!(failed, 1);
        assert_eq!(
            text,
            "\ncase   A→B  B→A  note\n\
             greet  ok   FAILED\n\
             int    ok   ok   A→B: A is odd\n\
             \ngreet B→A:\n  no\n\
             \n3 passed, 1 failed"
        );
    }
}
