//! Printing, each shared container once.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt::{self, Debug, Formatter},
};

use super::{Back, List, Map, Object, Value, nodes::Container};

impl Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printed {
            value: self,
            seen: &RefCell::default(),
            depth: 0,
        }
        .fmt(f)
    }
}

impl Debug for List {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Value::from(self.clone()).fmt(f)
    }
}

impl Debug for Map {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Value::from(self.clone()).fmt(f)
    }
}

impl Debug for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Value::from(self.clone()).fmt(f)
    }
}

impl Debug for Back {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let target = self.target();
        f.debug_tuple("Back")
            .field(&target.as_ref().map(Value::kind))
            .finish()
    }
}

/// A value on its way to the printer.
struct Printed<'v> {
    value: &'v Value,
    /// The containers that were printed, by their address, and in which order.
    seen: &'v RefCell<HashMap<usize, usize>>,
    depth: usize,
}

impl<'v> Printed<'v> {
    fn inner(&self, value: &'v Value) -> Self {
        Self {
            value,
            seen: self.seen,
            depth: self.depth + 1,
        }
    }

    fn items(&self, values: &'v [Value], f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(values.iter().map(|value| self.inner(value)))
            .finish()
    }
}

impl Debug for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(container) = Container::of(self.value) {
            let number = self.seen.borrow().len() + 1;
            let first = *self
                .seen
                .borrow_mut()
                .entry(container.address())
                .or_insert(number);
            if first != number {
                return write!(f, "#{first}");
            }
            if self.depth == DEPTH {
                return f.write_str("…");
            }
        }
        let typed = |f: &mut Formatter<'_>, name: Option<&str>| match name {
            Some(name) => write!(f, "{name} "),
            None => Ok(()),
        };
        match self.value {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => value.fmt(f),
            Value::Int(value) => value.fmt(f),
            Value::Long(value) => write!(f, "{value}L"),
            Value::Double(value) => value.fmt(f),
            Value::Date(milliseconds) => write!(f, "Date({milliseconds})"),
            Value::String(text) => text.fmt(f),
            Value::Bytes(bytes) => bytes.fmt(f),
            Value::List(list) => {
                typed(f, list.type_name())?;
                self.items(list.items(), f)
            }
            Value::Map(map) => {
                typed(f, map.type_name())?;
                let entries = map.entries().iter();
                let entries = entries.map(|(key, value)| (self.inner(key), self.inner(value)));
                f.debug_map().entries(entries).finish()
            }
            Value::Object(object) => {
                let mut fields = f.debug_struct(object.class());
                for (name, value) in object.fields() {
                    fields.field(name, &self.inner(value));
                }
                fields.finish()
            }
            Value::Back(back) => match back.target() {
                // Outside of its target, which is printed here instead.
                Some(target) => Printed {
                    value: &target,
                    seen: self.seen,
                    depth: self.depth,
                }
                .fmt(f),
                None => f.write_str("gone"),
            },
        }
    }
}

/// Deeper values are left out: a chain of references can be as long as a message.
const DEPTH: usize = 128;

#[cfg(test)]
mod tests {
    use crate::{Value, from_slice};

    #[test]
    fn each_container_is_printed_once() {
        let value: Value =
            from_slice(b"\x7c\x79\x91\x51\x91\x51\x90M\x01t\x01a\xe1Z").expect("reads");
        assert_eq!(format!("{value:?}"), r#"[[1], #2, #1, t {"a": 1L}]"#);
        let object = Value::object("com.x.A", [("x", Value::Null), ("y", Value::Date(5))]);
        assert_eq!(format!("{object:?}"), "com.x.A { x: null, y: Date(5) }");
        assert_eq!(format!("{:#?}", Value::list([1.into()])), "[\n    1,\n]");
    }
}
