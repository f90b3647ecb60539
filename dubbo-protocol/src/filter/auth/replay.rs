//! Whether a signature comes for the second time.

use std::collections::{HashSet, VecDeque};

use parking_lot::Mutex;

/// The last signatures that were taken, as many as it has room for. Nothing is set aside for those to come.
#[derive(Debug)]
pub(super) struct Seen {
    room: usize,
    signatures: Mutex<Signatures>,
}

#[derive(Debug, Default)]
struct Signatures {
    known: HashSet<Box<[u8]>>,
    order: VecDeque<Box<[u8]>>,
}

impl Seen {
    pub(super) fn with_room_for(room: usize) -> Self {
        Self {
            room,
            signatures: Mutex::default(),
        }
    }

    /// Remembers `signature`; whether it is new.
    pub(super) fn is_new(&self, signature: &[u8]) -> bool {
        let mut signatures = self.signatures.lock();
        let signatures = &mut *signatures;
        if !signatures.known.insert(signature.into()) {
            return false;
        }
        signatures.order.push_back(signature.into());
        if signatures.order.len() > self.room
            && let Some(oldest) = signatures.order.pop_front()
        {
            signatures.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_is_known_until_there_is_no_room_for_it() {
        let seen = Seen::with_room_for(2);
        let new = [b"a", b"a", b"b", b"a", b"c", b"a"].map(|signature| seen.is_new(signature));
        assert_eq!(new, [true, false, true, false, true, true]);
        assert_eq!(seen.signatures.lock().known.len(), 2);
    }
}
