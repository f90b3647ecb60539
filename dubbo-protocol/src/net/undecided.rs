//! The connections of a port of which it is not known yet what they speak: there are so many of them and no more.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Those that there are.
#[derive(Default)]
pub(super) struct Undecided(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    entered: u64,
    /// By the order in which they came. Dropping what is here sends one away.
    all: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Undecided {
    /// Enters one more, for as long as what is returned lives. Those that came first go where there are more than `limit`.
    pub(super) fn enter(&self, limit: usize) -> Entry<'_> {
        let (held, sent_away) = oneshot::channel();
        let mut waiting = self.0.lock();
        waiting.entered += 1;
        let number = waiting.entered;
        waiting.all.insert(number, held);
        let mut sent = Vec::new();
        while waiting.all.len() > limit.max(1) {
            sent.extend(waiting.all.pop_first());
        }
        drop(waiting);
        Entry {
            undecided: self,
            number,
            makes_leave: sent.len(),
            sent_away,
        }
    }
}

/// One of them.
pub(super) struct Entry<'a> {
    undecided: &'a Undecided,
    number: u64,
    /// How many others had to go for it.
    pub(super) makes_leave: usize,
    sent_away: oneshot::Receiver<()>,
}

impl Entry<'_> {
    /// Waits until it has to go.
    pub(super) async fn sent_away(&mut self) {
        // Nothing is ever sent: the other end is dropped.
        let _ = (&mut self.sent_away).await;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let left = self.undecided.0.lock().all.remove(&self.number);
        drop(left);
    }
}

/// How many connections a port keeps that say nothing, or too little. Consumers of Java may say nothing for a minute.
pub(super) const MOST_UNDECIDED: usize = 1_024;

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    fn are_away(entries: &mut [Entry<'_>]) -> Vec<bool> {
        let away = |entry: &mut Entry<'_>| entry.sent_away.try_recv() == Err(TryRecvError::Closed);
        entries.iter_mut().map(away).collect()
    }

    #[test]
    fn the_oldest_go_for_those_that_come() {
        let undecided = Undecided::default();
        let mut entries: Vec<_> = (0..5).map(|_| undecided.enter(3)).collect();
        assert_eq!(are_away(&mut entries), [true, true, false, false, false]);
        entries.remove(3);
        entries.push(undecided.enter(3));
        assert_eq!(are_away(&mut entries), [true, true, false, false, false]);
        // The limit may be another by now; whoever comes is heard.
        entries.push(undecided.enter(0));
        assert_eq!(are_away(&mut entries[3..]), [true, true, false]);
        drop(entries);
        assert!(undecided.0.lock().all.is_empty());
    }
}
