//! The tables of classes and types of a message (`docs/spec/hessian2.md` §5, §6).

use std::{borrow::Cow, ops::Range, sync::Arc};

use smallvec::SmallVec;

use super::{Decoder, REFERENCE};
use crate::{Class, DecodeError, Shape, error::Problem};

/// What a message has defined so far.
#[derive(Debug, Default)]
pub(super) struct Definitions<'a> {
    classes: Vec<Definition<'a>>,
    /// The names of the fields of all classes, class after class.
    fields: Vec<Cow<'a, str>>,
    types: Vec<TypeName<'a>>,
    /// For each field of a class, which field of a Rust type it is; plan after plan.
    targets: Vec<u32>,
}

#[derive(Debug)]
struct Definition<'a> {
    name: Cow<'a, str>,
    fields: Range<usize>,
    /// What the policy says, once it was asked.
    admitted: Option<bool>,
    /// Made when a [`Value`](crate::Value) needs it.
    class: Option<Class>,
    /// One for each Rust type that objects of the class have become: one as a rule.
    plans: SmallVec<[Plan; 1]>,
}

/// How objects of a class become a Rust type.
#[derive(Debug)]
struct Plan {
    shape: &'static Shape,
    binding: Binding,
}

/// Which field of a Rust type a field of a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    /// That in the same place: both have the same fields in the same order.
    InOrder,
    /// That which the targets say from here on.
    Targets(usize),
}

#[derive(Debug, Clone)]
struct TypeName<'a> {
    name: Cow<'a, str>,
    /// Made when a [`Value`](crate::Value) needs it.
    shared: Option<Arc<str>>,
}

/// The type of a list or a map.
#[derive(Debug)]
pub(super) enum TypeRef<'a> {
    Numbered(usize),
    /// Read again, so not numbered again.
    Text(Cow<'a, str>),
}

impl<'a> Definitions<'a> {
    pub(super) fn fields(&self, class: usize) -> Range<usize> {
        self.classes[class].fields.clone()
    }

    pub(super) fn field_name(&self, field: usize) -> &Cow<'a, str> {
        &self.fields[field]
    }

    /// The names of a class and of its field at `position`.
    pub(super) fn names(&self, class: usize, position: usize) -> (&str, &str) {
        let definition = &self.classes[class];
        (
            &definition.name,
            &self.fields[definition.fields.start + position],
        )
    }

    /// The position of a field in its shape; `None` when the shape has no such field.
    #[inline]
    pub(super) fn target(&self, binding: Binding, field: usize) -> Option<usize> {
        match binding {
            Binding::InOrder => Some(field),
            Binding::Targets(targets) => usize::try_from(self.targets[targets + field])
                .ok()
                .filter(|target| *target != NO_TARGET),
        }
    }

    /// The class for a [`Value`](crate::Value).
    pub(super) fn class(&mut self, class: usize) -> Class {
        let definition = &mut self.classes[class];
        definition
            .class
            .get_or_insert_with(|| {
                let fields = &self.fields[definition.fields.clone()];
                Class::new(&*definition.name, fields.iter().map(|field| &**field))
            })
            .clone()
    }

    /// The name of a type for a [`Value`](crate::Value); an empty name counts as none.
    pub(super) fn type_name(&mut self, reference: TypeRef<'a>) -> Option<Arc<str>> {
        let name = match reference {
            TypeRef::Numbered(index) => {
                let entry = &mut self.types[index];
                let name = &entry.name;
                entry
                    .shared
                    .get_or_insert_with(|| Arc::from(&**name))
                    .clone()
            }
            TypeRef::Text(name) => Arc::from(&*name),
        };
        (!name.is_empty()).then_some(name)
    }

    /// How the fields of `class` become those of `shape`, found out when it is first asked.
    #[inline]
    pub(super) fn binding(&mut self, class: usize, shape: &'static Shape) -> Binding {
        let mut plans = self.classes[class].plans.iter();
        match plans.find(|plan| std::ptr::eq(plan.shape, shape)) {
            Some(plan) => plan.binding,
            None => self.bind(class, shape),
        }
    }

    fn bind(&mut self, class: usize, shape: &'static Shape) -> Binding {
        let definition = &mut self.classes[class];
        let fields = &self.fields[definition.fields.clone()];
        let binding = if fields.iter().eq(shape.fields) {
            Binding::InOrder
        } else {
            let targets = self.targets.len();
            self.targets.extend(fields.iter().map(|field| {
                let target = shape.fields.iter().position(|name| name == field);
                target
                    .and_then(|target| u32::try_from(target).ok())
                    .unwrap_or(u32::MAX)
            }));
            Binding::Targets(targets)
        };
        definition.plans.push(Plan { shape, binding });
        binding
    }
}

impl<'a> Decoder<'a> {
    /// Reads the definition that is next.
    pub(super) fn class_definition(&mut self) -> Result<(), DecodeError> {
        let limits = &self.options.limits;
        self.position += 1;
        let again = self.references.is_replaying();
        if !again {
            let count = self.definitions.classes.len() + 1;
            self.check(count, limits.classes, "classes", "classes in one message")?;
        }
        let name = self.name("the name of a class")?;
        let count = self.length("the fields of a class")?;
        self.check(count, limits.fields, "fields", "fields in one class")?;
        if !again {
            self.count_nodes(count)?;
        }
        let start = self.definitions.fields.len();
        self.definitions
            .fields
            .reserve(if again { 0 } else { count });
        for _ in 0..count {
            let field = self.name("the name of a field")?;
            if !again {
                self.definitions.fields.push(field);
            }
        }
        if !again {
            self.definitions.classes.push(Definition {
                name,
                fields: start..start + count,
                admitted: self.options.classes.is_none().then_some(true),
                class: None,
                plans: SmallVec::new(),
            });
        }
        Ok(())
    }

    /// Whether objects of `class`, if it is one, become `shape` field by field, and may.
    #[inline]
    pub(super) fn is_in_order(&mut self, class: usize, shape: &'static Shape) -> bool {
        class < self.definitions.classes.len()
            && self.admits(class)
            && self.definitions.binding(class, shape) == Binding::InOrder
    }

    /// The name of the class of the object that is next, or that the reference that is next names. Nothing is read but
    /// definitions before it.
    pub(crate) fn class_ahead(&mut self) -> Option<&str> {
        let start = match self.lead().ok()? {
            REFERENCE => self.referenced_start().ok()?,
            _ => self.position,
        };
        let index = match *self.input.get(start)? {
            short @ 0x60..=0x6f => usize::from(short - 0x60),
            b'O' => {
                let mut ahead = Decoder::with_options(self.input, self.options);
                ahead.position = start + 1;
                usize::try_from(ahead.index("the number of a class").ok()?).ok()?
            }
            _ => return None,
        };
        let definition = self.definitions.classes.get(index)?;
        Some(&definition.name)
    }

    /// The number of the class of the object that is next, whose first byte is `lead`. Its fields follow.
    pub(super) fn class_index(&mut self, lead: u8) -> Result<usize, DecodeError> {
        let start = self.position;
        self.position += 1;
        let index = match lead {
            0x60..=0x6f => i64::from(lead - 0x60),
            _ => self.index("the number of a class")?,
        };
        let known = self.definitions.classes.len();
        match usize::try_from(index) {
            Ok(index) if index < known => Ok(index),
            _ => {
                self.position = start;
                Err(self.error(Problem::ClassIndex { index, known }))
            }
        }
    }

    /// Whether objects of `class` may become Rust types. The policy is asked for the first that is read, and for none
    /// that are only passed over.
    #[inline]
    pub(super) fn admits(&mut self, class: usize) -> bool {
        let definition = &mut self.definitions.classes[class];
        *definition.admitted.get_or_insert_with(|| {
            let policy = self.options.classes.as_ref();
            policy.is_none_or(|policy| policy.admits(&definition.name))
        })
    }

    /// An error when the policy refuses objects of `class` as Rust types.
    pub(super) fn admit(&mut self, class: usize) -> Result<(), DecodeError> {
        if self.admits(class) {
            return Ok(());
        }
        let name = self.definitions.classes[class].name.to_string();
        Err(self.error(Problem::Refused(name)))
    }

    /// The type of a list or a map.
    pub(super) fn type_ref(&mut self) -> Result<TypeRef<'a>, DecodeError> {
        let start = self.position;
        let lead = self.raw_lead()?;
        if matches!(lead, 0x00..=0x1f | 0x30..=0x33 | b'R' | b'S') {
            let name = self.name("the name of a type")?;
            if self.references.is_replaying() {
                return Ok(TypeRef::Text(name));
            }
            self.definitions.types.push(TypeName { name, shared: None });
            return Ok(TypeRef::Numbered(self.definitions.types.len() - 1));
        }
        let index = self.index("a type")?;
        let known = self.definitions.types.len();
        match usize::try_from(index) {
            Ok(index) if index < known => Ok(TypeRef::Numbered(index)),
            _ => {
                self.position = start;
                Err(self.error(Problem::TypeIndex { index, known }))
            }
        }
    }
}

/// The target of a field that the Rust type does not have.
const NO_TARGET: usize = u32::MAX as usize;

#[cfg(test)]
mod tests {
    use crate::{
        DecodeOptions, Decoder, FromHessian, Hessian, Limits, Value, error::Problem, from_slice,
    };

    #[test]
    fn definitions_may_come_early_and_in_rows() {
        // Two before a number, one within a list, and the first is used last.
        let bytes = b"\x7cC\x01A\x91\x01xC\x01B\x90\x91C\x01C\x90\x61\x62\x60\x92";
        let value: Value = from_slice(bytes).expect("reads");
        let classes: Vec<_> = value.as_list().expect("a list")[1..]
            .iter()
            .map(|object| object.as_object().map(crate::Object::class))
            .collect();
        assert_eq!(classes, [Some("B"), Some("C"), Some("A")]);
    }

    #[test]
    fn what_a_class_may_have_is_limited() {
        let options = |limits| DecodeOptions {
            limits,
            ..DecodeOptions::DEFAULT
        };
        let classes = options(Limits {
            classes: 2,
            ..Limits::DEFAULT
        });
        let fields = options(Limits {
            fields: 2,
            ..Limits::DEFAULT
        });
        let name = options(Limits {
            name: 3,
            ..Limits::DEFAULT
        });
        for (options, within, beyond) in [
            (
                &classes,
                &b"C\x01A\x90C\x01B\x90\x60"[..],
                &b"C\x01A\x90C\x01B\x90C\x01C\x90\x60"[..],
            ),
            (
                &fields,
                b"C\x01A\x92\x01a\x01b\x60NN",
                b"C\x01A\x93\x01a\x01b\x01c\x60NNN",
            ),
            (&name, b"C\x03ABC\x90\x60", b"C\x04ABCD\x90\x60"),
            (&name, b"C\x01A\x91\x03abc\x60N", b"C\x01A\x91\x04abcd\x60N"),
            (&name, b"\x70\x03abc", b"M\x04abcdZ"),
        ] {
            Decoder::with_options(within, options)
                .value()
                .expect("within the limit");
            let error = Decoder::with_options(beyond, options)
                .value()
                .expect_err("beyond it");
            assert!(error.is_limit(), "{error}");
        }
    }

    #[test]
    fn what_is_not_defined_is_refused() {
        for (bytes, index, known) in [
            (&b"\x60"[..], 0, 0),
            (b"C\x01A\x90\x61", 1, 1),
            (b"C\x01A\x90O\x95", 5, 1),
            (b"C\x01A\x90O\x8f", -1, 1),
        ] {
            let error = from_slice::<Value>(bytes).expect_err("no such class");
            assert_eq!(*error.problem(), Problem::ClassIndex { index, known });
        }
        for bytes in [&b"\x70\x90"[..], b"M\x90Z", b"\x70\x8f", b"V\x91\x90"] {
            let error = from_slice::<Value>(bytes).expect_err("no such type");
            assert!(
                matches!(error.problem(), Problem::TypeIndex { .. }),
                "{error}"
            );
        }
        for bytes in [
            &b"C\x90"[..],
            b"C\x01A\x8f\x60",
            b"C\x01A\x91\x90\x60",
            b"C\x01AN\x60",
            b"\x70N",
        ] {
            assert!(from_slice::<Value>(bytes).is_err(), "{bytes:x?}");
        }
    }

    #[derive(Debug, PartialEq, Hessian)]
    #[hessian(class = "A")]
    struct A {
        x: i32,
        #[hessian(default)]
        y: String,
    }

    #[derive(Debug, PartialEq, Hessian)]
    #[hessian(class = "A")]
    struct Other {
        y: String,
    }

    #[test]
    fn fields_are_bound_by_name() {
        let a = |x, y: &str| A { x, y: y.into() };
        for (bytes, expected) in [
            (&b"C\x01A\x92\x01x\x01y\x60\x91\x01b"[..], a(1, "b")),
            (b"C\x01A\x92\x01y\x01x\x60\x01b\x91", a(1, "b")),
            (b"C\x01Z\x91\x01x\x60\x91", a(1, "")),
            // A field that is not known may hold anything, and be referred to.
            (
                b"C\x01A\x92\x01u\x01x\x60\x79C\x01B\x91\x01x\x61\x92\x91",
                a(1, ""),
            ),
            // Of two with one name, the last.
            (b"C\x01A\x92\x01x\x01x\x60\x91\x92", a(2, "")),
            (b"C\x01A\x90\x60", a(0, "")),
            (b"H\x01x\x91\x01y\x01b\x05class\x01A\x90\x91Z", a(1, "b")),
            (b"M\x01t\x01x\x91Z", a(1, "")),
        ] {
            assert_eq!(
                from_slice::<A>(bytes).expect("reads"),
                expected,
                "{bytes:x?}"
            );
        }
    }

    #[test]
    fn one_class_becomes_several_types() {
        let bytes = b"C\x01A\x92\x01x\x01y\x60\x91\x01b\x60\x92\x01c\x60\x93\x01d";
        let mut decoder = Decoder::new(bytes);
        assert_eq!(A::decode(&mut decoder).expect("reads").x, 1);
        assert_eq!(Other::decode(&mut decoder).expect("reads").y, "c");
        assert_eq!(A::decode(&mut decoder).expect("reads").x, 3);
    }

    #[test]
    fn what_is_no_object_is_named() {
        let error = from_slice::<A>(b"\x79\x91").expect_err("a list");
        assert_eq!(
            error.to_string(),
            "expected an object, found a list (at byte 0)"
        );
        let error =
            from_slice::<Vec<A>>(b"\x7aC\x01A\x91\x01x\x60\x90\x60\x01a").expect_err("text");
        assert_eq!(
            error.to_string(),
            "[1] A.x: expected an int, found a string (at byte 10)"
        );
    }
}
