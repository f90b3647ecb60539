//! Dropping without recursion: through references, a chain of values can be as long as a message.

use std::{mem, sync::Arc};

use super::{List, Map, Object, Value};

impl Drop for List {
    fn drop(&mut self) {
        drop_values(mem::take(&mut self.items));
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let entries = mem::take(&mut self.entries);
        if entries
            .iter()
            .any(|(key, value)| is_container(key) || is_container(value))
        {
            drop_values(entries.into_iter().flat_map(<[Value; 2]>::from).collect());
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        drop_values(mem::take(&mut self.fields));
    }
}

fn drop_values(mut values: Vec<Value>) {
    if !values.iter().any(is_container) {
        return;
    }
    while let Some(value) = values.pop() {
        // The contents of what nobody else has are dropped here, and what is left of it has nothing to recurse into.
        match value {
            Value::List(list) => {
                if let Some(mut list) = Arc::into_inner(list) {
                    values.append(&mut list.items);
                }
            }
            Value::Map(map) => {
                if let Some(mut map) = Arc::into_inner(map) {
                    values.extend(map.entries.drain(..).flat_map(<[Value; 2]>::from));
                }
            }
            Value::Object(object) => {
                if let Some(mut object) = Arc::into_inner(object) {
                    values.append(&mut object.fields);
                }
            }
            _ => {}
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_) | Value::Object(_))
}

#[cfg(test)]
mod tests {
    use crate::{Class, Object, Value};

    #[test]
    fn a_long_chain_is_dropped_compared_and_printed_without_recursion() {
        let class = Class::new("A", ["next"]);
        let chain = || {
            (0..100_000).fold(Value::Null, |inner, index| match index % 3 {
                0 => Value::list([inner]),
                1 => Value::map([("next".into(), inner)]),
                _ => Object::new(class.clone(), vec![inner]).into(),
            })
        };
        let (left, right) = (chain(), chain());
        assert_eq!(left, right);
        assert!(format!("{left:?}").len() < 10_000);
        assert!(crate::to_vec(&left).is_err());
        let inner = left.clone();
        drop(left);
        assert_eq!(inner, right);
    }
}
