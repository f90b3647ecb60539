//! Tables of text.

use std::fmt;

/// Rows under a head, in columns as wide as they have to be.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: impl Into<Vec<&'static str>>) -> Self {
        Self {
            head: head.into(),
            rows: Vec::new(),
        }
    }

    /// One more row. A cell with nothing in it is a dash, so that columns can be told apart.
    pub(crate) fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let shown = |cell: C| {
            let cell: String = cell.into();
            let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
            if cell.is_empty() {
                "-".to_owned()
            } else {
                cell.chars().map(printable).collect()
            }
        };
        self.rows.push(cells.into_iter().map(shown).collect());
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widths = cells.map(|cell| cell.chars().count());
        widths
            .chain([self.head[column].chars().count()])
            .max()
            .unwrap_or(0)
    }
}

/// Without a line break at its end.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<_> = (0..self.head.len()).map(|at| self.width(at)).collect();
        let head = self.head.iter().map(|name| name.to_uppercase()).collect();
        for (index, row) in std::iter::once(&head).chain(&self.rows).enumerate() {
            let cells = row.iter().zip(&widths);
            let line: String = cells
                .map(|(cell, &width)| format!("{cell:width$}  "))
                .collect();
            let line_break = if index > 0 { "\n" } else { "" };
            write!(f, "{line_break}{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["name", "n", "why"]);
        table.row(["a.Bcdef", "12", ""]);
        table.row(["é", "", "two\nlines"]);
        assert_eq!(
            table.to_string(),
            "NAME     N   WHY\na.Bcdef  12  -\né        -   two lines"
        );
    }
}
