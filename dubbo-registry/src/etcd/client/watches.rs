//! Hearing of changes.
//!
//! All watches of a client share one stream on each connection. They are begun anew on the next one, from the state of
//! then, and give a hint as soon as they are: that makes up for what happened meanwhile. So no history is asked for, and
//! none can be gone by compaction.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Weak},
};

use bytes::Bytes;
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use super::{
    failure::is_about_tokens,
    link::{Answers, Link, method},
    messages::{WatchCancelRequest, WatchCreateRequest, WatchOrder, WatchRequest, WatchResponse},
};
use crate::backend::Hint;

/// The keys that are watched.
#[derive(Default)]
pub(super) struct Watches(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    targets: BTreeMap<u64, Target>,
    /// Leads to the stream, as long as there is a connection.
    orders: Option<mpsc::UnboundedSender<Order>>,
}

/// Keys that somebody watches.
struct Target {
    range: Range,
    hint: Hint,
    /// What the member calls the watch; `None` while it is not armed.
    number: Option<i64>,
    /// Whoever waits until it is armed for the first time.
    waiting: Option<oneshot::Sender<Result<(), String>>>,
}

/// Which changes give a hint.
#[derive(Debug, Clone)]
pub(super) struct Range {
    pub(super) key: Bytes,
    /// The first key that is not meant; empty for one key alone.
    pub(super) end: Bytes,
    /// Whether a change of a key that stays is of no interest.
    pub(super) only_names: bool,
}

enum Order {
    Arm(u64),
    Disarm(i64),
}

impl Watches {
    /// Begins to watch. The receiver hears when the member does so, or why it will not. Dropping what comes with it ends
    /// the watch.
    pub(super) fn watch(
        self: &Arc<Self>,
        range: Range,
        hint: Hint,
    ) -> (Watched, oneshot::Receiver<Result<(), String>>) {
        let (waiting, armed) = oneshot::channel();
        let mut table = self.0.lock();
        table.last += 1;
        let id = table.last;
        let target = Target {
            range,
            hint,
            number: None,
            waiting: Some(waiting),
        };
        table.targets.insert(id, target);
        table.order(Order::Arm(id));
        let watched = Watched {
            watches: Arc::downgrade(self),
            id,
        };
        (watched, armed)
    }

    /// Watches all targets on `link` until that is no longer possible; why it is not.
    pub(super) async fn follow(&self, link: &Link) -> Status {
        let (orders, mut ordered) = mpsc::unbounded_channel();
        {
            let mut table = self.0.lock();
            for (id, target) in &mut table.targets {
                target.number = None;
                // The receiver is right here.
                let _ = orders.send(Order::Arm(*id));
            }
            table.orders = Some(orders);
        }
        let (requests, questions) = mpsc::unbounded_channel();
        let mut stream = Stream {
            watches: self,
            requests,
            asked: VecDeque::new(),
            ids: BTreeMap::new(),
        };
        let mut answers: Answers<WatchResponse> = link.open(method::WATCH, questions);
        loop {
            let done = tokio::select! {
                Some(order) = ordered.recv() => {
                    stream.obey(&order);
                    Ok(())
                }
                answer = answers.next() => match answer {
                    Some(Ok(answer)) => stream.take(&answer),
                    Some(Err(status)) => Err(status),
                    None => Err(Status::unavailable("it ended the stream of watches")),
                },
            };
            if let Err(status) = done {
                return status;
            }
        }
    }

    /// Nothing can be watched until the next connection.
    pub(super) fn pause(&self) {
        self.0.lock().orders = None;
    }
}

impl Table {
    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // If nobody listens any more, the next connection begins with all targets.
            let _ = orders.send(order);
        }
    }
}

/// A target that is watched until this is dropped.
pub(super) struct Watched {
    watches: Weak<Watches>,
    id: u64,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(watches) = self.watches.upgrade() else {
            return;
        };
        let mut table = watches.0.lock();
        let target = table.targets.remove(&self.id);
        if let Some(number) = target.and_then(|target| target.number) {
            table.order(Order::Disarm(number));
        }
    }
}

/// The stream of watches on one connection.
struct Stream<'w> {
    watches: &'w Watches,
    requests: mpsc::UnboundedSender<WatchRequest>,
    /// Those that were asked for and are not armed yet. Answers come in the same order; one that is refused has no number.
    asked: VecDeque<u64>,
    /// Whose a number is.
    ids: BTreeMap<i64, u64>,
}

impl Stream<'_> {
    fn obey(&mut self, order: &Order) {
        match *order {
            Order::Arm(id) => {
                if let Some(target) = self.watches.0.lock().targets.get(&id) {
                    let range = target.range.clone();
                    self.arm(id, range);
                }
            }
            Order::Disarm(number) => self.cancel(number),
        }
    }

    fn arm(&mut self, id: u64, range: Range) {
        self.asked.push_back(id);
        self.request(WatchOrder::Create(WatchCreateRequest {
            key: range.key,
            range_end: range.end,
            fragment: true,
        }));
    }

    fn cancel(&mut self, watch_id: i64) {
        self.ids.remove(&watch_id);
        self.request(WatchOrder::Cancel(WatchCancelRequest { watch_id }));
    }

    /// An end of the stream shows where answers are read.
    fn request(&self, order: WatchOrder) {
        let _ = self.requests.send(order.into());
    }

    /// Takes in an answer.
    ///
    /// # Errors
    ///
    /// The stream is of no more use.
    fn take(&mut self, answer: &WatchResponse) -> Result<(), Status> {
        if answer.canceled && is_about_tokens(&answer.cancel_reason) {
            // The token came with the stream. The next one has a new token.
            return Err(Status::unauthenticated(&answer.cancel_reason));
        }
        let mut table = self.watches.0.lock();
        if answer.created {
            let id = self.asked.pop_front();
            let target = id.and_then(|id| Some((id, table.targets.get_mut(&id)?)));
            match target {
                Some((id, target)) if answer.canceled => target.refused(id, &answer.cancel_reason),
                Some((id, target)) => {
                    target.number = Some(answer.watch_id);
                    self.ids.insert(answer.watch_id, id);
                    target.armed();
                }
                // Nobody is interested any more.
                None if answer.canceled => {}
                None => self.cancel(answer.watch_id),
            }
            return Ok(());
        }
        let id = self.ids.get(&answer.watch_id).copied();
        let Some((id, target)) = id.and_then(|id| Some((id, table.targets.get_mut(&id)?))) else {
            return Ok(());
        };
        if answer.canceled {
            tracing::debug!(
                reason = answer.cancel_reason,
                "a watch ended, and is begun anew"
            );
            self.ids.remove(&answer.watch_id);
            target.number = None;
            let range = target.range.clone();
            self.arm(id, range);
        } else if !target.range.only_names || answer.events.iter().any(|event| !event.is_update()) {
            target.hint.give();
        }
        Ok(())
    }
}

impl Target {
    fn armed(&mut self) {
        match self.waiting.take() {
            // Whoever waited and does no longer ends the watch.
            Some(waiting) => {
                let _ = waiting.send(Ok(()));
            }
            None => self.hint.give(),
        }
    }

    /// One that was armed before stays without a watch until the next connection: what is followed is read now and then.
    fn refused(&mut self, id: u64, reason: &str) {
        if let Some(waiting) = self.waiting.take() {
            // Whoever waited may have given up.
            let _ = waiting.send(Err(reason.to_owned()));
            return;
        }
        tracing::warn!(id, reason, "what was watched may no longer be");
        self.hint.give();
    }
}
