//! The tables in `interop/replay`: what has to come of each record.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
    fs,
    path::Path,
};

use crate::sheet::Difference;

/// What was recorded over Triple.
pub(crate) const TRIPLE: &str = "table.tsv";

/// What was recorded over the classic protocol.
pub(crate) const DUBBO: &str = "dubbo.tsv";

/// What the labels of connections begin with.
pub(crate) const CONNECTION: &str = "connection ";

/// Which side of a record is ours when it is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What comes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// In these kinds of entries.
    Differs(BTreeSet<String>),
    Equal,
}

/// One record, as one side sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) side: Side,
    pub(crate) file: String,
    pub(crate) label: String,
}

impl Key {
    /// Whether it is about a connection, and not about a call.
    pub(crate) fn is_of_a_connection(&self) -> bool {
        self.label.starts_with(CONNECTION)
    }
}

/// The findings of one side of the records.
#[derive(Debug)]
pub(crate) struct Findings {
    side: Side,
    found: BTreeMap<Key, Vec<Difference>>,
}

impl Findings {
    pub(crate) fn new(side: Side) -> Self {
        Self {
            side,
            found: BTreeMap::new(),
        }
    }

    /// Adds where ours was another than the recorded side: nowhere, if it was the same.
    pub(crate) fn add(&mut self, file: &str, label: &str, differences: Vec<Difference>) {
        let key = Key {
            side: self.side,
            file: file.to_owned(),
            label: label.to_owned(),
        };
        let before = self.found.insert(key, differences);
        assert!(before.is_none(), "two records are {file} {label}");
    }

    /// Holds the findings against those rows of a table that `concern` them.
    ///
    /// # Panics
    ///
    /// If the table is not true, with every row that is not.
    pub(crate) fn hold_against(self, table: &str, concern: impl Fn(&Key) -> bool) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../replay")
            .join(table);
        let text = fs::read_to_string(path).expect(table);
        let mut rows = rows(&text).expect(table);
        rows.retain(|key, _| key.side == self.side && concern(key));
        let report = self.held_against(rows);
        assert!(
            report.is_empty(),
            "interop/replay/{table} is not true:\n{report}"
        );
    }

    fn held_against(self, mut rows: BTreeMap<Key, Verdict>) -> String {
        let mut report = String::new();
        for (key, differences) in self.found {
            let told = rows.remove(&key);
            let truth = Verdict::of(&differences);
            if told.as_ref() == Some(&truth) {
                continue;
            }
            let told = told.map_or_else(|| "nothing".to_owned(), |told| told.to_string());
            let _ = writeln!(report, "{key}: the table says {told}, and it {truth}");
            for difference in differences {
                let _ = writeln!(report, "    {}", difference.shown);
            }
        }
        for key in rows.keys() {
            let _ = writeln!(report, "{key}: there is no such record");
        }
        report
    }
}

impl Verdict {
    fn of(differences: &[Difference]) -> Self {
        if differences.is_empty() {
            return Self::Equal;
        }
        let kinds = differences.iter().map(|difference| difference.kind.clone());
        Self::Differs(kinds.collect())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { side, file, label } = self;
        write!(f, "{file}\t{label}\t{side:?}")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(kinds) => {
                let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
                write!(f, "differs in {}", kinds.join(", "))
            }
            Self::Equal => f.write_str("is equal"),
        }
    }
}

/// The rows by what they are about; one for `both` sides becomes two.
fn rows(text: &str) -> Result<BTreeMap<Key, Verdict>, String> {
    let mut rows = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()).skip(1) {
        let bad = |what: &str| format!("line {number}: {what}: {line:?}");
        let columns: Vec<_> = line.split('\t').collect();
        let [file, label, side, verdict, kinds, why] = columns[..] else {
            return Err(bad("expected six columns with tabs between"));
        };
        let sides = match side {
            "both" => &[Side::Client, Side::Server][..],
            "client" => &[Side::Client],
            "server" => &[Side::Server],
            _ => return Err(bad("the side is `both`, `client` or `server`")),
        };
        if (verdict == "equal") != why.is_empty() {
            return Err(bad("what is not equal has a reason, and only that"));
        }
        let verdict = match (verdict, kinds) {
            ("differs", kinds) if !kinds.is_empty() => {
                Verdict::Differs(kinds.split(", ").map(str::to_owned).collect())
            }
            ("equal", "") => Verdict::Equal,
            _ => return Err(bad("it is `differs` in something, or `equal`")),
        };
        for &side in sides {
            let key = Key {
                side,
                file: file.to_owned(),
                label: label.to_owned(),
            };
            if rows.insert(key, verdict.clone()).is_some() {
                return Err(bad("a second row for the same"));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "file\tlabel\tside\tverdict\tin\twhy\n";

    fn report(table: &str, found: Vec<(&str, Vec<Difference>)>) -> String {
        let mut rows = rows(&format!("{HEAD}{table}")).expect("well-formed");
        rows.retain(|key, _| key.side == Side::Server);
        let mut findings = Findings::new(Side::Server);
        for (label, differences) in found {
            findings.add("f", label, differences);
        }
        findings.held_against(rows)
    }

    fn differing(kinds: &[&str]) -> Vec<Difference> {
        let kinds = kinds.iter();
        kinds
            .map(|kind| Difference {
                kind: (*kind).to_owned(),
                shown: format!("{kind} of both"),
            })
            .collect()
    }

    #[test]
    fn a_true_table_is_not_complained_of() {
        let table = "f\ta\tboth\tequal\t\t\n\
                     f\tb\tserver\tdiffers\tcode, text\t§1\n";
        let found = vec![("a", differing(&[])), ("b", differing(&["text", "code"]))];
        assert_eq!(report(table, found), "");
    }

    #[test]
    fn every_kind_of_untruth_is_told() {
        let same = || differing(&[]);
        for (table, found, want) in [
            ("", vec![("a", same())], "says nothing, and it is equal"),
            ("f\ta\tboth\tequal\t\t\n", vec![], "there is no such record"),
            (
                "f\ta\tboth\tequal\t\t\n",
                vec![("a", differing(&["code"]))],
                "says is equal, and it differs in code\n    code of both",
            ),
            (
                "f\ta\tboth\tdiffers\tcode\tx\n",
                vec![("a", same())],
                "and it is equal",
            ),
            (
                "f\ta\tboth\tdiffers\tcode\tx\n",
                vec![("a", differing(&["code", "end"]))],
                "says differs in code, and it differs in code, end",
            ),
        ] {
            let report = report(table, found);
            assert!(report.contains(want), "{report}");
        }
    }

    #[test]
    fn a_malformed_table_is_refused_with_its_line() {
        for (row, want) in [
            ("f\ta\tserver\tequal\t", "six columns"),
            ("f\ta\tmiddle\tequal\t\t", "the side is"),
            ("f\ta\tserver\tgood\t\tx", "it is `differs`"),
            ("f\ta\tserver\tlater\t\tx", "it is `differs`"),
            ("f\ta\tserver\tdiffers\t\tx", "it is `differs`"),
            ("f\ta\tserver\tdiffers\tcode\t", "has a reason"),
            ("f\ta\tserver\tequal\t\tbecause", "has a reason"),
            (
                "f\ta\tboth\tequal\t\t\nf\ta\tserver\tequal\t\t",
                "line 3: a second row",
            ),
        ] {
            let error = rows(&format!("{HEAD}{row}\n")).expect_err(row);
            assert!(error.contains(want), "{error}");
        }
    }
}
