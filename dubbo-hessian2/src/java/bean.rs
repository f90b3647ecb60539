//! `JavaBeanDescriptor`, the form of values in calls with `generic=bean` (`docs/spec/dubbo-protocol.md` §13.2).
//!
//! Dubbo Java 3.3.6 refuses the descriptor's own class unless its allow list is extended, and dubbo-go 3.3.2 cannot read
//! the answers to its own calls: `generic=true` is the form that works everywhere.
//!
//! ```
//! use dubbo_hessian2::{Value, java::bean};
//!
//! let user = Value::object("com.x.User", [("id", 7.into())]);
//! assert_eq!(bean::restore(&bean::describe(&user)?)?, user);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;

use super::{
    generic::{constant, is_exception, is_of_java},
    object::field,
};
use crate::{DecodeError, EncodeError, List, MAX_DEPTH, Map, Object, Value};

/// Describes `value` with its classes, as Java's `JavaBeanSerializeUtil.serialize` does.
///
/// Null stays null. Scalars, strings, dates and Java's own objects become primitives, which the peer takes as they are;
/// a field that is null is left out.
///
/// # Errors
///
/// For values that contain themselves, nest deeper than [`MAX_DEPTH`], or would be more than a million descriptors
/// because parts of them are shared.
pub fn describe(value: &Value) -> Result<Value, EncodeError> {
    Describer {
        left: MAX_DESCRIPTORS,
    }
    .value(value, 0)
}

/// The value that a descriptor describes. Null stays null, and what is no descriptor is an error.
///
/// # Errors
///
/// For an unknown type, a property that is missing, and for descriptors that contain themselves, nest deeper than
/// [`MAX_DEPTH`] or are more than a million because parts of them are shared.
pub fn restore(descriptor: &Value) -> Result<Value, DecodeError> {
    Restorer {
        left: MAX_DESCRIPTORS,
    }
    .value(descriptor, 0)
}

struct Describer {
    /// How many more descriptors there may be.
    left: usize,
}

impl Describer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<Value, EncodeError> {
        // Each byte of an array is described on its own.
        let cost = value.as_bytes().map_or(1, <[u8]>::len).max(1);
        if depth == MAX_DEPTH || self.left < cost {
            return Err(EncodeError::custom(
                "a value that is too deep or too large to be described",
            ));
        }
        self.left -= 1;
        let primitive = |class: &str| Ok(descriptor(class, PRIMITIVE, [("value", value.clone())]));
        match value {
            Value::Null => Ok(Value::Null),
            Value::Bool(_) => primitive("java.lang.Boolean"),
            Value::Int(_) => primitive("java.lang.Integer"),
            Value::Long(_) => primitive("java.lang.Long"),
            Value::Double(_) => primitive("java.lang.Double"),
            Value::Date(_) => primitive("java.util.Date"),
            Value::String(_) => primitive("java.lang.String"),
            Value::Bytes(bytes) => {
                let items = bytes
                    .iter()
                    .map(|byte| Value::Int(i32::from(byte.cast_signed())));
                let items: Vec<Value> = items.collect();
                self.items("byte", ARRAY, &items, depth)
            }
            Value::List(list) => self.list(list, depth),
            Value::Map(map) => {
                let class = map.type_name().unwrap_or("java.util.HashMap");
                let mut properties = Vec::with_capacity(map.entries().len());
                for (key, value) in map.entries() {
                    properties.push((self.value(key, depth + 1)?, self.value(value, depth + 1)?));
                }
                Ok(described(class, MAP, properties))
            }
            Value::Object(object) => self.object(object, value, depth),
            Value::Back(_) => Err(EncodeError::custom(
                "a value that contains itself cannot be described",
            )),
        }
    }

    fn list(&mut self, list: &List, depth: usize) -> Result<Value, EncodeError> {
        let type_name = list.type_name().unwrap_or("java.util.ArrayList");
        match type_name.strip_prefix('[') {
            Some(component) => self.items(&component_class(component), ARRAY, list.items(), depth),
            None => self.items(type_name, COLLECTION, list.items(), depth),
        }
    }

    fn items(
        &mut self,
        class: &str,
        kind: i32,
        items: &[Value],
        depth: usize,
    ) -> Result<Value, EncodeError> {
        let mut properties = Vec::with_capacity(items.len());
        for (index, item) in (0..).zip(items) {
            properties.push((Value::Int(index), self.value(item, depth + 1)?));
        }
        Ok(described(class, kind, properties))
    }

    fn object(
        &mut self,
        object: &Object,
        value: &Value,
        depth: usize,
    ) -> Result<Value, EncodeError> {
        let class = object.class();
        if let Some(name) = constant(value) {
            let kind = if class == "java.lang.Class" {
                CLASS
            } else {
                ENUM
            };
            return Ok(descriptor(class, kind, [("name", Value::String(name))]));
        }
        if is_of_java(class) && !is_exception(object) {
            return Ok(descriptor(class, PRIMITIVE, [("value", value.clone())]));
        }
        let mut properties = Vec::new();
        for (name, value) in object.kept_fields() {
            if !value.is_null() {
                properties.push((name.into(), self.value(value, depth + 1)?));
            }
        }
        Ok(described(class, BEAN, properties))
    }
}

struct Restorer {
    /// How many more descriptors there may be.
    left: usize,
}

impl Restorer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<Value, DecodeError> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        if depth == MAX_DEPTH || self.left == 0 {
            return Err(DecodeError::custom(
                "descriptors that are too deep or too many",
            ));
        }
        self.left -= 1;
        let wrong =
            |what: &str| DecodeError::custom(format!("a JavaBeanDescriptor without {what}"));
        let class = field(value, "className").and_then(Value::as_str);
        let class = class.ok_or_else(|| wrong("className"))?;
        let kind = field(value, "type")
            .and_then(Value::as_i64)
            .ok_or_else(|| wrong("type"))?;
        let Some(Value::Map(properties)) = field(value, "properties") else {
            return Err(wrong("properties"));
        };
        let named = |name: &'static str| properties.get(name).ok_or_else(|| wrong(name));
        match i32::try_from(kind).unwrap_or_default() {
            CLASS => Ok(Value::object(
                "java.lang.Class",
                [("name", named("name")?.clone())],
            )),
            ENUM => Ok(Value::object(class, [("name", named("name")?.clone())])),
            COLLECTION => {
                let items = self.items(properties, depth)?;
                Ok(match class {
                    "java.util.ArrayList" | "java.util.List" | "java.lang.Object" => {
                        Value::list(items)
                    }
                    _ => Value::typed_list(class, items),
                })
            }
            MAP => {
                let mut entries = Vec::with_capacity(properties.entries().len());
                for (key, value) in properties.entries() {
                    entries.push((self.value(key, depth + 1)?, self.value(value, depth + 1)?));
                }
                Ok(match class {
                    "java.util.HashMap" | "java.util.Map" | "java.lang.Object" => {
                        Value::map(entries)
                    }
                    _ => Value::typed_map(class, entries),
                })
            }
            ARRAY => {
                let items = self.items(properties, depth)?;
                if class == "byte" {
                    return bytes(&items).ok_or_else(|| wrong("bytes in an array of bytes"));
                }
                Ok(Value::typed_list(
                    format!("[{}", component_type(class)),
                    items,
                ))
            }
            PRIMITIVE => named("value").cloned(),
            BEAN => {
                let mut fields = Vec::with_capacity(properties.entries().len());
                for (name, value) in properties.entries() {
                    let name = name
                        .as_str()
                        .ok_or_else(|| wrong("names of its properties"))?;
                    fields.push((name, self.value(value, depth + 1)?));
                }
                Ok(Value::object(class, fields))
            }
            _ => Err(DecodeError::custom(format!(
                "a JavaBeanDescriptor of type {kind}; there are 1 to 7"
            ))),
        }
    }

    /// In the order of their indices: dubbo-go sends them as a map has them.
    fn items(&mut self, properties: &Map, depth: usize) -> Result<Vec<Value>, DecodeError> {
        let mut items = Vec::with_capacity(properties.entries().len());
        for (index, item) in properties.entries() {
            let index = index.as_i64().ok_or_else(|| {
                DecodeError::custom(
                    "a JavaBeanDescriptor of a list with an index that is no number",
                )
            })?;
            items.push((index, self.value(item, depth + 1)?));
        }
        items.sort_by_key(|(index, _)| *index);
        if (0..)
            .zip(&items)
            .any(|(wanted, (index, _))| wanted != *index)
        {
            return Err(DecodeError::custom(
                "a JavaBeanDescriptor of a list with a gap",
            ));
        }
        Ok(items.into_iter().map(|(_, item)| item).collect())
    }
}

fn descriptor<const N: usize>(class: &str, kind: i32, properties: [(&str, Value); N]) -> Value {
    let properties = properties
        .into_iter()
        .map(|(name, value)| (name.into(), value));
    described(class, kind, properties.collect())
}

fn described(class: &str, kind: i32, properties: Vec<(Value, Value)>) -> Value {
    Value::object(
        DESCRIPTOR,
        [
            (
                "properties",
                Value::typed_map("java.util.LinkedHashMap", properties),
            ),
            ("type", kind.into()),
            ("className", class.into()),
        ],
    )
}

fn bytes(items: &[Value]) -> Option<Value> {
    let byte = |item: &Value| i8::try_from(item.as_i64()?).ok().map(i8::cast_unsigned);
    let bytes: Option<Vec<u8>> = items.iter().map(byte).collect();
    bytes.map(Value::from)
}

/// `Class.getName()` of what an array of this Hessian type holds.
fn component_class(component: &str) -> Cow<'_, str> {
    let nested = component.trim_start_matches('[');
    let depth = component.len() - nested.len();
    let class = HESSIAN_NAMES
        .iter()
        .find(|(_, hessian, _)| *hessian == nested);
    let class = class.map_or(nested, |(class, _, _)| *class);
    if depth == 0 {
        return Cow::Borrowed(class);
    }
    let letter = HESSIAN_NAMES
        .iter()
        .find(|(_, hessian, letter)| *hessian == nested && !letter.is_empty());
    let brackets = "[".repeat(depth);
    Cow::Owned(match letter {
        Some((_, _, letter)) => format!("{brackets}{letter}"),
        None => format!("{brackets}L{class};"),
    })
}

/// The inverse of [`component_class`].
fn component_type(class: &str) -> Cow<'_, str> {
    let nested = class.trim_start_matches('[');
    let depth = class.len() - nested.len();
    let found = if depth == 0 {
        HESSIAN_NAMES.iter().find(|(name, _, _)| *name == nested)
    } else {
        let named = nested
            .strip_prefix('L')
            .and_then(|name| name.strip_suffix(';'));
        HESSIAN_NAMES.iter().find(|(name, _, letter)| {
            Some(*name) == named || (*letter == nested && !letter.is_empty())
        })
    };
    let plain = nested
        .strip_prefix('L')
        .and_then(|name| name.strip_suffix(';'))
        .unwrap_or(nested);
    let name = found.map_or(
        if depth == 0 { nested } else { plain },
        |(_, hessian, _)| *hessian,
    );
    if depth == 0 {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{}{name}", &class[..depth]))
    }
}

/// Java's name, Hessian's in a list type, and the letter of a primitive in the name of an array.
const HESSIAN_NAMES: [(&str, &str, &str); 11] = [
    ("boolean", "boolean", "Z"),
    ("byte", "byte", "B"),
    ("char", "char", "C"),
    ("double", "double", "D"),
    ("float", "float", "F"),
    ("int", "int", "I"),
    ("long", "long", "J"),
    ("short", "short", "S"),
    ("java.lang.String", "string", ""),
    ("java.lang.Object", "object", ""),
    ("java.util.Date", "date", ""),
];
const DESCRIPTOR: &str = "org.apache.dubbo.common.beanutil.JavaBeanDescriptor";
const CLASS: i32 = 1;
const ENUM: i32 = 2;
const COLLECTION: i32 = 3;
const MAP: i32 = 4;
const ARRAY: i32 = 5;
const PRIMITIVE: i32 = 6;
const BEAN: i32 = 7;
const MAX_DESCRIPTORS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_components_convert_both_ways() {
        for (component, class) in [
            ("int", "int"),
            ("string", "java.lang.String"),
            ("object", "java.lang.Object"),
            ("com.x.User", "com.x.User"),
            ("[int", "[I"),
            ("[[string", "[[Ljava.lang.String;"),
            ("[com.x.User", "[Lcom.x.User;"),
        ] {
            assert_eq!(component_class(component), class);
            assert_eq!(component_type(class), component);
        }
    }
}
