//! What the others manage among themselves: measured by their own consumers and our tables, and kept for the page that
//! users read.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use crate::{failure::Failure, process};

use super::{report::Row, route::Protocol};

/// Whether a case came to the contract's result, by its label; first from Java to Go, then from Go to Java. None where
/// it was not run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey(BTreeMap<String, [Option<bool>; 2]>);

impl Survey {
    /// Takes the outcome from the rows of a whole run, whose columns are those protocols for each route.
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut survey = BTreeMap::new();
        let protocols = Protocol::ALL.len();
        for row in rows {
            for (index, protocol) in Protocol::ALL.into_iter().enumerate() {
                let cell = |route: usize| {
                    let cell = row.cells.get(route * protocols + index)?.as_ref()?;
                    Some(cell.problems.is_empty())
                };
                let cells = [cell(0), cell(1)];
                if cells != [None, None] {
                    survey.insert(protocol.label(row.case()), cells);
                }
            }
        }
        Self(survey)
    }

    /// Reads what is kept.
    pub(super) fn read() -> Result<Self, Failure> {
        let text = process::read(FILE)?;
        Self::parse(&text).ok_or_else(|| {
            Failure::new(
                format!("{FILE} cannot be understood"),
                "write it anew: cargo xtask interop others",
            )
        })
    }

    /// Keeps it.
    pub(super) fn write(&self) -> Result<(), Failure> {
        fs::write(process::root().join(FILE), self.to_text()).map_err(|e| {
            Failure::new(
                format!("{FILE} cannot be written: {e}"),
                "look at the rights of the file",
            )
        })
    }

    /// Whether a case came to the contract's result in the direction `route`, 0 or 1.
    pub(super) fn get(&self, label: &str, route: usize) -> Option<bool> {
        *self.0.get(label)?.get(route)?
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next()? == HEAD).then_some(())?;
        let word = |word: &str| match word {
            "yes" => Some(Some(true)),
            "no" => Some(Some(false)),
            "-" => Some(None),
            _ => None,
        };
        lines
            .map(|line| {
                let mut parts = line.split('\t');
                let label = parts.next()?.to_owned();
                Some((label, [word(parts.next()?)?, word(parts.next()?)?]))
            })
            .collect::<Option<_>>()
            .map(Self)
    }

    fn to_text(&self) -> String {
        let word = |cell: Option<bool>| match cell {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        let mut text = format!("{HEAD}\n");
        for (label, [there, back]) in &self.0 {
            let _ = writeln!(text, "{label}\t{}\t{}", word(*there), word(*back));
        }
        text
    }
}

const FILE: &str = "interop/others.tsv";
const HEAD: &str = "case\tJava→Go\tGo→Java";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_read() {
        let survey = Survey(BTreeMap::from([
            ("tri/greet".to_owned(), [Some(true), Some(false)]),
            ("dubbo/x".to_owned(), [None, Some(true)]),
        ]));
        let text = survey.to_text();
        assert_eq!(Survey::parse(&text), Some(survey));
        assert_eq!(Survey::parse(&text.replace("yes", "perhaps")), None);
        assert_eq!(Survey::parse(""), None);
    }
}
