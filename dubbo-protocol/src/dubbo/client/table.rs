//! The calls of one connection that wait for their answers.
//!
//! A slab: the id of a call names its place, so finding the call of an answer hashes nothing, and a call allocates
//! nothing. The rest of the id is a running number, which tells an answer that is late from one that nobody asked for.

use std::{
    fmt,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;

use super::super::frame::Received;

/// The calls that wait, by the ids of their requests.
#[derive(Default)]
pub(super) struct Table {
    slots: Mutex<Slots>,
    /// How many wait: readable without the lock.
    waiting: AtomicUsize,
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum Ending {
    /// The peer's response came.
    Answer(Received),
    /// The connection ended before.
    Lost,
    /// Its request was written, and no response is expected.
    Written,
}

/// Whose a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A call's that waited for it.
    Found,
    /// A call's that waits no more, or that was answered before.
    Gone,
    /// Nobody's: no request had this id.
    Nobody,
}

impl Table {
    /// Enters one call more. It leaves when the entry is dropped. `None` once the connection has ended.
    pub(super) fn enter(&self) -> Option<Entry<'_>> {
        let id = self.slots.lock().take()?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Some(Entry { table: self, id })
    }

    /// Ends the wait of the call with this id.
    pub(super) fn complete(&self, id: i64, ending: Ending) -> Owner {
        let mut slots = self.slots.lock();
        let owner = slots.owner(id);
        if owner == Owner::Found
            && let Some(waker) = slots.at(id).and_then(|slot| slot.end(ending))
        {
            drop(slots);
            waker.wake();
        }
        owner
    }

    /// Ends the wait of all calls, and takes no more.
    pub(super) fn close(&self) {
        let mut slots = self.slots.lock();
        slots.closed = true;
        let waiting = slots.all.iter_mut();
        let wakers: Vec<Waker> = waiting.filter_map(|slot| slot.end(Ending::Lost)).collect();
        drop(slots);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// How many calls are in it.
    pub(super) fn len(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("waiting", &self.len())
            .finish_non_exhaustive()
    }
}

/// One call in the table: a future of its ending.
#[derive(Debug)]
#[must_use = "the call leaves the table when this is dropped"]
pub(super) struct Entry<'a> {
    table: &'a Table,
    id: i64,
}

impl Entry<'_> {
    /// What its request is called on the connection.
    pub(super) fn id(&self) -> i64 {
        self.id
    }
}

impl Future for Entry<'_> {
    type Output = Ending;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ending> {
        let mut slots = self.table.slots.lock();
        match slots.at(self.id) {
            Some(slot) => slot.poll(cx),
            None => Poll::Ready(Ending::Lost),
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        // What it holds of an answer is freed without the lock.
        let ending = self.table.slots.lock().free(self.id);
        self.table.waiting.fetch_sub(1, Ordering::Relaxed);
        drop(ending);
    }
}

#[derive(Default)]
struct Slots {
    all: Vec<Slot>,
    /// The places without a call.
    free: Vec<u32>,
    /// How many calls there have been.
    entered: u64,
    closed: bool,
}

struct Slot {
    /// Of the call that is here, or was last.
    id: i64,
    state: State,
}

enum State {
    Free,
    Waiting(Option<Waker>),
    Ended(Ending),
    /// Its caller has been told.
    Told,
}

impl Slots {
    fn take(&mut self) -> Option<i64> {
        if self.closed {
            return None;
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None => u32::try_from(self.all.len())
                .ok()
                .filter(|place| *place < PLACES)?,
        };
        self.entered += 1;
        let running = i64::try_from(self.entered & RUNNING).unwrap_or_default();
        let id = running << PLACE_BITS | i64::from(place);
        let slot = Slot {
            id,
            state: State::Waiting(None),
        };
        match self.all.get_mut(place as usize) {
            Some(old) => *old = slot,
            None => self.all.push(slot),
        }
        Some(id)
    }

    fn at(&mut self, id: i64) -> Option<&mut Slot> {
        let place = usize::try_from(id & i64::from(PLACES - 1)).ok()?;
        self.all.get_mut(place).filter(|slot| slot.id == id)
    }

    fn owner(&mut self, id: i64) -> Owner {
        if let Some(slot) = self.at(id)
            && matches!(slot.state, State::Waiting(_))
        {
            return Owner::Found;
        }
        let running = u64::try_from(id >> PLACE_BITS).unwrap_or_default();
        if running == 0 || running > self.entered {
            Owner::Nobody
        } else {
            Owner::Gone
        }
    }

    fn free(&mut self, id: i64) -> State {
        let Some(slot) = self.at(id) else {
            return State::Free;
        };
        let state = std::mem::replace(&mut slot.state, State::Free);
        let place = u32::try_from(id & i64::from(PLACES - 1)).unwrap_or_default();
        self.free.push(place);
        if self.free.len() == self.all.len() && self.all.len() > KEPT {
            self.all = Vec::new();
            self.free = Vec::new();
        }
        state
    }
}

impl Slot {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ending> {
        match &mut self.state {
            State::Waiting(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            state => match std::mem::replace(state, State::Told) {
                State::Ended(ending) => Poll::Ready(ending),
                _ => Poll::Ready(Ending::Lost),
            },
        }
    }

    /// Ends the wait, if there is one: whom to wake.
    fn end(&mut self, ending: Ending) -> Option<Waker> {
        let State::Waiting(waker) = &mut self.state else {
            return None;
        };
        let waker = waker.take();
        self.state = State::Ended(ending);
        waker
    }
}

/// How many calls can wait on one connection: many more than a peer works on.
const PLACES: u32 = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 20;

/// What of the running number is in an id, which stays positive: it begins again after years of full load.
const RUNNING: u64 = (1 << (63 - PLACE_BITS)) - 1;

/// A table that was larger is made anew when it is empty, so that one rush does not hold memory for ever.
const KEPT: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::{sync::Arc, task::Wake};

    use bytes::Bytes;

    use super::{
        super::super::frame::{Frame, Header},
        *,
    };

    fn answer(text: &'static str) -> Ending {
        let header = Header::request(0, true).answer(20);
        Ending::Answer(Received::Frame(Frame {
            header,
            body: Bytes::from_static(text.as_bytes()),
        }))
    }

    fn poll(entry: &mut Entry<'_>) -> Poll<Ending> {
        Pin::new(entry).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn body(ending: Poll<Ending>) -> String {
        match ending {
            Poll::Ready(Ending::Answer(Received::Frame(frame))) => {
                String::from_utf8_lossy(&frame.body).into_owned()
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_call_gets_its_own_answer_in_any_order() {
        let table = Table::default();
        let mut one = table.enter().expect("open");
        let mut other = table.enter().expect("open");
        assert_ne!(one.id(), other.id());
        assert!(poll(&mut one).is_pending());
        assert_eq!(table.complete(other.id(), answer("other")), Owner::Found);
        assert_eq!(table.complete(one.id(), answer("one")), Owner::Found);
        assert_eq!(body(poll(&mut one)), "one");
        assert_eq!(body(poll(&mut other)), "other");
        assert_eq!(table.len(), 2);
        drop((one, other));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn only_the_first_answer_to_a_call_that_waits_counts() {
        let table = Table::default();
        let mut first = table.enter().expect("open");
        let id = first.id();
        assert_eq!(table.complete(id, answer("1")), Owner::Found);
        assert_eq!(table.complete(id, answer("2")), Owner::Gone, "a duplicate");
        assert_eq!(body(poll(&mut first)), "1");
        assert_eq!(table.complete(id, answer("3")), Owner::Gone);
        drop(first);
        assert_eq!(table.complete(id, answer("4")), Owner::Gone, "late");

        let mut next = table.enter().expect("open");
        assert_ne!(next.id(), id, "the place is the same, the id is not");
        assert_eq!(table.complete(id, answer("5")), Owner::Gone);
        assert!(poll(&mut next).is_pending());
        let never = next.id() + (1 << PLACE_BITS);
        for nobody in [never, 0, 7, -1, i64::MIN, i64::MAX] {
            assert_eq!(
                table.complete(nobody, answer("6")),
                Owner::Nobody,
                "{nobody}"
            );
        }
    }

    #[test]
    fn the_end_of_the_connection_ends_every_wait_and_is_final() {
        struct Woken(AtomicUsize);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let table = Table::default();
        let woken = Arc::new(Woken(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut entries: Vec<_> = (0..10).map(|_| table.enter().expect("open")).collect();
        for entry in &mut entries {
            let polled = Pin::new(entry).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        assert_eq!(
            table.complete(entries[0].id(), answer("in time")),
            Owner::Found
        );
        table.close();
        assert_eq!(woken.0.load(Ordering::Relaxed), 10);
        assert_eq!(body(poll(&mut entries[0])), "in time");
        for entry in &mut entries[1..] {
            assert!(matches!(poll(entry), Poll::Ready(Ending::Lost)));
        }
        assert!(table.enter().is_none());
        drop(entries);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_rush_of_calls_leaves_nothing_behind() {
        let table = Table::default();
        for _ in 0..3 {
            let entries: Vec<_> = (0..10_000).map(|_| table.enter().expect("open")).collect();
            assert_eq!(table.len(), 10_000);
            drop(entries);
            assert_eq!(table.len(), 0);
            assert_eq!(table.slots.lock().all.capacity(), 0);
        }
    }
}
