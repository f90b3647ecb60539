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
            "bytes read again for references",
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
        let mut ahead = Decoder::with_options(self.input, self.options);
        ahead.position = self.position + 1;
        let index = ahead.index("the number of a value")?;
        let slot = usize::try_from(index)
            .ok()
            .and_then(|index| self.references.slots.get(index));
        match slot.and_then(|slot| self.input.get(slot.start)) {
            Some(lead) => Ok(*lead),
            None => {
                let known = self.references.slots.len();
                Err(self.error(Problem::Reference { index, known }))
            }
        }
    }

    /// Enters the container that is next, and gives it its number.
    pub(super) fn open(&mut self) -> Result<usize, DecodeError> {
        self.depth += 1;
        self.check(self.depth, self.max_depth, "depth", "levels of nesting")?;
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
