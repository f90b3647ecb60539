//! Schemas of Java types: those of the JSON that values of Java have in this project, as gson reads it.

use super::{
    Schemas, Source, list_of, map_of, typed,
    well_known::{double, float, int32},
};
use crate::openapi::tree::Map;

impl Schemas {
    /// The schema of the type that Java's source calls `name`, or a reference to it: `int`, `byte[]`,
    /// `java.util.List<com.x.User>`. A class that nobody describes can be any object.
    pub(in super::super) fn java(&mut self, name: &str) -> Map {
        if let Some(schema) = scalar(name) {
            return schema;
        }
        if let Some(element) = name.strip_suffix("[]") {
            return list_of(self.java(element));
        }
        if let Some((class, arguments)) = generic(name) {
            return match (optional(class), &arguments[..]) {
                (true, [value]) => self.java(value),
                (_, [items]) => list_of(self.java(items)),
                (_, [_, values]) => map_of(self.java(values)),
                _ => typed("object"),
            };
        }
        if LISTS.contains(&name) {
            return list_of(Map::default());
        }
        if MAPS.contains(&name) {
            return map_of(Map::default());
        }
        self.refer(Source::Java(name.to_owned()))
    }

    /// What stands behind a reference to the class called `name`.
    pub(super) fn class(&mut self, name: &str) -> Map {
        let Some(shape) = self.classes.get(name).cloned() else {
            return typed("object").with("description", format!("An object of Java's `{name}`."));
        };
        if !shape.constants.is_empty() {
            let constants = shape.constants.iter().map(|constant| &**constant);
            return typed("string").with("enum", constants.collect::<Vec<_>>());
        }
        let properties = shape.properties.iter();
        let properties: Map = properties
            .map(|(field, class)| (&**field, self.java(class)))
            .collect();
        typed("object").with_any("properties", properties)
    }
}

/// The name in Java's source of what `Class.getName()` calls `name`.
pub(in super::super) fn source_name(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    let class = element
        .strip_prefix('L')
        .filter(|_| dimensions > 0)
        .and_then(|class| class.strip_suffix(';'));
    let letter = |letter: &str| {
        let known = PRIMITIVES.iter().find(|(known, _)| *known == letter);
        known.filter(|_| dimensions > 0).map(|(_, name)| *name)
    };
    let base = class.or_else(|| letter(element)).unwrap_or(element);
    base.replace('$', ".") + &"[]".repeat(dimensions)
}

/// The schema of a type whose values are no objects of JSON.
fn scalar(name: &str) -> Option<Map> {
    let name = match name.strip_prefix("java.lang.") {
        Some("Object") => return Some(Map::default()),
        Some("Integer") => "int",
        Some("Character") => "char",
        Some(boxed @ ("Boolean" | "Byte" | "Double" | "Float" | "Long" | "Short")) => boxed,
        Some("String" | "CharSequence" | "Class") => return Some(typed("string")),
        Some("Number") => return Some(typed("number")),
        _ => name,
    };
    Some(match name {
        "boolean" | "Boolean" | "java.util.concurrent.atomic.AtomicBoolean" => typed("boolean"),
        "byte" | "Byte" => int32()
            .with("minimum", i64::from(i8::MIN))
            .with("maximum", i64::from(i8::MAX)),
        "char" => typed("string")
            .with("minLength", 1_i64)
            .with("maxLength", 1_i64),
        "double" | "Double" => double(),
        "float" | "Float" => float(),
        "int" | "java.util.concurrent.atomic.AtomicInteger" => int32(),
        "long" | "Long" | "java.util.concurrent.atomic.AtomicLong" => {
            typed("integer").with("format", "int64")
        }
        "short" | "Short" => int32()
            .with("minimum", i64::from(i16::MIN))
            .with("maximum", i64::from(i16::MAX)),
        "java.math.BigDecimal" => typed("number"),
        "java.math.BigInteger" => typed("integer"),
        "java.util.UUID" => typed("string").with("format", "uuid"),
        "java.util.Locale" | "java.util.Currency" | "java.net.URI" | "java.io.File" => {
            typed("string")
        }
        "java.util.Date" | "java.util.Calendar" | "java.time.Instant" => {
            typed("string").with("format", "date-time")
        }
        sql if sql.starts_with("java.sql.") => typed("string").with("format", "date-time"),
        "java.time.LocalDate" => typed("string").with("format", "date"),
        time if time.starts_with("java.time.") => typed("string"),
        _ => return None,
    })
}

/// A class with its type arguments.
fn generic(name: &str) -> Option<(&str, Vec<&str>)> {
    let (class, rest) = name.split_once('<')?;
    let inner = rest.strip_suffix('>')?;
    let mut arguments = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                arguments.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(inner[start..].trim());
    Some((class, arguments))
}

fn optional(class: &str) -> bool {
    class == "java.util.Optional"
}

const PRIMITIVES: [(&str, &str); 8] = [
    ("B", "byte"),
    ("C", "char"),
    ("D", "double"),
    ("F", "float"),
    ("I", "int"),
    ("J", "long"),
    ("S", "short"),
    ("Z", "boolean"),
];

/// Classes that a signature may name without their type arguments.
const LISTS: [&str; 14] = [
    "java.lang.Iterable",
    "java.util.ArrayDeque",
    "java.util.ArrayList",
    "java.util.Collection",
    "java.util.EnumSet",
    "java.util.HashSet",
    "java.util.LinkedHashSet",
    "java.util.LinkedList",
    "java.util.List",
    "java.util.Queue",
    "java.util.Set",
    "java.util.SortedSet",
    "java.util.TreeSet",
    "java.util.Vector",
];

const MAPS: [&str; 9] = [
    "java.util.EnumMap",
    "java.util.HashMap",
    "java.util.Hashtable",
    "java.util.LinkedHashMap",
    "java.util.Map",
    "java.util.Properties",
    "java.util.SortedMap",
    "java.util.TreeMap",
    "java.util.concurrent.ConcurrentHashMap",
];
