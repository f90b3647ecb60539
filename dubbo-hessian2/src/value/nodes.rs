//! Lists, maps and objects.

use std::{
    any::Any,
    sync::{Arc, Weak},
};

use super::Value;
use crate::Class;

/// An array or a collection.
#[derive(Clone)]
pub struct List {
    type_name: Option<Arc<str>>,
    pub(super) items: Vec<Value>,
    variable: bool,
}

/// A map: its entries in their order, with any keys, one of them twice if it was written so.
#[derive(Clone)]
pub struct Map {
    type_name: Option<Arc<str>>,
    pub(super) entries: Vec<(Value, Value)>,
}

/// An object of a class.
#[derive(Clone)]
pub struct Object {
    class: Class,
    pub(super) fields: Vec<Value>,
}

impl List {
    pub(crate) fn new(type_name: Option<Arc<str>>, items: Vec<Value>, variable: bool) -> Self {
        Self {
            type_name,
            items,
            variable,
        }
    }

    /// The type: `[int`, `java.util.HashSet`. `ArrayList` has none.
    pub fn type_name(&self) -> Option<&str> {
        self.type_name.as_deref()
    }

    /// The elements.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Whether it was written without its length, as Java writes what an iterator gives.
    pub fn is_variable(&self) -> bool {
        self.variable
    }
}

impl Map {
    pub(crate) fn new(type_name: Option<Arc<str>>, entries: Vec<(Value, Value)>) -> Self {
        Self { type_name, entries }
    }

    /// The type: `java.util.TreeMap`. `HashMap` has none.
    pub fn type_name(&self) -> Option<&str> {
        self.type_name.as_deref()
    }

    /// The entries.
    pub fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    /// The value of a key that is a string; of several, the last.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries
            .iter()
            .rfind(|(known, _)| known.as_str() == Some(key))
            .map(|(_, value)| value)
    }
}

impl Object {
    /// An object of `class`. Missing values are null, and values beyond its fields are dropped.
    pub fn new(class: Class, mut values: Vec<Value>) -> Self {
        values.resize(class.fields().len(), Value::Null);
        Self {
            class,
            fields: values,
        }
    }

    /// Java's name of the class.
    pub fn class(&self) -> &str {
        self.class.name()
    }

    /// The class itself, to make another object of it.
    pub fn class_definition(&self) -> &Class {
        &self.class
    }

    /// The value of a field; of several with that name, the last, which is the one that Java keeps.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.class
            .position(field)
            .and_then(|position| self.fields.get(position))
    }

    /// The fields with their values.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.class
            .fields()
            .iter()
            .map(|name| &**name)
            .zip(&self.fields)
    }

    /// The fields that Java keeps: one that hides an inherited field comes after it.
    pub(crate) fn kept_fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        let names = self.class.fields();
        let kept = self.class.kept();
        kept.map(move |position| (&*names[position], &self.fields[position]))
    }

    /// The values of the fields, in their order.
    pub fn values(&self) -> &[Value] {
        &self.fields
    }
}

/// A list, a map or an object.
#[derive(Clone)]
pub(crate) enum Container {
    List(Arc<List>),
    Map(Arc<Map>),
    Object(Arc<Object>),
}

/// The same, without keeping it alive.
pub(super) enum WeakContainer {
    List(Weak<List>),
    Map(Weak<Map>),
    Object(Weak<Object>),
}

impl Container {
    /// The container that `value` is or refers back to.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::List(list) => Self::List(Arc::clone(list)),
            Value::Map(map) => Self::Map(Arc::clone(map)),
            Value::Object(object) => Self::Object(Arc::clone(object)),
            Value::Back(back) => return back.target().and_then(|target| Self::of(&target)),
            _ => return None,
        })
    }

    /// Where it is in memory: what tells it apart from an equal one.
    pub(super) fn address(&self) -> usize {
        match self {
            Self::List(list) => Arc::as_ptr(list).addr(),
            Self::Map(map) => Arc::as_ptr(map).addr(),
            Self::Object(object) => Arc::as_ptr(object).addr(),
        }
    }

    pub(super) fn downgrade(&self) -> WeakContainer {
        match self {
            Self::List(list) => WeakContainer::List(Arc::downgrade(list)),
            Self::Map(map) => WeakContainer::Map(Arc::downgrade(map)),
            Self::Object(object) => WeakContainer::Object(Arc::downgrade(object)),
        }
    }

    pub(super) fn into_any(self) -> Arc<dyn Any + Send + Sync> {
        match self {
            Self::List(list) => list,
            Self::Map(map) => map,
            Self::Object(object) => object,
        }
    }
}

impl WeakContainer {
    pub(super) fn upgrade(&self) -> Option<Container> {
        Some(match self {
            Self::List(list) => Container::List(list.upgrade()?),
            Self::Map(map) => Container::Map(map.upgrade()?),
            Self::Object(object) => Container::Object(object.upgrade()?),
        })
    }
}

impl From<Container> for Value {
    fn from(container: Container) -> Self {
        match container {
            Container::List(list) => Self::List(list),
            Container::Map(map) => Self::Map(map),
            Container::Object(object) => Self::Object(object),
        }
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(Arc::new(list))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Class, Object, Value};

    #[test]
    fn the_last_of_several_counts() {
        let object = Value::object("A", [("x", 1.into()), ("y", 2.into()), ("x", 3.into())]);
        let object = object.as_object().expect("an object");
        assert_eq!(object.get("x"), Some(&3.into()));
        assert_eq!(object.get("z"), None);
        assert_eq!(
            object.fields().map(|(name, _)| name).collect::<Vec<_>>(),
            ["x", "y", "x"]
        );
        let map = Value::map([
            ("k".into(), 1.into()),
            (1.into(), 2.into()),
            ("k".into(), 3.into()),
        ]);
        assert_eq!(
            map.as_typed_map().and_then(|map| map.get("k")),
            Some(&3.into())
        );
    }

    #[test]
    fn an_object_has_a_value_for_each_field() {
        let class = Class::new("A", ["x", "y"]);
        assert_eq!(
            Object::new(class.clone(), vec![1.into()]).values(),
            [1.into(), Value::Null]
        );
        let object = Object::new(class, vec![1.into(), 2.into(), 3.into()]);
        assert_eq!(object.values(), [1.into(), 2.into()]);
    }
}
