//! What the others manage among themselves: measured by their own consumers and our tables, and kept for the page that
//! users read.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use crate::{failure::Failure, process};

use super::{
    report::Row,
    route::{Protocol, Route},
};

/// Where the cases over addresses are kept.
pub(super) const CASES: &str = "interop/others.tsv";
/// Where those that meet in registries are kept.
pub(super) const REGISTRIES: &str = "interop/others-registry.tsv";

/// Whether a case came to what it has to, by its label, for each route; none where it was not run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    routes: Vec<String>,
    cells: BTreeMap<String, Vec<Option<bool>>>,
}

impl Survey {
    /// Takes the outcome from the rows of a whole run, whose columns are those routes.
    pub(super) fn of(rows: &[Row], routes: &[Route]) -> Self {
        let mut survey = Self::new(routes);
        for row in rows {
            survey.add(row.case().to_owned(), row, |route| route);
        }
        survey
    }

    /// Takes the outcome from the rows of a whole run, whose columns are the protocols for each of those routes.
    pub(super) fn of_protocols(rows: &[Row], routes: &[Route]) -> Self {
        let mut survey = Self::new(routes);
        for row in rows {
            for (index, protocol) in Protocol::ALL.into_iter().enumerate() {
                let label = protocol.label(row.case());
                survey.add(label, row, |route| route * Protocol::ALL.len() + index);
            }
        }
        survey
    }

    fn new(routes: &[Route]) -> Self {
        Self {
            routes: routes.iter().map(ToString::to_string).collect(),
            cells: BTreeMap::new(),
        }
    }

    fn add(&mut self, label: String, row: &Row, column: impl Fn(usize) -> usize) {
        let cell = |route| Some(row.cells.get(column(route))?.as_ref()?.problems.is_empty());
        let cells: Vec<_> = (0..self.routes.len()).map(cell).collect();
        if cells.iter().any(Option::is_some) {
            self.cells.insert(label, cells);
        }
    }

    /// Reads what is kept in `file`.
    pub(super) fn read(file: &str) -> Result<Self, Failure> {
        let text = process::read(file)?;
        Self::parse(&text).ok_or_else(|| {
            Failure::new(
                format!("{file} cannot be understood"),
                "run the others among themselves: interop/README.md has the command",
            )
        })
    }

    /// Keeps it in `file`.
    pub(super) fn write(&self, file: &str) -> Result<(), Failure> {
        fs::write(process::root().join(file), self.to_text()).map_err(|e| {
            Failure::new(
                format!("{file} cannot be written: {e}"),
                "look at the rights of the file",
            )
        })
    }

    /// Whether a case came to what it has to on `route`.
    pub(super) fn get(&self, label: &str, route: Route) -> Option<bool> {
        let name = route.to_string();
        let column = self.routes.iter().position(|known| *known == name)?;
        *self.cells.get(label)?.get(column)?
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| line.split('\t'));
        let mut head = lines.next()?;
        (head.next()? == HEAD).then_some(())?;
        let routes: Vec<_> = head.map(str::to_owned).collect();
        let word = |word: &str| match word {
            "yes" => Some(Some(true)),
            "no" => Some(Some(false)),
            "-" => Some(None),
            _ => None,
        };
        let cells = lines
            .map(|mut parts| {
                let label = parts.next()?.to_owned();
                let cells: Vec<_> = parts.map(word).collect::<Option<_>>()?;
                (cells.len() == routes.len()).then_some((label, cells))
            })
            .collect::<Option<_>>()?;
        Some(Self { routes, cells })
    }

    fn to_text(&self) -> String {
        let word = |cell: &Option<bool>| match cell {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        let mut text = format!("{HEAD}\t{}\n", self.routes.join("\t"));
        for (label, cells) in &self.cells {
            let words: Vec<_> = cells.iter().map(word).collect();
            let _ = writeln!(text, "{label}\t{}", words.join("\t"));
        }
        text
    }
}

const HEAD: &str = "case";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::route::Party;

    #[test]
    fn what_is_kept_can_be_read() {
        let routes = [(Party::Java, Party::Go), (Party::Go, Party::Java)]
            .map(|(consumer, provider)| Route { consumer, provider });
        let mut survey = Survey::new(&routes);
        survey.cells = BTreeMap::from([
            ("tri/greet".to_owned(), vec![Some(true), Some(false)]),
            ("dubbo/x".to_owned(), vec![None, Some(true)]),
        ]);
        assert_eq!(survey.get("tri/greet", routes[1]), Some(false));
        assert_eq!(survey.get("dubbo/x", routes[0]), None);
        let text = survey.to_text();
        assert_eq!(Survey::parse(&text), Some(survey));
        assert_eq!(Survey::parse(&text.replace("yes", "perhaps")), None);
        assert_eq!(Survey::parse(&text.replace("-\t", "")), None);
        assert_eq!(Survey::parse(""), None);
    }
}
