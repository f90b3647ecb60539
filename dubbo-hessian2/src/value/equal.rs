//! Comparing, in linear time for shared and cyclic values too.

use std::{collections::HashMap, sync::Arc};

use super::{Value, nodes::Container};

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = Pairs::default();
        let mut rest = Vec::new();
        if !pairs.same(self, other, &mut rest) {
            return false;
        }
        while let Some((left, right)) = rest.pop() {
            if !pairs.same_contents(&left, &right, &mut rest) {
                return false;
            }
        }
        true
    }
}

/// Containers that are assumed to be equal: what unfolds from two of them has been compared, or is about to be.
///
/// A forest of merged sets, as in Hopcroft and Karp's comparison of automata: two containers of one set need no second
/// look, so there are fewer comparisons than containers. A difference anywhere ends it all, so a wrong assumption does
/// no harm.
#[derive(Default)]
struct Pairs {
    parents: HashMap<usize, usize>,
}

impl Pairs {
    /// Compares two values; containers are put on the list of what is left to compare.
    fn same(
        &mut self,
        left: &Value,
        right: &Value,
        rest: &mut Vec<(Container, Container)>,
    ) -> bool {
        match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Int(left), Value::Int(right)) => left == right,
            (Value::Long(left), Value::Long(right)) | (Value::Date(left), Value::Date(right)) => {
                left == right
            }
            (Value::Double(left), Value::Double(right)) => left.to_bits() == right.to_bits(),
            (Value::String(left), Value::String(right)) => left == right,
            (Value::Bytes(left), Value::Bytes(right)) => left == right,
            _ => match (Container::of(left), Container::of(right)) {
                (Some(left), Some(right)) => {
                    if left.address() == right.address() {
                        return true;
                    }
                    let unshared = left.is_unshared() && right.is_unshared();
                    if unshared || self.merge(left.address(), right.address()) {
                        rest.push((left, right));
                    }
                    true
                }
                (None, None) => matches!((left, right), (Value::Back(_), Value::Back(_))),
                _ => false,
            },
        }
    }

    fn same_contents(
        &mut self,
        left: &Container,
        right: &Container,
        rest: &mut Vec<(Container, Container)>,
    ) -> bool {
        match (left, right) {
            (Container::List(left), Container::List(right)) => {
                left.type_name() == right.type_name()
                    && left.is_variable() == right.is_variable()
                    && self.all(left.items(), right.items(), rest)
            }
            (Container::Map(left), Container::Map(right)) => {
                left.type_name() == right.type_name()
                    && left.entries().len() == right.entries().len()
                    && left
                        .entries()
                        .iter()
                        .zip(right.entries())
                        .all(|(left, right)| {
                            self.same(&left.0, &right.0, rest) && self.same(&left.1, &right.1, rest)
                        })
            }
            (Container::Object(left), Container::Object(right)) => {
                left.class_definition() == right.class_definition()
                    && self.all(left.values(), right.values(), rest)
            }
            _ => false,
        }
    }

    fn all(
        &mut self,
        left: &[Value],
        right: &[Value],
        rest: &mut Vec<(Container, Container)>,
    ) -> bool {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| self.same(left, right, rest))
    }

    /// Assumes that the containers at two addresses are equal; false when that was assumed before.
    fn merge(&mut self, left: usize, right: usize) -> bool {
        let (left, right) = (self.root(left), self.root(right));
        left != right && self.parents.insert(left, right).is_none()
    }

    fn root(&mut self, address: usize) -> usize {
        let mut root = address;
        while let Some(parent) = self.parents.get(&root) {
            root = *parent;
        }
        // Each address on the way points to the root from now on, or the ways would grow.
        let mut step = address;
        while step != root {
            step = self.parents.insert(step, root).unwrap_or(root);
        }
        root
    }
}

impl Container {
    /// Whether it can be met only once: this clone and the place where it was found have it.
    fn is_unshared(&self) -> bool {
        fn counts<T>(container: &Arc<T>) -> bool {
            Arc::strong_count(container) <= 2 && Arc::weak_count(container) == 0
        }
        match self {
            Self::List(list) => counts(list),
            Self::Map(map) => counts(map),
            Self::Object(object) => counts(object),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Value, from_slice};

    #[test]
    fn values_differ_by_kind_type_and_bits() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(1),
            Value::Long(1),
            Value::Double(1.0),
            Value::Double(0.0),
            Value::Double(-0.0),
            Value::Double(f64::NAN),
            Value::Date(1),
            "1".into(),
            b"1"[..].into(),
            Value::list([]),
            Value::list([1.into()]),
            Value::typed_list("[int", [1.into()]),
            from_slice(b"W\x91Z").expect("reads"),
            Value::map([]),
            Value::typed_map("t", []),
            Value::map([(1.into(), 2.into())]),
            Value::map([(2.into(), 1.into())]),
            Value::object("A", [("x", 1.into())]),
            Value::object("A", [("y", 1.into())]),
            Value::object("B", [("x", 1.into())]),
            Value::object("A", [("x", 2.into())]),
        ];
        for (index, value) in values.iter().enumerate() {
            for (other_index, other) in values.iter().enumerate() {
                assert_eq!(value == other, index == other_index, "{value:?}, {other:?}");
            }
        }
    }

    #[test]
    fn a_shared_value_equals_what_it_unfolds_to() {
        let shared: Value = from_slice(b"\x7a\x79\x91\x51\x91").expect("reads");
        let unfolded: Value = from_slice(b"\x7a\x79\x91\x79\x91").expect("reads");
        assert_eq!(shared, unfolded);
        let other: Value = from_slice(b"\x7a\x79\x91\x79\x92").expect("reads");
        assert_ne!(shared, other);
        // A cycle of one, and one of two, unfold to the same; one with something in it does not.
        let one: Value = from_slice(b"\x79\x51\x90").expect("reads");
        let two: Value = from_slice(b"\x79\x79\x51\x90").expect("reads");
        let three: Value = from_slice(b"\x79\x79\x7a\x51\x90N").expect("reads");
        assert_eq!(one, two);
        assert_ne!(one, three);
        assert_ne!(two, three);
    }

    #[test]
    fn comparing_takes_linear_time() {
        // Each list refers to the one before it twice, in one value in another order than in the other.
        let lists = |first: &[u8], second: &[u8]| {
            let mut bytes = b"W\x79\x90".to_vec();
            for index in 1..2000_u16 {
                let [high, low] = index.to_be_bytes();
                bytes.extend(
                    [
                        b"\x7a",
                        first,
                        &[0xd4, high, low],
                        second,
                        &[0xd4, high, low],
                    ]
                    .concat(),
                );
            }
            bytes.push(b'Z');
            from_slice::<Value>(&bytes).expect("reads")
        };
        let (left, right) = (lists(b"\x51", b"\x51"), lists(b"\x51", b"\x51"));
        assert_eq!(left, right);
        let last = |value: &Value| value.as_list().and_then(<[_]>::last).cloned();
        assert_eq!(last(&left), last(&right));
        assert_ne!(last(&left), left.as_list().map(|items| items[1998].clone()));
    }
}
