//! Schemas of messages: those that have a name stand once among the components of a document and are referred to.

mod comments;
mod java;
mod proto;
mod protos;
mod well_known;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::{Hash, Hasher},
    sync::Arc,
};

use dubbo_core::service::{ServiceDescriptor, TypeDescription};

pub(super) use self::{
    java::source_name,
    protos::{ServiceFile, Universe},
};
use super::{
    Version,
    tree::{Map, Node},
};

/// The schemas that a document refers to.
///
/// A name is given when something refers to a type, its schema is made later: types that have themselves in their fields,
/// or each other, end there.
#[derive(Debug)]
pub(super) struct Schemas {
    version: Version,
    /// What the services know of Java's classes.
    classes: HashMap<String, TypeDescription>,
    names: HashMap<Source, String>,
    taken: BTreeSet<String>,
    waiting: VecDeque<Source>,
}

/// A type that has a name.
#[derive(Debug, Clone)]
enum Source {
    Enum(Arc<Universe>, String),
    Java(String),
    Message(Arc<Universe>, String),
}

impl Schemas {
    /// None yet, for types of `services`.
    pub(super) fn new<'s>(
        version: Version,
        services: impl IntoIterator<Item = &'s ServiceDescriptor>,
    ) -> Self {
        let types = services.into_iter().flat_map(ServiceDescriptor::types);
        // A service that only names a class does not know it.
        let known = types.filter(|ty| !(ty.constants.is_empty() && ty.properties.is_empty()));
        Self {
            version,
            classes: known.map(|ty| (ty.name.to_string(), ty.clone())).collect(),
            names: HashMap::new(),
            taken: BTreeSet::new(),
            waiting: VecDeque::new(),
        }
    }

    /// The schemas of all that was referred to, by name.
    pub(super) fn into_components(mut self) -> BTreeMap<String, Map> {
        let mut components = BTreeMap::new();
        while let Some(source) = self.waiting.pop_front() {
            let name = self.names[&source].clone();
            let schema = match &source {
                Source::Enum(universe, name) => proto::enumeration(universe, name),
                Source::Java(name) => self.class(name),
                Source::Message(universe, name) => self.message(universe, name),
            };
            components.insert(name, schema);
        }
        components
    }

    /// A reference to the schema of `source`.
    fn refer(&mut self, source: Source) -> Map {
        let name = match self.names.get(&source) {
            Some(name) => name.clone(),
            None => self.name(source),
        };
        Map::default().with("$ref", format!("#/components/schemas/{name}"))
    }

    fn name(&mut self, source: Source) -> String {
        let wanted = component_name(source.full_name());
        // Two types of one name are of different sets of files.
        let (mut name, mut number) = (wanted.clone(), 1_u32);
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.names.insert(source.clone(), name.clone());
        self.waiting.push_back(source);
        name
    }

    /// `schema` with a description, whatever it is: beside a reference, OpenAPI 3.0 reads nothing else.
    fn annotated(&self, schema: Map, annotations: Map) -> Map {
        if annotations.is_empty() {
            return schema;
        }
        let refers = schema.iter().any(|(key, _)| key == "$ref");
        if refers && self.version == Version::V3_0_1 {
            let all = Map::default().with("allOf", vec![schema]);
            return all.and(annotations);
        }
        schema.and(annotations)
    }

    /// A text that is base64.
    fn base64(&self) -> Map {
        match self.version {
            Version::V3_0_1 => typed("string").with("format", "byte"),
            Version::V3_1_0 => typed("string").with("contentEncoding", "base64"),
        }
    }

    /// `null` alone.
    fn null(&self) -> Map {
        match self.version {
            Version::V3_0_1 => typed("string")
                .with("nullable", true)
                .with("enum", vec![Node::Null]),
            Version::V3_1_0 => typed("null"),
        }
    }

    /// Several values, each of a type of its own.
    pub(super) fn tuple(&self, items: Vec<Map>) -> Map {
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let list = typed("array");
        let list = match self.version {
            // It has no word for the first, the second and so on.
            Version::V3_0_1 => list.with("items", any_of(items)),
            Version::V3_1_0 => list.with("prefixItems", items),
        };
        list.with("minItems", count).with("maxItems", count)
    }
}

impl Source {
    fn full_name(&self) -> &str {
        match self {
            Self::Enum(_, name) | Self::Java(name) | Self::Message(_, name) => name,
        }
    }

    /// The kind, which universe, and the name there.
    fn key(&self) -> (u8, usize, &str) {
        match self {
            Self::Enum(universe, name) => (0, Arc::as_ptr(universe).addr(), name),
            Self::Java(name) => (1, 0, name),
            Self::Message(universe, name) => (2, Arc::as_ptr(universe).addr(), name),
        }
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Source {}

impl Hash for Source {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// Any of `schemas`, each said once. They may overlap: a number may be of two kinds.
pub(super) fn any_of(schemas: Vec<Map>) -> Map {
    let mut different: Vec<Map> = Vec::with_capacity(schemas.len());
    for schema in schemas {
        if !different.contains(&schema) {
            different.push(schema);
        }
    }
    if different.len() == 1 {
        return different.remove(0);
    }
    Map::default().with("anyOf", different)
}

/// The schema of everything that has the JSON type `name`.
fn typed(name: &str) -> Map {
    Map::default().with("type", name)
}

/// The schema of a list.
fn list_of(items: Map) -> Map {
    typed("array").with("items", items)
}

/// The schema of a map with texts as keys.
fn map_of(values: Map) -> Map {
    typed("object").with("additionalProperties", values)
}

/// `name` with nothing in it that the name of a component cannot have.
fn component_name(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    name.chars()
        .map(|c| if allowed(c) { c } else { '.' })
        .collect()
}
