//! `docs/configuration.md` is made of the model: its doc comments, what its readers ask for and say about a wrong value, the
//! table of keys that come into force at once, and the specification's word on dubbo-go.
//!
//! `DUBBO_WRITE_DOCS=1 cargo test -p dubbo --lib config::tests::page` writes it anew.

mod model;
mod probe;
mod spec;

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use self::{
    model::{Kind, Model, Row},
    probe::Probe,
    spec::Spec,
};
use crate::instance::live_keys;

#[test]
fn the_page_of_the_configuration_says_what_the_model_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let page = page();
    if std::env::var_os("DUBBO_WRITE_DOCS").is_some() {
        fs::write(&file, &page).expect("writable");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let differs = page
        .lines()
        .zip(written.lines().chain(std::iter::repeat("")))
        .find(|(made, written)| made != written);
    assert!(
        page == written,
        "docs/configuration.md is not what the model says; run \
         `DUBBO_WRITE_DOCS=1 cargo test -p dubbo --lib config::tests::page` and commit it. First difference: {differs:#?}"
    );
}

/// A key in the documentation that no reader asks for would be ignored; one that a reader asks for and that is not
/// documented would be a secret.
#[test]
fn what_is_documented_is_what_is_read() {
    let model = Model::of_sources();
    let documented: BTreeSet<_> = model.rows().map(|row| row.path.clone()).collect();
    let asked = probe::asked();
    let read_otherwise = |path: &String| {
        OTHERWISE.iter().any(|other| path.starts_with(other))
            || IN_OTHER_WORDS.iter().any(|other| path.ends_with(other))
            || Probe::of(path).says().is_some()
    };
    let secret: Vec<_> = asked
        .iter()
        .filter(|path| !documented.contains(*path) && !read_otherwise(path))
        .collect();
    assert_eq!(
        secret, [""; 0],
        "these are read, and no doc comment has them"
    );
    let unread: Vec<_> = model
        .rows()
        .filter(|row| row.kind == Kind::Value && !asked.contains(&row.path))
        .filter(|row| is_here(row) && !Probe::of(&row.path).is_gone())
        .map(|row| &row.path)
        .collect();
    assert_eq!(
        unread, [""; 0],
        "these have a doc comment, and nobody reads them"
    );
}

/// Every key that is live is a key.
#[test]
fn what_is_live_is_documented() {
    let model = Model::of_sources();
    for (pattern, _) in live_keys() {
        let is_one = model.rows().any(|row| is_live_by(row, &pattern));
        let is_other = OTHERWISE
            .iter()
            .any(|other| pattern.starts_with(other.trim_end_matches('[')));
        assert!(is_one || is_other, "{pattern} is no key");
    }
}

fn page() -> String {
    let model = Model::of_sources();
    let spec = Spec::read();
    let mut page = include_str!("preamble.md").to_owned();
    for section in &model.sections {
        let rows = section
            .rows
            .iter()
            .filter(|row| is_here(row) && !Probe::of(&row.path).is_gone());
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            continue;
        }
        let paths: Vec<_> = section
            .paths
            .iter()
            .map(|path| format!("`{path}`"))
            .collect();
        write!(page, "\n## {}\n\n{}\n", paths.join(", "), section.about).expect(TAKES_ALL);
        page.push_str("\n| key | takes | default | what it does | takes effect | in dubbo-go |\n|---|---|---|---|---|---|\n");
        for row in rows {
            let takes = match row.kind {
                Kind::Map => "a map of texts".to_owned(),
                Kind::Other(what) => what.to_owned(),
                Kind::Value => Probe::of(&row.path).takes(),
            };
            let live = live_keys().find(|(pattern, _)| is_live_by(row, pattern));
            let live = live.map_or_else(
                || "at the next start".to_owned(),
                |(_, how)| format!("at once: {how}"),
            );
            let go = spec.status(section.spec.as_deref(), &row.key);
            let cells = [
                format!("`{}`", row.key),
                takes,
                row.default.clone(),
                row.meaning.clone(),
                live,
                go.to_owned(),
            ];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            writeln!(page, "| {} |", cells.join(" | ")).expect(TAKES_ALL);
        }
    }
    page.push_str(include_str!("refused.md"));
    let documented: BTreeSet<_> = model.rows().map(|row| row.path.clone()).collect();
    for path in probe::asked() {
        let says = Probe::of(&path).says();
        if let Some(says) =
            says.filter(|_| !documented.contains(&path) || Probe::of(&path).is_gone())
        {
            let path = path.replace("[0]", "[]");
            writeln!(page, "| `{path}` | {} |", says.replace('|', "\\|")).expect(TAKES_ALL);
        }
    }
    page
}

/// Whether a key of a struct that several sections have in common is one of this section, too.
fn is_here(row: &Row) -> bool {
    !OF_OTHERS.iter().any(|key| row.path.ends_with(key))
}

fn is_live_by(row: &Row, pattern: &str) -> bool {
    let mut path = row.path.replace("<id>", "<name>");
    if row.kind == Kind::Map {
        path.push_str(".x");
    }
    match pattern.strip_suffix('*') {
        Some(begin) => path.starts_with(begin),
        None => path == pattern,
    }
}

/// What the services have and their defaults, or their methods, do not.
const OF_OTHERS: [&str; 3] = [
    "dubbo.provider.interface",
    ".methods[0].tps.limiter",
    ".methods[0].tps.limit.rejected.handler",
];

/// What has a page of its own, and readers of its own; what the row of the map says that it is in.
const OTHERWISE: [&str; 4] = [
    "dubbo.protocols.<id>.params.",
    "dubbo.profiles.",
    "dubbo.retry",
    "dubbo.router[",
];

/// Other spellings of keys that have a row, and the name of what a row is about.
const IN_OTHER_WORDS: [&str; 6] = [
    ".application.service-discovery.migration",
    ".methods[0].name",
    ".metrics.protocol",
    ".protocol_config.name",
    ".provided-by",
    ".triple.max-body-size",
];

const TAKES_ALL: &str = "a string takes all";
