//! The table of lists, maps and objects of a message, and references to them (`docs/spec/hessian2.md` §7).

use super::{Decoder, REFERENCE};
use crate::{DecodeError, error::Problem};

/// Where each container stands. A container takes its number before its contents are read.
#[derive(Debug, Default)]
pub(super) struct References {
    slots: Vec<Slot>,
    /// The number of the container that is read next: past the table, unless something is read again.
    cursor: usize,
    /// How many references are being followed.
    replaying: usize,
    /// The bytes that were read again.
    expansion: usize,
}

/// One container.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start: usize,
    /// Behind its last byte; 0 until it was read once.
    end: usize,
    /// The number of the first container behind it.
    next: usize,
    /// Whether it is being read, or read again.
    open: bool,
}

/// Where to go on after a reference was followed.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub(super) struct Return {
    position: usize,
    cursor: usize,
}

impl References {
    pub(super) fn is_replaying(&self) -> bool {
        self.replaying > 0
    }

    /// The number that the next container takes.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn is_open(&self, index: usize) -> bool {
        self.slots[index].open
    }
}

impl Decoder<'_> {
    /// Follows the reference that is next, if one is. [`resume`](Self::resume) goes back.
    pub(super) fn follow(&mut self) -> Result<Option<Return>, DecodeError> {
        if self.lead()? != REFERENCE {
            return Ok(None);
        }
        let start = self.position;
        let index = self.reference()?;
        self.jump(index, start).map(Some)
    }

    /// Goes to container `index`, which the reference at `start` names, to read it again.
    pub(super) fn jump(&mut self, index: usize, start: usize) -> Result<Return, DecodeError> {
        let slot = self.references.slots[index];
        if slot.open {
            return Err(DecodeError::new(Problem::Cyclic, start));
        }
        let limit = self.options.limits.expansion;
        self.references.expansion += slot.end - slot.start;
        self.check(
            self.references.expansion,
            limit,
            "expansion",
            "bytes read again for references to plain values",
        )?;
        let back = Return {
            position: self.position,
            cursor: self.references.cursor,
        };
        self.position = slot.start;
        self.references.cursor = index;
        self.references.replaying += 1;
        Ok(back)
    }

    /// Goes on behind a reference that was followed.
    pub(super) fn resume(&mut self, back: Option<Return>) {
        if let Some(back) = back {
            self.position = back.position;
            self.references.cursor = back.cursor;
            self.references.replaying -= 1;
        }
    }

    /// Reads the reference that is next: the number of the container that it names.
    pub(super) fn reference(&mut self) -> Result<usize, DecodeError> {
        let start = self.position;
        self.position += 1;
        let index = self.index("the number of a value")?;
        let known = self.references.slots.len();
        match usize::try_from(index) {
            Ok(index) if index < known => Ok(index),
            _ => Err(DecodeError::new(Problem::Reference { index, known }, start)),
        }
    }

    /// The first byte of what the reference that is next names. Nothing is read.
    pub(super) fn referenced_lead(&self) -> Result<u8, DecodeError> {
        let start = self.referenced_start()?;
        self.input
            .get(start)
            .copied()
            .ok_or_else(|| self.truncated(1))
    }

    /// Where what the reference that is next names stands. Nothing is read.
    pub(super) fn referenced_start(&self) -> Result<usize, DecodeError> {
        let mut ahead = Decoder::with_options(self.input, self.options);
        ahead.position = self.position + 1;
        let index = ahead.index("the number of a value")?;
        let slot = usize::try_from(index)
            .ok()
            .and_then(|index| self.references.slots.get(index));
        slot.map(|slot| slot.start).ok_or_else(|| {
            let known = self.references.slots.len();
            self.error(Problem::Reference { index, known })
        })
    }

    /// Enters the container that is next, and gives it its number.
    pub(super) fn open(&mut self) -> Result<usize, DecodeError> {
        self.depth += 1;
        self.check(
            self.depth,
            self.max_depth,
            "depth",
            "levels of lists, maps and objects",
        )?;
        if self.depth == 1 {
            self.stack.start();
        } else if !self.stack.has_room() {
            return Err(self.error(Problem::Stack));
        }
        self.count_node()?;
        let references = &mut self.references;
        let index = references.cursor;
        match references.slots.get_mut(index) {
            Some(slot) if slot.open => return Err(self.error(Problem::Cyclic)),
            Some(slot) => slot.open = true,
            None => {
                references.slots.push(Slot {
                    start: self.position,
                    end: 0,
                    next: 0,
                    open: true,
                });
            }
        }
        references.cursor += 1;
        Ok(index)
    }

    /// Leaves container `index`, all of which was read.
    pub(super) fn close(&mut self, index: usize) {
        self.depth -= 1;
        let slot = &mut self.references.slots[index];
        slot.end = self.position;
        slot.next = self.references.cursor;
        slot.open = false;
    }

    /// Whether the container that is next was read before, from its first byte to its last.
    pub(super) fn was_read(&self) -> Option<usize> {
        let index = self.references.cursor;
        self.references
            .slots
            .get(index)
            .filter(|slot| slot.end > 0)
            .map(|_| index)
    }

    /// Passes over container `index`, which is next and was read before.
    pub(super) fn pass(&mut self, index: usize) {
        let slot = self.references.slots[index];
        self.position = slot.end;
        self.references.cursor = slot.next;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::{
        DecodeError, DecodeOptions, Decoder, FromHessian, Kind, Limits, Shared, Value,
        error::Problem, from_slice,
    };

    #[test]
    fn a_reference_reads_again_what_it_refers_to() {
        type Lists = Vec<Vec<Vec<i32>>>;
        // [[[1], 51 2], 51 1]: a reference within what a reference leads to.
        let lists: Lists = from_slice(b"\x7a\x7a\x79\x91\x51\x92\x51\x91").expect("reads");
        assert_eq!(lists, vec![vec![vec![1], vec![1]]; 2]);
        // Containers behind it go on with their numbers.
        let lists: Lists =
            from_slice(b"\x7c\x79\x79\x91\x51\x91\x79\x79\x92\x51\x93").expect("reads");
        assert_eq!(lists, [[[1]], [[1]], [[2]], [[2]]]);
        let maps: Vec<HashMap<String, i32>> =
            from_slice(b"\x7aH\x01a\x91Z\x51\x91").expect("reads");
        assert_eq!(maps[0], maps[1]);
    }

    #[test]
    fn what_is_read_again_defines_nothing_again() {
        // A list with a class and a type in it, a reference to it, and then the next class and the next type.
        let bytes = b"\x7c\x7aC\x01A\x90\x60\x70\x01t\x51\x91C\x01B\x90\x61\x7a\x70\x91\x70\x01u";
        let error = from_slice::<Value>(bytes).expect_err("type 1 is not defined yet");
        assert!(
            matches!(error.problem(), Problem::TypeIndex { index: 1, known: 1 }),
            "{error}"
        );
        let bytes =
            b"\x7c\x7aC\x01A\x90\x60\x70\x01t\x51\x91C\x01B\x90\x61\x7b\x70\x90\x70\x01u\x70\x91";
        let read: Vec<Any> = from_slice(bytes).expect("reads");
        assert_eq!(read.len(), 4);
        let value: Value = from_slice(bytes).expect("reads");
        let last = value
            .as_list()
            .and_then(|items| items[3].as_list())
            .expect("a list");
        let types: Vec<_> = last
            .iter()
            .map(|list| list.as_typed_list().and_then(|list| list.type_name()))
            .collect();
        assert_eq!(types, [Some("t"), Some("u"), Some("u")]);
    }

    /// Reads anything without sharing: every reference is followed.
    #[derive(Debug)]
    struct Any;

    impl FromHessian for Any {
        fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
            let read = |(): &mut (), decoder: &mut Decoder<'_>| Self::decode(decoder).map(drop);
            match decoder.peek()? {
                Kind::List => decoder.read_list(|_| (), read)?,
                Kind::Map | Kind::Object => decoder.read_map(
                    || (),
                    |(), decoder| {
                        Self::decode(decoder)?;
                        Self::decode(decoder).map(drop)
                    },
                )?,
                _ => decoder.skip()?,
            }
            Ok(Self)
        }
    }

    #[test]
    fn a_cycle_ends_where_it_is_met() {
        for bytes in [
            &b"\x79\x51\x90"[..],
            b"H\x01a\x51\x90Z",
            b"C\x01A\x91\x01b\x60\x51\x90",
            b"\x79\x79\x51\x90",
            // The cycle is closed when the second element follows it.
            b"\x7a\x79\x51\x91\x51\x91",
        ] {
            let error = from_slice::<Any>(bytes).expect_err("a cycle");
            assert_eq!(*error.problem(), Problem::Cyclic, "{bytes:x?}");
        }
        // A part of a cycle that was skipped, and is followed from outside.
        let mut decoder = Decoder::new(b"\x79\x79\x51\x90\x51\x91\x51\x90");
        decoder.skip().expect("skips");
        let error = Any::decode(&mut decoder).expect_err("a cycle");
        assert_eq!(*error.problem(), Problem::Cyclic);
    }

    #[test]
    fn what_references_cost_is_limited() {
        // Each list refers to the one before it twice.
        let mut bytes = b"\x58\xc8\x40\x79\x90".to_vec();
        for index in 1..64_u8 {
            let reference = [0x51, 0xc8, index];
            bytes.push(0x7a);
            bytes.extend([reference, reference].concat());
        }
        let error = from_slice::<Any>(&bytes).expect_err("2^63 lists");
        assert!(error.is_limit(), "{error}");
        for (limits, name) in [
            (
                Limits {
                    expansion: 100,
                    ..Limits::DEFAULT
                },
                "expansion",
            ),
            (
                Limits {
                    nodes: 100,
                    ..Limits::DEFAULT
                },
                "nodes",
            ),
            (
                Limits {
                    depth: 10,
                    ..Limits::DEFAULT
                },
                "depth",
            ),
        ] {
            let options = DecodeOptions {
                limits,
                ..DecodeOptions::DEFAULT
            };
            let mut decoder = Decoder::with_options(&bytes, &options);
            let error = Any::decode(&mut decoder).expect_err("too much");
            assert!(
                matches!(error.problem(), Problem::Limit { name: met, .. } if *met == name),
                "{error}"
            );
        }
        assert!(from_slice::<Value>(&bytes).is_ok(), "a value shares");
    }

    #[test]
    fn a_reference_shows_the_kind_of_what_it_refers_to() {
        let bytes = b"\x7f\x78HZC\x01A\x90\x60\x51\x91\x51\x92\x51\x93\x51\x99";
        let mut decoder = Decoder::new(bytes);
        decoder
            .read_list(
                |_| (),
                |(), decoder| {
                    decoder.peek()?;
                    decoder.skip()
                },
            )
            .expect_err("the last reference is beyond the table");
        let mut decoder = Decoder::new(&bytes[..11]);
        let mut kinds = Vec::new();
        let read = decoder.read_list(
            |_| (),
            |(), decoder| {
                kinds.push(decoder.peek()?);
                decoder.skip()
            },
        );
        read.expect_err("the input ends");
        assert_eq!(kinds, [Kind::List, Kind::Map, Kind::Object, Kind::List]);
    }

    #[test]
    fn what_was_skipped_or_read_as_something_else_can_be_referred_to() {
        // A list that holds a list, read as one thing, and then a reference to either.
        let bytes = b"\x79\x7a\x91\x92\x51\x91\x51\x90";
        let mut decoder = Decoder::new(bytes);
        decoder.skip().expect("skips");
        assert_eq!(Vec::<i32>::decode(&mut decoder).expect("reads"), [1, 2]);
        let outer = Value::decode(&mut decoder).expect("reads");
        assert_eq!(outer, Value::list([Value::list([1.into(), 2.into()])]));

        // As a value from the inside out, each list is one value.
        let mut decoder = Decoder::new(b"\x79\x7a\x91\x92\x51\x91\x51\x90\x51\x91");
        decoder.skip().expect("skips");
        let [inner, outer, again] = [(); 3].map(|()| Value::decode(&mut decoder).expect("reads"));
        let (Value::List(inner), Value::List(again)) = (&inner, &again) else {
            panic!("lists")
        };
        let Some([Value::List(nested)]) = outer.as_list() else {
            panic!("a list in a list")
        };
        assert!(std::sync::Arc::ptr_eq(inner, nested) && std::sync::Arc::ptr_eq(inner, again));

        // And so is each handle.
        let mut decoder = Decoder::new(b"\x79\x7a\x91\x92\x51\x91\x51\x90\x51\x91");
        decoder.skip().expect("skips");
        let inner = Shared::<Vec<i32>>::decode(&mut decoder).expect("reads");
        let outer = Vec::<Shared<Vec<i32>>>::decode(&mut decoder).expect("reads");
        assert_eq!(outer, std::slice::from_ref(&inner));
        assert_eq!(Shared::decode(&mut decoder).expect("reads"), inner);
    }

    #[test]
    fn a_part_of_a_cycle_read_as_a_value_is_the_whole_cycle() {
        // Skipped: A = [B], B = [A]. Then B as a value: B = [A], A = [back to B].
        let mut decoder = Decoder::new(b"\x79\x79\x51\x90\x51\x91");
        decoder.skip().expect("skips");
        let part = decoder.value().expect("reads");
        let inner = &part.as_list().expect("B")[0];
        let back = &inner.as_list().expect("A")[0];
        let Value::Back(back) = back else {
            panic!("{back:?}")
        };
        assert_eq!(back.target().expect("B is there"), part);
    }

    #[test]
    fn a_reference_to_what_is_not_there_is_refused() {
        for bytes in [
            &b"\x51\x90"[..],
            b"\x79\x51\x91",
            b"\x79\x51\x8f",
            b"\x79\x51I\x7f\xff\xff\xff",
        ] {
            let error = from_slice::<Value>(bytes).expect_err("no such value");
            assert!(
                matches!(error.problem(), Problem::Reference { .. }),
                "{error}"
            );
            assert!(from_slice::<Vec<Vec<i32>>>(bytes).is_err());
            assert!(Decoder::new(bytes).skip().is_err());
        }
        assert!(
            from_slice::<Value>(b"\x79\x51\x01a").is_err(),
            "a string is no number"
        );
        assert!(from_slice::<Value>(b"\x79\x51").is_err());
    }
}
