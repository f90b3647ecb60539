//! Values as text.

use std::sync::Arc;

use dubbo::hessian2::{Object, ToHessian, Value as Any, java::BigInteger};

use crate::user::User;

/// A text that two values have in common when they are of the same class and equal, all the way down: the order of
/// fields, of entries and of a set's elements is the peer's to choose.
pub(super) fn of(value: &impl ToHessian) -> String {
    match Any::of(value) {
        Ok(value) => show(&value),
        Err(error) => error.to_string(),
    }
}

fn show(value: &Any) -> String {
    match value {
        Any::String(text) if text.len() > LONG => {
            format!("text of {} #{:x}", text.len(), sum(text.as_bytes()))
        }
        Any::Bytes(bytes) => format!("{} bytes #{:x}", bytes.len(), sum(bytes)),
        Any::List(list) => {
            let mut items: Vec<_> = list.items().iter().map(show).collect();
            let name = list.type_name().unwrap_or_default();
            if name.ends_with("Set") {
                items.sort();
            }
            format!("{name}[{}]", items.join(", "))
        }
        Any::Map(map) => {
            let entry = |(key, value): &(Any, Any)| format!("{}: {}", show(key), show(value));
            let mut entries: Vec<_> = map.entries().iter().map(entry).collect();
            entries.sort();
            let name = map.type_name().unwrap_or_default();
            format!("{name}{{{}}}", entries.join(", "))
        }
        Any::Object(object) if object.class() == "java.math.BigInteger" => {
            // Of its fields some repeat what others say, and peers leave them out.
            let number = value.to::<BigInteger>();
            number.map_or_else(|e| e.to_string(), |number| number.to_string())
        }
        Any::Object(object) if object.class() == "org.apache.dubbo.interop.User" => {
            // The lists of a bean are what the bean's class makes of them, whatever type a peer writes.
            match value.to::<User>().map(|user| Any::of(&user)) {
                Ok(Ok(Any::Object(user))) => show_object(&user),
                other => format!("{other:?}"),
            }
        }
        Any::Object(object) => show_object(object),
        Any::Back(_) => "itself".to_owned(),
        other => format!("{other:?}"),
    }
}

fn show_object(object: &Object) -> String {
    let field = |(name, value): (&str, &Any)| format!("{name}: {}", show(value));
    let mut fields: Vec<_> = object.fields().map(field).collect();
    fields.sort();
    format!("{}{{{}}}", object.class(), fields.join(", "))
}

/// Whether two values are one object.
pub(super) fn are_one(one: &Any, other: &Any) -> bool {
    matches!((one, other), (Any::Object(one), Any::Object(other)) if Arc::ptr_eq(one, other))
}

fn sum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
    bytes.iter().fold(7, add)
}

const LONG: usize = 64;
