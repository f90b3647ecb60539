//! One value of those that several groups of providers gave: the merger `java` and its relatives.

use std::{
    any::type_name,
    collections::{HashMap, hash_map::Entry},
    fmt,
    marker::PhantomData,
    sync::Arc,
};

use dubbo_core::{
    cluster::Merger,
    extension::BoxError,
    payload::{Adapter as _, Payload},
    service::{MethodDescriptor, MethodRef},
};
use dubbo_hessian2::{Value, to_vec};

use super::{args::JavaValue, ret::Ret};

/// A [`Merger`] of results of the type `R`, made of a closure.
///
/// ```
/// use std::sync::Arc;
///
/// use dubbo_core::cluster::Merger;
/// use dubbo_protocol::java::ValueMerger;
///
/// dubbo_core::extension!(dyn Merger, "sum", |_cx| {
///     Ok(Arc::new(ValueMerger::new(|all: Vec<i64>| all.into_iter().sum::<i64>())))
/// });
/// ```
pub struct ValueMerger<R, F> {
    merge: F,
    result: PhantomData<fn(R) -> R>,
}

impl<R: JavaValue, F: Fn(Vec<R>) -> R + Send + Sync + 'static> ValueMerger<R, F> {
    /// Merges with `merge`.
    pub fn new(merge: F) -> Self {
        Self {
            merge,
            result: PhantomData,
        }
    }
}

impl<R: JavaValue, F: Fn(Vec<R>) -> R + Send + Sync + 'static> Merger for ValueMerger<R, F> {
    fn check(&self, method: &MethodDescriptor) -> Result<(), BoxError> {
        only_java(method)
    }

    fn merge(&self, _method: &MethodRef, results: Vec<Payload>) -> Result<Payload, BoxError> {
        let read = results.into_iter().map(Payload::decode::<Ret<R>>);
        let read: Result<Vec<R>, _> = read.map(|read| read.map(Ret::unwrap)).collect();
        Ok(Payload::typed(Ret::wrap((self.merge)(read?))))
    }
}

impl<R, F> fmt::Debug for ValueMerger<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ValueMerger")
            .field(&type_name::<R>())
            .finish()
    }
}

/// Merges collections: those of one kind, or whatever the method declares. Lists and arrays are joined, sets united, and of
/// the entries of maps with one key the last is kept. Null adds nothing. The merged value has the type of the first.
struct Collections(Option<Kind>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    List,
    Map,
    Set,
    /// Always null.
    Void,
}

impl Merger for Collections {
    fn check(&self, method: &MethodDescriptor) -> Result<(), BoxError> {
        only_java(method)?;
        let declared = &*method.output;
        match (self.0, Kind::declared(declared)) {
            (None, None) if UNTYPED.contains(&declared) => Ok(()),
            (None, None) => Err(format!(
                "`{declared}` is no collection; name a merger of your own, or call it `{declared}` to be the default"
            )
            .into()),
            (Some(_), None) if !UNTYPED.contains(&declared) => {
                Err(format!("`{declared}` is no collection").into())
            }
            _ => Ok(()),
        }
    }

    fn merge(&self, method: &MethodRef, results: Vec<Payload>) -> Result<Payload, BoxError> {
        let mut values = Vec::with_capacity(results.len());
        for result in results {
            let value = result.decode::<Ret<Value>>()?.unwrap();
            if !value.is_null() {
                values.push(value);
            }
        }
        let declared = || Kind::declared(&method.descriptor().output);
        let merged = merge(self.0.or_else(declared), &values)?;
        Ok(Payload::typed(Ret::wrap(merged)))
    }
}

impl Kind {
    /// Of a type that a method declares; `None` when it says nothing about collections.
    fn declared(java_type: &str) -> Option<Self> {
        let simple = java_type.rsplit('.').next().unwrap_or(java_type);
        let ends = |words: &[&str]| words.iter().any(|word| simple.ends_with(word));
        match java_type {
            "void" | "java.lang.Void" => Some(Self::Void),
            array if array.starts_with('[') => Some(Self::Array),
            other if !other.starts_with("java.util.") => None,
            _ if ends(&["Map"]) => Some(Self::Map),
            _ if ends(&["Set"]) => Some(Self::Set),
            _ if ends(&["Collection", "Deque", "Iterable", "List", "Queue"]) => Some(Self::List),
            _ => None,
        }
    }

    /// Of a value whose type is not declared.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Map(_) => Some(Self::Map),
            Value::Bytes(_) => Some(Self::Array),
            Value::List(list) if list.type_name().is_some_and(|name| name.ends_with("Set")) => {
                Some(Self::Set)
            }
            Value::List(_) => Some(Self::List),
            _ => None,
        }
    }
}

/// One of `values`, none of which is null.
fn merge(kind: Option<Kind>, values: &[Value]) -> Result<Value, BoxError> {
    let Some(first) = values.first() else {
        return Ok(Value::Null);
    };
    match (kind.or_else(|| Kind::of(first)), first) {
        (Some(Kind::Void), _) => Ok(Value::Null),
        (Some(Kind::Map), Value::Map(map)) => {
            let entries = united(each(values, Value::as_map)?, |(key, _)| key)?;
            Ok(match map.type_name() {
                Some(name) => Value::typed_map(name, entries),
                None => Value::map(entries),
            })
        }
        // Java's `byte[]` and `char[]`.
        (Some(Kind::Array), Value::Bytes(_)) => {
            let all = each(values, Value::as_bytes)?;
            Ok(Value::Bytes(all.concat().into()))
        }
        (Some(Kind::Array), Value::String(_)) => Ok(each(values, Value::as_str)?.concat().into()),
        (Some(kind @ (Kind::Array | Kind::List | Kind::Set)), Value::List(list)) => {
            let lists = each(values, Value::as_list)?;
            let items = if kind == Kind::Set {
                united(lists, |item| item)?
            } else {
                lists.concat()
            };
            Ok(match list.type_name() {
                Some(name) => Value::typed_list(name, items),
                None => Value::list(items),
            })
        }
        (_, other) => Err(format!("it cannot merge {}", other.kind()).into()),
    }
}

/// What all of `values` hold.
fn each<'v, T>(values: &'v [Value], hold: fn(&'v Value) -> Option<T>) -> Result<Vec<T>, BoxError> {
    let all = values.iter().map(|value| {
        let first = values[0].kind();
        hold(value).ok_or_else(|| format!("it cannot merge {first} and {}", value.kind()).into())
    });
    all.collect()
}

/// The items of all lists, of those with one key the last, where the first stood.
fn united<T: Clone>(lists: Vec<&[T]>, key: fn(&T) -> &Value) -> Result<Vec<T>, BoxError> {
    let mut places = HashMap::new();
    let mut items: Vec<T> = Vec::new();
    for item in lists.into_iter().flatten() {
        match places.entry(to_vec(key(item))?) {
            Entry::Occupied(place) => items[*place.get()] = item.clone(),
            Entry::Vacant(place) => {
                place.insert(items.len());
                items.push(item.clone());
            }
        }
    }
    Ok(items)
}

fn only_java(method: &MethodDescriptor) -> Result<(), BoxError> {
    match &method.java {
        Some(_) => Ok(()),
        None => Err("it merges values of Java, and these are messages of a proto file".into()),
    }
}

dubbo_core::extension!(dyn Merger, "java" | ".addAll" | ".putAll", |_cx| Ok(
    Arc::new(Collections(None))
));
dubbo_core::extension!(dyn Merger, "list", |_cx| Ok(Arc::new(Collections(Some(
    Kind::List
)))));
dubbo_core::extension!(dyn Merger, "set", |_cx| Ok(Arc::new(Collections(Some(
    Kind::Set
)))));
dubbo_core::extension!(dyn Merger, "map", |_cx| Ok(Arc::new(Collections(Some(
    Kind::Map
)))));
// Dubbo Java has one for the arrays of each primitive type.
dubbo_core::extension!(
    dyn Merger,
    "array" | "boolean" | "byte" | "char" | "double" | "float" | "int" | "long" | "short",
    |_cx| Ok(Arc::new(Collections(Some(Kind::Array))))
);

/// What generic calls declare.
const UNTYPED: [&str; 2] = ["", "java.lang.Object"];

#[cfg(test)]
mod tests {
    use dubbo_core::service::{CallKind, ServiceDescriptor};

    use super::*;

    fn method(output: &'static str) -> MethodRef {
        let methods = vec![MethodDescriptor::java(
            "get",
            CallKind::Unary,
            ["int"],
            output,
        )];
        let service = Arc::new(ServiceDescriptor::new("x.Users", methods));
        service.find("get").expect("is there")
    }

    fn merged(kind: Option<Kind>, output: &'static str, values: &[Value]) -> Result<Value, String> {
        let values = values.iter().cloned();
        let payloads = values.map(|value| Payload::typed(Ret::wrap(value)));
        let merged = Collections(kind).merge(&method(output), payloads.collect());
        let merged = merged.map_err(|error| error.to_string())?;
        Ok(merged.decode::<Ret<Value>>().expect("reads").unwrap())
    }

    fn list(items: &[i32]) -> Value {
        Value::list(items.iter().map(|item| Value::from(*item)))
    }

    fn set(items: &[i32]) -> Value {
        Value::typed_list(
            "java.util.HashSet",
            items.iter().map(|item| Value::from(*item)),
        )
    }

    fn map(entries: &[(&str, i32)]) -> Value {
        let entries = entries.iter();
        Value::map(entries.map(|(key, value)| (Value::from(*key), Value::from(*value))))
    }

    #[test]
    fn collections_are_joined_united_and_overwritten() {
        let ints = |items: &[i32]| Value::typed_list("[int", items.iter().map(|i| Value::from(*i)));
        for (kind, output, values, want) in [
            (
                None,
                "java.util.List",
                vec![list(&[1, 2]), list(&[2])],
                list(&[1, 2, 2]),
            ),
            (
                None,
                "java.util.Set",
                vec![list(&[1, 2]), list(&[2, 3])],
                list(&[1, 2, 3]),
            ),
            (
                None,
                "java.lang.Object",
                vec![set(&[1]), set(&[1, 3])],
                set(&[1, 3]),
            ),
            (
                None,
                "java.lang.Object",
                vec![list(&[1]), list(&[1])],
                list(&[1, 1]),
            ),
            (
                Some(Kind::Set),
                "java.util.List",
                vec![list(&[1]), list(&[1])],
                list(&[1]),
            ),
            (
                None,
                "java.util.Map",
                vec![map(&[("a", 1), ("b", 2)]), map(&[("b", 3), ("c", 4)])],
                map(&[("a", 1), ("b", 3), ("c", 4)]),
            ),
            (
                None,
                "[I",
                vec![ints(&[1]), ints(&[2, 3])],
                ints(&[1, 2, 3]),
            ),
            (
                None,
                "[B",
                vec![Value::Bytes("ab".into()), Value::Bytes("c".into())],
                Value::Bytes("abc".into()),
            ),
            (None, "[C", vec!["ab".into(), "c".into()], "abc".into()),
            (
                None,
                "java.util.List",
                vec![Value::Null, list(&[1])],
                list(&[1]),
            ),
            (
                None,
                "java.util.List",
                vec![Value::Null, Value::Null],
                Value::Null,
            ),
            (None, "void", vec![Value::Null, Value::Null], Value::Null),
        ] {
            assert_eq!(
                merged(kind, output, &values),
                Ok(want),
                "{kind:?} of {output}"
            );
        }
        for (output, values, why) in [
            (
                "java.util.List",
                vec![list(&[1]), 7.into()],
                "it cannot merge a list and an int",
            ),
            (
                "java.lang.Object",
                vec![7.into(), 7.into()],
                "it cannot merge an int",
            ),
            (
                "java.util.Map",
                vec![list(&[1]), list(&[2])],
                "it cannot merge a list",
            ),
        ] {
            assert_eq!(
                merged(None, output, &values),
                Err(why.to_owned()),
                "{output}"
            );
        }
    }

    #[test]
    fn what_is_no_collection_is_refused_before_any_call() {
        let check = |merger: &dyn Merger, output| merger.check(method(output).descriptor()).is_ok();
        for (kind, output, want) in [
            (None, "java.util.ArrayList", true),
            (None, "com.x.User", false),
            (None, "long", false),
            (None, "java.lang.Object", true),
            (Some(Kind::List), "java.lang.String", false),
            (Some(Kind::Array), "[J", true),
        ] {
            assert_eq!(
                check(&Collections(kind), output),
                want,
                "{kind:?} of {output}"
            );
        }
        let message = MethodDescriptor::new("Get", CallKind::Unary);
        assert!(Collections(None).check(&message).is_err());
    }

    #[test]
    fn a_closure_merges_what_it_knows() {
        let sum = ValueMerger::new(|all: Vec<i64>| all.into_iter().sum::<i64>());
        let results = [3_i64, 4].map(|number| Payload::typed(Ret::wrap(number)));
        let merged = sum.merge(&method("long"), results.into()).expect("merges");
        assert_eq!(merged.decode::<Ret<i64>>().expect("reads").unwrap(), 7);
        let text = vec![Payload::typed(Ret::wrap("x".to_owned()))];
        assert!(sum.merge(&method("long"), text).is_err());
    }
}
