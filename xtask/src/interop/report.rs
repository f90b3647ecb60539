//! The table at the end.

use std::fmt::Write as _;

/// A case and how it went in each column.
#[derive(Debug)]
pub(super) struct Row {
    case: String,
    /// None where it is not run.
    pub(super) cells: Vec<Option<Cell>>,
}

/// How a case went over one protocol in one direction.
#[derive(Debug)]
pub(super) struct Cell {
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

    pub(super) fn case(&self) -> &str {
        &self.case
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
pub(super) fn render(columns: &[String], rows: &[Row]) -> (String, usize) {
    let width = rows.iter().map(|row| row.case.len()).max().unwrap_or(0);
    let mut text = format!("\n{:width$}", "case");
    for column in columns {
        let _ = write!(text, "  {column}");
    }
    text.push_str("  note\n");
    let mut problems = String::new();
    let (mut passed, mut failed) = (0, 0);
    for row in rows {
        let mut line = format!("{:width$}", row.case);
        let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
        for (column, cell) in columns.iter().zip(&row.cells) {
            let column_width = column.chars().count();
            let word = cell.as_ref().map_or("", Cell::word);
            let _ = write!(line, "  {word:column_width$}");
            let Some(cell) = cell else { continue };
            match notes.iter_mut().find(|(note, _)| *note == cell.note) {
                Some((_, columns)) => columns.push(column),
                None if cell.note.is_empty() => {}
                None => notes.push((cell.note, vec![column])),
            }
            if cell.problems.is_empty() {
                passed += 1;
                continue;
            }
            failed += 1;
            let _ = writeln!(
                problems,
                "\n{} {column}:\n  {}",
                row.case,
                cell.problems.join("\n  ")
            );
        }
        let notes: Vec<_> = notes
            .iter()
            .map(|(note, columns)| format!("{}: {note}", columns.join(", ")))
            .collect();
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

    fn cell(problems: &[&str], note: &'static str) -> Cell {
        Cell {
            problems: problems.iter().map(|&problem| problem.to_owned()).collect(),
            note,
        }
    }

    #[test]
    fn the_table_names_what_failed_and_ends_with_the_count() {
        let row = |case: &str, cells| Row {
            case: case.to_owned(),
            cells,
        };
        let rows = [
            row("greet", vec![Some(cell(&[], "")), Some(cell(&["no"], ""))]),
            row(
                "int",
                vec![Some(cell(&[], "A is odd")), Some(cell(&[], "A is odd"))],
            ),
            row("b", vec![None, Some(cell(&[], ""))]),
        ];
        let (text, failed) = render(&["A→B".to_owned(), "B→A".to_owned()], &rows);
        assert_eq!(failed, 1);
        assert_eq!(
            text,
            "\ncase   A→B  B→A  note\n\
             greet  ok   FAILED\n\
             int    ok   ok   A→B, B→A: A is odd\n\
             b           ok\n\
             \ngreet B→A:\n  no\n\
             \n4 passed, 1 failed"
        );
    }
}
