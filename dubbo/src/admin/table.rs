//! Tables as operators of Dubbo know them.

/// A table with a frame, whose first row is its head.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let cell =
        |row: &[String], column: usize| row.get(column).map_or("", String::as_str).to_owned();
    let width = |column| {
        let cells = rows.iter().map(|row| cell(row, column).chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let rule = {
        let dashes = widths.iter().map(|width| "-".repeat(*width));
        format!("+{}+\n", dashes.collect::<Vec<_>>().join("+"))
    };
    let mut text = rule.clone();
    for (index, row) in rows.iter().enumerate() {
        for (column, width) in widths.iter().enumerate() {
            let cell = cell(row, column);
            text.push('|');
            text.push_str(&cell);
            text.push_str(&" ".repeat(width - cell.chars().count()));
        }
        text.push_str("|\n");
        if index == 0 {
            text.push_str(&rule);
        }
    }
    if rows.len() > 1 {
        text.push_str(&rule);
    }
    text
}

/// A row of texts.
pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let text = table(&[row(["A", "Bb"]), row(["größe", "x"]), row(["1"])]);
        let want = "+-----+--+\n|A    |Bb|\n+-----+--+\n|größe|x |\n|1    |  |\n+-----+--+\n";
        assert_eq!(text, want);
        assert_eq!(table(&[row(["A"])]), "+-+\n|A|\n+-+\n");
    }
}
