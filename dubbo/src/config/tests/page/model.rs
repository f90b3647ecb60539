//! The sections and their keys, as the doc comments of the model have them.

use std::{collections::BTreeMap, fs, path::Path};

pub(super) struct Model {
    pub(super) sections: Vec<Section>,
}

/// The keys of one struct.
pub(super) struct Section {
    /// Where it stands.
    pub(super) paths: Vec<String>,
    pub(super) about: String,
    /// The section of the specification.
    pub(super) spec: Option<String>,
    pub(super) rows: Vec<Row>,
}

pub(super) struct Row {
    /// From the first of the section's paths.
    pub(super) key: String,
    pub(super) path: String,
    pub(super) default: String,
    pub(super) meaning: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Value,
    /// Its keys are those of somebody else.
    Map,
    /// It is read by a reader of its own.
    Other(&'static str),
}

impl Model {
    /// The model, from its sources.
    pub(super) fn of_sources() -> Self {
        let structs = structs();
        let mut model = Self {
            sections: Vec::new(),
        };
        model.add("Config", "dubbo", None, &structs);
        model
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|section| &section.rows)
    }

    fn add(&mut self, name: &str, path: &str, spec: Option<&str>, structs: &Structs) {
        let it = &structs[name];
        let spec = section_of(&it.doc).or(spec).map(str::to_owned);
        let mut rows = Vec::new();
        let mut below = Vec::new();
        collect(it, path, structs, &mut rows, &mut below);
        let about = plain(it.doc.split("\n\n").next().unwrap_or_default());
        if !rows.is_empty() {
            self.sections.push(Section {
                paths: vec![path.to_owned()],
                about,
                spec: spec.clone(),
                rows,
            });
        }
        for (name, path) in below {
            self.add(&name, &path, spec.as_deref(), structs);
        }
    }
}

/// The rows of a struct and of those whose keys stand beside its own; the others come `below`.
fn collect(
    it: &Struct,
    path: &str,
    structs: &Structs,
    rows: &mut Vec<Row>,
    below: &mut Vec<(String, String)>,
) {
    for field in &it.fields {
        let key = field
            .doc
            .strip_prefix('`')
            .and_then(|doc| doc.split_once('`'));
        let key = key.filter(|(key, _)| !key.contains('*'));
        let (map, ty) = match field.ty.strip_prefix("BTreeMap<String, ") {
            Some(value) => (true, value.trim_end_matches('>')),
            None => (false, field.ty.as_str()),
        };
        let Some((key, rest)) = key else {
            collect(&structs[ty], path, structs, rows, below);
            continue;
        };
        let path = match key.strip_prefix("dubbo.") {
            Some(_) => key.to_owned(),
            None => format!("{path}.{key}"),
        };
        if structs.contains_key(ty) {
            let path = match (map, key) {
                (true, "methods") => format!("{path}[]"),
                (true, "services" | "references") => format!("{path}.<name>"),
                (true, _) => format!("{path}.<id>"),
                (false, _) => path,
            };
            below.push((ty.to_owned(), path));
            continue;
        }
        let kind = match ty {
            _ if map => Kind::Map,
            "Option<Node>" => Kind::Other("anything"),
            "Option<Vec<ConfiguredRule>>" => {
                Kind::Other("a list of rules (`docs/spec/cluster.md` §4)")
            }
            "Option<PolicyDocument>" => Kind::Other("a map (`docs/resilience.md`)"),
            _ => Kind::Value,
        };
        let (default, meaning) = split(rest);
        rows.push(Row {
            key: key.to_owned(),
            path: path.replace("[]", "[0]"),
            default,
            meaning,
            kind,
        });
    }
}

type Structs = BTreeMap<String, Struct>;

#[derive(Default)]
struct Struct {
    doc: String,
    fields: Vec<Field>,
}

struct Field {
    doc: String,
    ty: String,
}

/// What stands within `settings! { … }` in the files of the model.
fn structs() -> Structs {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/model");
    let mut structs = Structs::new();
    for file in fs::read_dir(folder).expect("is there") {
        let text = fs::read_to_string(file.expect("is there").path()).expect("is text");
        for block in text.split("\nsettings! {\n").skip(1) {
            let block = block.split("\n}\n").next().unwrap_or_default();
            let (mut doc, mut name) = (String::new(), String::new());
            for line in block.lines().map(str::trim) {
                if let Some(line) = line.strip_prefix("///") {
                    let line = line.trim();
                    let is_new = doc.is_empty() || doc.ends_with('\n') || line.is_empty();
                    doc.push_str(if is_new { "" } else { " " });
                    doc.push_str(if line.is_empty() { "\n\n" } else { line });
                } else if let Some(declared) = line.strip_prefix("pub struct ") {
                    declared.trim_end_matches(" {").clone_into(&mut name);
                    let doc = std::mem::take(&mut doc);
                    structs.entry(name.clone()).or_default().doc = doc;
                } else if let Some((_, ty)) = line.split_once(": ") {
                    let ty = ty.trim_end_matches(',').to_owned();
                    let doc = std::mem::take(&mut doc);
                    let it = structs.entry(name.clone()).or_default();
                    it.fields.push(Field { doc, ty });
                }
            }
        }
    }
    structs
}

/// `13` for a text that names §1.13 of the specification of the configuration.
fn section_of(doc: &str) -> Option<&str> {
    let (_, after) = doc.split_once("`docs/spec/config.md` §1.")?;
    let end = after.find(|letter: char| !letter.is_ascii_digit());
    Some(&after[..end.unwrap_or(after.len())])
}

/// The default and the meaning, of what follows the key.
fn split(rest: &str) -> (String, String) {
    let rest = plain(rest);
    let head = rest.find(": ").unwrap_or(rest.len());
    let Some(at) = rest[..head].find("by default ") else {
        let meaning = rest.trim_start_matches([':', ',', '.', ' ']);
        return ("—".to_owned(), capital(meaning));
    };
    let before = rest[..at].trim_matches([',', ' ']);
    let after = &rest[at + "by default ".len()..];
    let ends = [": ", ". ", "; "]
        .into_iter()
        .filter_map(|end| after.find(end));
    let end = ends
        .min()
        .unwrap_or_else(|| after.trim_end_matches('.').len());
    let meaning = after[end..].trim_start_matches([':', ';', '.', ' ']);
    let meaning = match (before, meaning) {
        ("", meaning) => capital(meaning),
        (before, "") => capital(before),
        (before, meaning) => format!("{}: {meaning}", capital(before)),
    };
    (after[..end].to_owned(), meaning)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Without the links of rustdoc, which lead nowhere outside.
fn plain(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else {
            break;
        };
        text.push_str(before);
        text.push('`');
        text.push_str(name);
        text.push('`');
        rest = match after.strip_prefix('(').and_then(|it| it.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    text.push_str(rest);
    text.replace("\n\n", " ")
}
