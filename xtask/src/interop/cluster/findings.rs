//! What was found, row by row.

/// The problems of each row of a check.
#[derive(Debug)]
pub(super) struct Findings {
    rows: Vec<(&'static str, Option<Vec<String>>)>,
}

impl Findings {
    /// None yet.
    pub(super) fn of(rows: &[&'static str]) -> Self {
        Self {
            rows: rows.iter().map(|row| (*row, None)).collect(),
        }
    }

    /// What was looked at for `row`, and the problems that there were.
    pub(super) fn add(&mut self, row: &str, problems: impl IntoIterator<Item = String>) {
        match self.rows.iter_mut().find(|(name, _)| *name == row) {
            Some((_, found)) => found.get_or_insert_default().extend(problems),
            // A row that is nowhere in the table would never be missed.
            None => self.broken(&format!("`{row}` is no row of this check")),
        }
    }

    /// Nothing more can be looked at.
    pub(super) fn broken(&mut self, why: &str) {
        for (_, found) in &mut self.rows {
            if found.is_none() {
                *found = Some(vec![why.to_owned()]);
            }
        }
    }

    /// The problems of each row; a row that nobody looked at has one.
    pub(super) fn into_problems(self) -> Vec<Vec<String>> {
        let rows = self.rows.into_iter();
        rows.map(|(_, found)| found.unwrap_or_else(|| vec!["was not looked at".to_owned()]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_passes_only_when_it_was_looked_at() {
        let mut findings = Findings::of(&["good", "bad", "cut", "missed"]);
        findings.add("good", []);
        findings.add("bad", ["no".to_owned()]);
        let problems = |findings: Findings| -> Vec<usize> {
            findings.into_problems().iter().map(Vec::len).collect()
        };
        assert_eq!(problems(findings), [0, 1, 1, 1]);
        let mut findings = Findings::of(&["good", "cut"]);
        findings.add("good", []);
        findings.broken("gone");
        assert_eq!(problems(findings), [0, 1]);
        let mut findings = Findings::of(&["good"]);
        findings.add("god", []);
        assert_eq!(problems(findings), [1]);
    }
}
