//! Which item runs next. It knows the time only from whoever asks.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use super::{Full, Pace, Turn, rate::Meter};

/// An item and when it is to run.
#[derive(Debug, Clone)]
pub struct Entry<T> {
    /// The item.
    pub item: T,
    /// Not before.
    pub due: Instant,
    /// How urgent it is once it is due.
    pub priority: Priority,
    /// Items of one group run one after the other: [`group_of`].
    pub group: u64,
}

/// How urgent something is: from 1, which can wait, to 10. The default is 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    const MOST: u8 = 10;

    /// The priority of this number; 0 counts as 1, and what is above 10 as 10.
    pub const fn new(number: u8) -> Self {
        Self(match number {
            0 => 1,
            1..=Self::MOST => number,
            _ => Self::MOST,
        })
    }

    /// The number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

/// So long past its time an item is one priority more urgent.
///
/// All age alike, so the order of two that are due never changes: it is that of `due - priority * AGEING`, and takes no
/// counting. One of priority 1 that has waited for 90 s goes before one of priority 10 that has just become due.
pub const AGEING: Duration = Duration::from_secs(10);

/// The group of the call with this request id, the same in every process and for ever: FNV-1a, 64 bits.
pub fn group_of(request_id: &str) -> u64 {
    request_id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// All items of a queue, in the order in which they are to run.
pub(super) struct Order<T> {
    concurrency: usize,
    meter: Option<Meter>,
    held: usize,
    /// Not due yet, the next one on top.
    waiting: BinaryHeap<Reverse<Timed<T>>>,
    /// Due, the most urgent on top.
    ready: BinaryHeap<Ranked<T>>,
    running: HashMap<u64, Numbered<T>>,
    /// Of each group that has an item in `waiting`, `ready` or `running`: those that come after it.
    groups: HashMap<u64, VecDeque<Numbered<T>>>,
    numbers: u64,
    is_driven: bool,
    is_closed: bool,
    /// What asked for another turn after the end.
    left: Vec<T>,
}

/// An entry, and the number that it came by.
struct Numbered<T> {
    number: u64,
    entry: Entry<T>,
}

/// What there is to do.
pub(super) enum Next<T> {
    /// Nothing is held. Whoever drives no longer does, and cuts off what still runs.
    Nothing,
    /// Run this, and say how it ended by its number.
    Run(u64, T),
    /// Nothing before this time; `None`: nothing before something ends.
    Wait(Option<Instant>),
}

impl<T: Clone> Order<T> {
    pub(super) fn new(pace: Pace) -> Self {
        Self {
            concurrency: pace.concurrency.max(1),
            meter: pace.rate.map(Meter::new),
            held: 0,
            waiting: BinaryHeap::new(),
            ready: BinaryHeap::new(),
            running: HashMap::new(),
            groups: HashMap::new(),
            numbers: 0,
            is_driven: false,
            is_closed: false,
            left: Vec::new(),
        }
    }

    /// What is left of the rate stays, unless it is another one.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.concurrency = pace.concurrency.max(1);
        if self.meter.as_ref().map(Meter::rate) != pace.rate {
            self.meter = pace.rate.map(Meter::new);
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether somebody has to begin to drive.
    pub(super) fn push(&mut self, entry: Entry<T>, limit: usize) -> Result<bool, Full<T>> {
        if self.is_closed || self.held >= limit {
            return Err(Full(entry.item));
        }
        self.held += 1;
        self.numbers += 1;
        let group = entry.group;
        let numbered = Numbered {
            number: self.numbers,
            entry,
        };
        if let Some(others) = self.groups.get_mut(&group) {
            others.push_back(numbered);
        } else {
            self.groups.insert(group, VecDeque::new());
            self.waiting.push(Reverse(Timed(numbered)));
        }
        Ok(!std::mem::replace(&mut self.is_driven, true))
    }

    pub(super) fn next(&mut self, now: Instant) -> Next<T> {
        let is_due = |timed: &Reverse<Timed<T>>| timed.0.0.entry.due <= now;
        while self.waiting.peek().is_some_and(is_due) {
            if let Some(Reverse(Timed(numbered))) = self.waiting.pop() {
                self.ready.push(Ranked(numbered));
            }
        }
        if self.held == 0 {
            self.is_driven = false;
            return Next::Nothing;
        }
        if !self.ready.is_empty() && self.running.len() >= self.concurrency {
            return Next::Wait(None);
        }
        if !self.ready.is_empty()
            && let Some(meter) = &mut self.meter
            && let Err(until) = meter.take(now)
        {
            return Next::Wait(Some(until));
        }
        let Some(Ranked(numbered)) = self.ready.pop() else {
            let next = self.waiting.peek();
            return Next::Wait(next.map(|timed| timed.0.0.entry.due));
        };
        let (number, item) = (numbered.number, numbered.entry.item.clone());
        self.running.insert(number, numbered);
        Next::Run(number, item)
    }

    /// The turn of an item has ended. One that was [taken](Self::empty) meanwhile is nobody's any more.
    pub(super) fn ended(&mut self, number: u64, turn: &Turn) {
        let Some(mut numbered) = self.running.remove(&number) else {
            return;
        };
        let group = numbered.entry.group;
        match turn {
            Turn::Again(due) if !self.is_closed => {
                numbered.entry.due = *due;
                self.waiting.push(Reverse(Timed(numbered)));
            }
            Turn::Again(_) => {
                // What comes after it in its group must not go before it.
                let after = self.groups.remove(&group).into_iter().flatten();
                let left = std::iter::once(numbered).chain(after);
                let before = self.left.len();
                self.left.extend(left.map(|numbered| numbered.entry.item));
                self.held -= self.left.len() - before;
            }
            Turn::Done => {
                self.held -= 1;
                let after = self.groups.get_mut(&group).and_then(VecDeque::pop_front);
                match after {
                    Some(numbered) => self.waiting.push(Reverse(Timed(numbered))),
                    None => drop(self.groups.remove(&group)),
                }
            }
        }
    }

    /// Takes nothing more; what waits is due now.
    pub(super) fn close(&mut self, now: Instant) {
        self.is_closed = true;
        let waiting = std::mem::take(&mut self.waiting);
        self.ready
            .extend(waiting.into_iter().map(|Reverse(Timed(mut numbered))| {
                numbered.entry.due = numbered.entry.due.min(now);
                Ranked(numbered)
            }));
        for numbered in self.groups.values_mut().flatten() {
            numbered.entry.due = numbered.entry.due.min(now);
        }
    }

    /// All that is held or left, in the order in which it came; nothing is after that.
    pub(super) fn empty(&mut self) -> Vec<T> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let ready = std::mem::take(&mut self.ready).into_iter();
        let running = std::mem::take(&mut self.running).into_values();
        let groups = std::mem::take(&mut self.groups).into_values();
        let mut held: Vec<_> = waiting
            .map(|Reverse(Timed(numbered))| numbered)
            .chain(ready.map(|Ranked(numbered)| numbered))
            .chain(running)
            .chain(groups.flatten())
            .collect();
        held.sort_unstable_by_key(|numbered| numbered.number);
        self.held = 0;
        let mut left = std::mem::take(&mut self.left);
        left.extend(held.into_iter().map(|numbered| numbered.entry.item));
        left
    }

    /// Whoever drove is gone without an end, as when its runtime was shut down. The next item that is pushed finds another.
    pub(super) fn abandoned(&mut self) {
        self.is_driven = false;
        let running = std::mem::take(&mut self.running);
        self.ready.extend(running.into_values().map(Ranked));
    }
}

/// By due time, then as they came.
struct Timed<T>(Numbered<T>);

/// By urgency, the greatest first, then as they came.
struct Ranked<T>(Numbered<T>);

impl<T> Timed<T> {
    fn key(&self) -> (Instant, u64) {
        (self.0.entry.due, self.0.number)
    }
}

impl<T> Ranked<T> {
    /// `due - priority * AGEING`, moved to where no instant is before the clock's beginning.
    fn key(&self) -> Reverse<(Instant, u64)> {
        let patience = u32::from(Priority::MOST - self.0.entry.priority.number());
        Reverse((self.0.entry.due + AGEING * patience, self.0.number))
    }
}

macro_rules! ordered_by_key {
    ($($name:ident),*) => {
        $(
            impl<T> PartialEq for $name<T> {
                fn eq(&self, other: &Self) -> bool {
                    self.key() == other.key()
                }
            }

            impl<T> Eq for $name<T> {}

            impl<T> PartialOrd for $name<T> {
                fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                    Some(self.cmp(other))
                }
            }

            impl<T> Ord for $name<T> {
                fn cmp(&self, other: &Self) -> Ordering {
                    self.key().cmp(&other.key())
                }
            }
        )*
    };
}

ordered_by_key!(Timed, Ranked);
