//! Making the calls of dead letters once more.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::status::Status;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    clock,
    filter::Filter,
    letter::{Attempt, DeadLetter, LetterId},
    letters::{DeadLetters, Found},
    store::StoreError,
};
use crate::resend::queue::{DelayQueue, Entry, Pace, Turn, group_of};

/// Decides before each replay whether it is made: the world may have moved on since the call failed.
#[async_trait]
pub trait Precondition: Send + Sync + 'static {
    /// Whether the call that `letter` is about may be made now. One that failed a moment ago, and waits in memory to be made
    /// again, is asked about in the same form.
    ///
    /// # Errors
    ///
    /// It may not, and why.
    async fn check(&self, letter: &DeadLetter) -> Result<(), String>;
}

#[async_trait]
impl<F> Precondition for F
where
    F: Fn(&DeadLetter) -> Result<(), String> + Send + Sync + 'static,
{
    async fn check(&self, letter: &DeadLetter) -> Result<(), String> {
        self(letter)
    }
}

/// What became of one dead letter that was to be replayed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Replay {
    /// The letter.
    pub id: LetterId,
    /// What became of it.
    pub result: Replayed,
}

/// What became of a dead letter that was to be replayed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Replayed {
    /// The call worked, and the letter is gone.
    Done,
    /// Its time is over; it stays for whoever purges it.
    Expired,
    /// The call failed, and the letter stays with what it said.
    Failed(Status),
    /// It is held, and stays.
    Held,
    /// No call can be made of it here, and it stays.
    Impossible(String),
    /// The [`Precondition`] does not allow it, and it stays.
    Refused(String),
    /// It is not to be replayed yet.
    TooEarly,
    /// Somebody else replays it at this moment, or has.
    Underway,
}

impl DeadLetters {
    /// Makes the calls of the letters that `filter` means once more, and removes those that work.
    ///
    /// Several at once; the more urgent first, and those of one request one after the other. A letter that is held is left
    /// alone. One whose replays have failed in three processes is held from then on, for it will fail in others, too.
    ///
    /// # Errors
    ///
    /// A store cannot be read. A letter whose store cannot be written is replayed again another time.
    ///
    /// # Cancel safety
    ///
    /// What was begun goes on when the future is dropped.
    pub async fn replay(&self, filter: &Filter) -> Result<Vec<Replay>, StoreError> {
        let replays = Arc::new(Mutex::new(Vec::new()));
        let mut after = None;
        loop {
            let letters = self.meant(filter, after, AT_ONCE).await?;
            let Some((_, last)) = letters.last() else {
                break;
            };
            after = Some(last.id);
            self.replay_all(letters, &replays).await;
        }
        Ok(std::mem::take(&mut *replays.lock()))
    }

    async fn replay_all(&self, letters: Vec<Found>, replays: &Arc<Mutex<Vec<Replay>>>) {
        let (all, replays) = (self.clone(), Arc::clone(replays));
        let queue = DelayQueue::new(PACE, move |found: Found| {
            let (all, replays) = (all.clone(), Arc::clone(&replays));
            async move {
                let id = found.1.id;
                let result = all.replay_one(found).await;
                replays.lock().push(Replay { id, result });
                Turn::Done
            }
        });
        let due = Instant::now();
        for found in letters {
            let letter = &found.1;
            let entry = Entry {
                due,
                priority: letter.priority,
                group: group_of(&letter.request_id),
                item: found,
            };
            // There is room for all, and nobody closes it.
            let _ = queue.push(entry, usize::MAX);
        }
        queue.settled().await;
    }

    async fn replay_one(&self, (store, letter): Found) -> Replayed {
        let Some(_replays) = self.begin_replay(letter.id) else {
            return Replayed::Underway;
        };
        // It may have changed since it was listed.
        let letter = match store.get(letter.id).await {
            Ok(Some(letter)) => letter,
            Ok(None) => return Replayed::Underway,
            Err(error) => return Replayed::Impossible(error.to_string()),
        };
        let now = clock::now();
        if letter.held {
            return Replayed::Held;
        }
        if letter.not_before.is_some_and(|time| now < time) {
            return Replayed::TooEarly;
        }
        if letter.expires_at.is_some_and(|time| now > time) {
            return Replayed::Expired;
        }
        if let Some(precondition) = self.precondition()
            && let Err(reason) = precondition.check(&letter).await
        {
            return Replayed::Refused(reason);
        }
        let begun = Instant::now();
        let (changed, replayed) = match self.call(&letter, None).await {
            Err(reason) => return Replayed::Impossible(reason),
            Ok(Ok(())) => (store.remove(letter.id).await.map(drop), Replayed::Done),
            Ok(Err(status)) => {
                let failed = self.failed_again(&letter, begun, &status);
                (store.put(Arc::new(failed)).await, Replayed::Failed(status))
            }
        };
        if let Err(error) = changed {
            tracing::error!(id = %letter.id, %error, "what became of a dead letter is not kept");
        }
        metrics::counter!("dubbo_dead_letters_replayed_total", "result" => name_of(&replayed))
            .increment(1);
        replayed
    }

    fn failed_again(&self, letter: &DeadLetter, begun: Instant, status: &Status) -> DeadLetter {
        let mut failed = letter.clone();
        let (code, elapsed) = (status.code(), begun.elapsed());
        failed.tried(Attempt::failed(
            String::new(),
            elapsed,
            code,
            status.message(),
        ));
        if !failed.failed_in.contains(&self.process()) {
            failed.failed_in.push(self.process());
        }
        if failed.failed_in.len() >= POISON && !failed.held {
            failed.held = true;
            tracing::warn!(
                id = %letter.id, service = %letter.service, method = letter.method, error = %status,
                "a dead letter has failed in several processes and is held until somebody releases it"
            );
        }
        failed
    }
}

fn name_of(replayed: &Replayed) -> &'static str {
    match replayed {
        Replayed::Done => "done",
        _ => "failed",
    }
}

/// A letter that has failed in so many processes is held: `docs/spec/cluster.md` §7.12.
const POISON: usize = 3;

const PACE: Pace = Pace {
    concurrency: 16,
    rate: None,
};

/// So many letters are ordered by urgency together.
const AT_ONCE: usize = 1024;
