//! A ring of slots that is made once.

/// Values in the order in which they came, in room that is made once and never grows.
///
/// The number of slots is a power of two, so that a position becomes a slot by a mask; positions only rise. A value is
/// refused when `capacity` are there: nothing is written over. It is meant to stand behind a lock: what takes time about dead
/// letters is never the ring.
#[derive(Debug)]
pub(super) struct Ring<T> {
    slots: Box<[Option<T>]>,
    capacity: usize,
    /// The position of the oldest value.
    tail: usize,
    /// The position of the next value.
    head: usize,
    held: usize,
}

impl<T> Ring<T> {
    /// Room for `capacity` values; 0 counts as 1.
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(1, 1 << (usize::BITS - 2));
        let slots = std::iter::repeat_with(|| None).take(capacity.next_power_of_two());
        Self {
            slots: slots.collect(),
            capacity,
            tail: 0,
            head: 0,
            held: 0,
        }
    }

    /// Adds `value` as the newest.
    ///
    /// # Errors
    ///
    /// The value, when there is no room.
    pub(super) fn push(&mut self, value: T) -> Result<(), T> {
        if self.held == self.capacity {
            return Err(value);
        }
        if self.head.wrapping_sub(self.tail) == self.slots.len() {
            self.close_gaps();
        }
        let slot = self.slot(self.head);
        self.slots[slot] = Some(value);
        self.head = self.head.wrapping_add(1);
        self.held += 1;
        Ok(())
    }

    /// The values, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.positions()
            .filter_map(|position| self.slots[self.slot(position)].as_ref())
    }

    /// The oldest value that `wanted` is true for.
    pub(super) fn find_mut(&mut self, wanted: impl Fn(&T) -> bool) -> Option<&mut T> {
        let slot = self.find(wanted)?;
        self.slots[slot].as_mut()
    }

    /// Takes out the oldest value that `wanted` is true for.
    pub(super) fn remove(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let slot = self.find(wanted)?;
        let value = self.slots[slot].take()?;
        self.held -= 1;
        while self.tail != self.head && self.slots[self.slot(self.tail)].is_none() {
            self.tail = self.tail.wrapping_add(1);
        }
        Some(value)
    }

    fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        self.positions()
            .map(|position| self.slot(position))
            .find(|slot| self.slots[*slot].as_ref().is_some_and(&wanted))
    }

    /// Values that were taken out from between others leave slots empty; this moves the others together.
    fn close_gaps(&mut self) {
        let mut to = self.tail;
        for from in self.positions() {
            let value = self.slots[self.slot(from)].take();
            if value.is_some() {
                let slot = self.slot(to);
                self.slots[slot] = value;
                to = to.wrapping_add(1);
            }
        }
        self.head = to;
    }

    fn positions(&self) -> impl Iterator<Item = usize> + use<T> {
        let tail = self.tail;
        (0..self.head.wrapping_sub(tail)).map(move |offset| tail.wrapping_add(offset))
    }

    fn slot(&self, position: usize) -> usize {
        position & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn a_full_ring_refuses_and_writes_over_nothing() {
        for capacity in [1, 2, 3, 4, 5, 100] {
            let mut ring = Ring::new(capacity);
            for value in 0..capacity {
                assert_eq!(ring.push(value), Ok(()));
            }
            assert_eq!(ring.push(usize::MAX), Err(usize::MAX), "{capacity}");
            assert!(ring.iter().copied().eq(0..capacity));
            assert_eq!(ring.remove(|_| true), Some(0), "the oldest");
            assert_eq!(ring.push(capacity), Ok(()));
            assert!(ring.iter().copied().eq(1..=capacity));
            assert_eq!(ring.held, capacity);
        }
    }

    #[test]
    fn it_behaves_as_a_queue_that_values_are_taken_out_of() {
        let mut chance = fastrand::Rng::with_seed(42);
        for capacity in [1, 3, 8, 13] {
            let mut ring = Ring::new(capacity);
            let slots = ring.slots.len();
            // Positions wrap around within the test.
            (ring.tail, ring.head) = (usize::MAX - 100, usize::MAX - 100);
            let mut model: VecDeque<u32> = VecDeque::new();
            for value in 0..5_000 {
                if chance.bool() {
                    let room = model.len() < capacity;
                    assert_eq!(ring.push(value).is_ok(), room);
                    if room {
                        model.push_back(value);
                    }
                } else if let Some(at) = (!model.is_empty()).then(|| chance.usize(..model.len())) {
                    let wanted = model.remove(at);
                    assert_eq!(ring.remove(|value| Some(*value) == wanted), wanted);
                }
                assert!(ring.iter().eq(model.iter()), "{ring:?}, {model:?}");
                assert_eq!((ring.held, ring.slots.len()), (model.len(), slots));
            }
        }
    }
}
