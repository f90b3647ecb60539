//! The form of values in generic calls (`generic=true`; `docs/spec/dubbo-protocol.md` §13.3).
//!
//! The inverse needs no function: a Rust type reads the map that stands for its class, an enum its name, a date its
//! text.

use std::{collections::HashMap, sync::Arc};

use super::{LocalDate, LocalDateTime, LocalTime};
use crate::{
    EncodeError, List, MAX_DEPTH, Map, Object, Value,
    value::{Back, BackCell, Container},
};

/// Whether the maps that stand for objects name their class, under the key `class`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClassKey {
    /// As Java and dubbo-go send by default; a receiver may pick a subclass by it.
    Include,
    /// As they send with `generic.include.class=false`: the receiver goes by the declared type alone.
    Omit,
}

/// What Java's `PojoUtils` makes of `value`.
///
/// | value | result |
/// |---|---|
/// | object | untyped map of its fields, with the class as [`ClassKey`] says |
/// | object with a single field `name` that is a string | that string: an enum's constant, or a `Class` |
/// | `LocalDate`, `LocalTime`, `LocalDateTime` | its text |
/// | other object of `java.*` and of hessian-lite (`BigDecimal`, `Instant` …) | unchanged, as Java can read it back |
/// | exception | map with `class`, `message`, `cause` and what its class adds |
/// | array of scalars, strings, dates | unchanged |
/// | other array | `Object[]`, and `String[]` for one of constants |
/// | set; other collection | `java.util.HashSet`; untyped list |
/// | map | map of the same type |
///
/// What is shared stays shared, and a cycle stays one. A class whose only field is `name` cannot be told from an enum
/// on the wire and is taken for one.
///
/// ```
/// use dubbo_hessian2::{Value, java::generic::{ClassKey, generalize}};
///
/// let user = Value::object("com.x.User", [("id", 7.into())]);
/// let map = generalize(&user, ClassKey::Include)?;
/// assert_eq!(map, Value::map([("class".into(), "com.x.User".into()), ("id".into(), 7.into())]));
/// # Ok::<(), dubbo_hessian2::EncodeError>(())
/// ```
///
/// # Errors
///
/// When values nest deeper than [`MAX_DEPTH`], or a date does not exist.
pub fn generalize(value: &Value, classes: ClassKey) -> Result<Value, EncodeError> {
    let mut generalizer = Generalizer {
        classes,
        depth: 0,
        known: HashMap::new(),
        targets: Vec::new(),
    };
    generalizer.value(value)
}

struct Generalizer {
    classes: ClassKey,
    depth: usize,
    /// What became of each container, by its address.
    known: HashMap<usize, Known>,
    /// What was reached by a reference back from a part; the input keeps everything else alive.
    targets: Vec<Value>,
}

enum Known {
    /// It is being worked on: what refers to it now is inside it.
    Open(Arc<BackCell>),
    Done(Value),
}

impl Generalizer {
    fn value(&mut self, value: &Value) -> Result<Value, EncodeError> {
        let address = match value {
            Value::List(list) => Arc::as_ptr(list).addr(),
            Value::Map(map) => Arc::as_ptr(map).addr(),
            Value::Object(object) => Arc::as_ptr(object).addr(),
            Value::Back(back) => {
                let target = back.target().ok_or_else(EncodeError::dangling)?;
                self.targets.push(target.clone());
                return self.value(&target);
            }
            scalar => return Ok(scalar.clone()),
        };
        match self.known.get(&address) {
            Some(Known::Open(cell)) => return Ok(Value::Back(Back::new(Arc::clone(cell)))),
            Some(Known::Done(done)) => return Ok(done.clone()),
            None => {}
        }
        if self.depth == MAX_DEPTH {
            return Err(EncodeError::depth(MAX_DEPTH));
        }
        self.depth += 1;
        let cell = Arc::<BackCell>::default();
        self.known.insert(address, Known::Open(Arc::clone(&cell)));
        let result = match value {
            Value::List(list) => self.list(list, value)?,
            Value::Map(map) => self.entries(map.type_name(), map.entries())?,
            Value::Object(object) => self.object(object, value)?,
            _ => value.clone(),
        };
        self.depth -= 1;
        match &result {
            Value::List(list) => cell.fill(&Container::List(Arc::clone(list))),
            Value::Map(map) => cell.fill(&Container::Map(Arc::clone(map))),
            Value::Object(object) => cell.fill(&Container::Object(Arc::clone(object))),
            _ => {}
        }
        self.known.insert(address, Known::Done(result.clone()));
        Ok(result)
    }

    fn list(&mut self, list: &List, value: &Value) -> Result<Value, EncodeError> {
        let type_name = list.type_name().unwrap_or_default();
        if is_array_of_scalars(type_name) {
            return Ok(value.clone());
        }
        let items = list.items().iter().map(|item| self.value(item));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        Ok(if type_name.starts_with('[') {
            let constants = list.items().iter().any(|item| constant(item).is_some())
                && list
                    .items()
                    .iter()
                    .all(|item| item.is_null() || constant(item).is_some());
            Value::typed_list(if constants { "[string" } else { "[object" }, items)
        } else if type_name.ends_with("Set") {
            Value::typed_list("java.util.HashSet", items)
        } else {
            Value::list(items)
        })
    }

    fn entries(
        &mut self,
        type_name: Option<&str>,
        entries: &[(Value, Value)],
    ) -> Result<Value, EncodeError> {
        let entries = entries
            .iter()
            .map(|(key, value)| Ok((self.value(key)?, self.value(value)?)))
            .collect::<Result<Vec<_>, EncodeError>>()?;
        Ok(Map::new(type_name.map(Into::into), entries).into())
    }

    fn object(&mut self, object: &Object, value: &Value) -> Result<Value, EncodeError> {
        if let Some(name) = constant(value) {
            return Ok(Value::String(name));
        }
        if let Some(text) = local_text(object, value)? {
            return Ok(text);
        }
        if is_exception(object) {
            return self.exception(object);
        }
        if is_of_java(object.class()) {
            return Ok(value.clone());
        }
        let mut entries = self.class_entry(object.class());
        for (name, value) in object.kept_fields() {
            entries.push((name.into(), self.value(value)?));
        }
        Ok(Value::map(entries))
    }

    /// By the names of an exception's getters; the stack stays behind, since no generic caller can use it.
    fn exception(&mut self, object: &Object) -> Result<Value, EncodeError> {
        let mut entries = self.class_entry(object.class());
        for (name, value) in object.fields() {
            match name {
                "detailMessage" => entries.push(("message".into(), value.clone())),
                "cause" if !matches!(value, Value::Back(_)) => {
                    entries.push((name.into(), self.value(value)?));
                }
                "cause" | "stackTrace" | "suppressedExceptions" | "serialVersionUID" => {}
                _ => entries.push((name.into(), self.value(value)?)),
            }
        }
        Ok(Value::map(entries))
    }

    fn class_entry(&self, class: &str) -> Vec<(Value, Value)> {
        match self.classes {
            ClassKey::Include => vec![("class".into(), class.into())],
            ClassKey::Omit => Vec::new(),
        }
    }
}

/// The name of an enum's constant or of a `Class`.
pub(super) fn constant(value: &Value) -> Option<Arc<str>> {
    let object = value.as_object()?;
    match (object.class_definition().fields(), object.values()) {
        ([field], [Value::String(name)]) if **field == *"name" => Some(Arc::clone(name)),
        _ => None,
    }
}

/// Whether this has the fields of every exception.
pub(super) fn is_exception(object: &Object) -> bool {
    [
        "detailMessage",
        "cause",
        "stackTrace",
        "suppressedExceptions",
    ]
    .iter()
    .all(|field| object.class_definition().position(field).is_some())
}

/// What Java reads into its own classes without being told more.
pub(super) fn is_of_java(class: &str) -> bool {
    ["java.", "javax.", HANDLES]
        .iter()
        .any(|package| class.starts_with(package))
}

fn local_text(object: &Object, value: &Value) -> Result<Option<Value>, EncodeError> {
    let Some(class) = object.class().strip_prefix(HANDLES) else {
        return Ok(None);
    };
    let text = match class {
        "java8.LocalDateHandle" => value.to::<LocalDate>().map(|date| date.to_string()),
        "java8.LocalTimeHandle" => value.to::<LocalTime>().map(|time| time.to_string()),
        "java8.LocalDateTimeHandle" => value.to::<LocalDateTime>().map(|at| at.to_string()),
        _ => return Ok(None),
    };
    text.map(|text| Some(text.into()))
        .map_err(|error| EncodeError::custom(error.to_string()))
}

/// Whether nothing in an array of this type changes its form.
fn is_array_of_scalars(type_name: &str) -> bool {
    let component = type_name.trim_start_matches('[');
    component.len() < type_name.len()
        && matches!(
            component,
            "boolean"
                | "byte"
                | "char"
                | "date"
                | "double"
                | "float"
                | "int"
                | "long"
                | "short"
                | "string"
                | "java.lang.Boolean"
                | "java.lang.Byte"
                | "java.lang.Character"
                | "java.lang.Double"
                | "java.lang.Float"
                | "java.lang.Integer"
                | "java.lang.Long"
                | "java.lang.Short"
                | "java.math.BigDecimal"
                | "java.math.BigInteger"
        )
}

/// The package of the classes that stand for Java's own on the wire.
pub(super) const HANDLES: &str = "com.alibaba.com.caucho.hessian.io.";
