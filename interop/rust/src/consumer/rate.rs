//! Calls at a rate that does not wait for answers, as those of many users at once: how they fare is told while providers
//! and registries come and go.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dubbo::{Filter, InstanceBuilder, Invocation, Next, RpcResult, Status};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, interval},
};

/// A contract that is called for as long as `over` is open.
pub(super) struct Rate<'a> {
    pub(super) a_second: NonZeroU32,
    pub(super) retried: &'a CountRetries,
    pub(super) over: watch::Receiver<()>,
}

/// Counts the attempts of a contract that are not the first of their calls.
#[derive(Clone)]
pub(super) struct CountRetries {
    contract: &'static str,
    /// Its name as a filter.
    pub(super) filter: &'static str,
    retries: Arc<AtomicU64>,
}

impl Rate<'_> {
    /// Calls, and prints a few times a second how the calls went so far. Calls count from the first answer on: until then
    /// the provider may not be there. Those under way at the end are waited for.
    pub(super) async fn run(mut self, call: impl AsyncFn() -> Result<String, Status>) {
        // Late ticks are made up for: the callers would not wait either.
        let mut tick = interval(Duration::from_secs(1) / self.a_second.get());
        let mut say = interval(SAY_EVERY);
        let mut under_way = FuturesUnordered::new();
        let mut counted = Counted::default();
        loop {
            tokio::select! {
                _ = self.over.changed() => break,
                _ = say.tick() => self.say("progress", &mut counted),
                _ = tick.tick() => under_way.push(Made::by(&call)),
                Some(made) = under_way.next() => counted.add(made),
            }
        }
        while let Some(made) = under_way.next().await {
            counted.add(made);
        }
        self.say("totals", &mut counted);
    }

    fn say(&self, event: &str, counted: &mut Counted) {
        let line = json!({
            "event": event, "contract": self.retried.contract,
            "calls": counted.calls, "failed": counted.failed, "by": counted.by,
            "retried": self.retried.retries.load(Ordering::Relaxed),
            "worst_gap": millis(counted.worst_gap()),
            "losses": std::mem::take(&mut counted.losses),
        });
        println!("{line}");
    }
}

impl CountRetries {
    /// One that has counted none.
    pub(super) fn of(contract: &'static str) -> Self {
        Self {
            contract,
            filter: contract,
            retries: Arc::default(),
        }
    }

    /// Makes it known to an instance, whose references may name it.
    pub(super) fn register(&self, builder: InstanceBuilder) -> InstanceBuilder {
        let count = self.clone();
        builder.extension::<dyn Filter>(self.filter, move |_| Ok(Arc::new(count.clone())))
    }
}

#[dubbo::async_trait]
impl Filter for CountRetries {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        // The first attempt of a call has none.
        if invocation.attachments.get("dubbo-attempt").is_some() {
            self.retries.fetch_add(1, Ordering::Relaxed);
        }
        next.run(invocation).await
    }
}

/// A call that is over.
struct Made {
    begun: Instant,
    begun_at: SystemTime,
    outcome: Result<String, Status>,
}

impl Made {
    async fn by(call: &impl AsyncFn() -> Result<String, Status>) -> Self {
        let (begun, begun_at) = (Instant::now(), SystemTime::now());
        let outcome = call().await;
        Self {
            begun,
            begun_at,
            outcome,
        }
    }
}

/// How calls went so far.
#[derive(Default)]
struct Counted {
    calls: u64,
    failed: u64,
    /// How many each provider has answered.
    by: BTreeMap<String, u64>,
    /// Those that failed since this was told last: when they began and ended on the clock of the machine, and why.
    losses: Vec<Value>,
    /// When the first and the last answer came.
    answered: Option<(Instant, Instant)>,
    /// The longest time between two answers.
    gap: Duration,
}

impl Counted {
    fn add(&mut self, made: Made) {
        let now = Instant::now();
        match (made.outcome, self.answered) {
            (Ok(answer), answered) => {
                let by = answer.split_once(" from ").map_or("", |(_, name)| name);
                *self.by.entry(by.to_owned()).or_default() += 1;
                let (first, last) = answered.unwrap_or((now, now));
                self.gap = self.gap.max(now - last);
                self.answered = Some((first, now));
            }
            (Err(status), Some((first, _))) if made.begun >= first => {
                self.failed += 1;
                let begun = made.begun_at.duration_since(UNIX_EPOCH).unwrap_or_default();
                self.losses.push(json!({
                    "begun": millis(begun), "ended": millis(begun + (now - made.begun)),
                    "error": format!("{}: {}", status.code(), status.message()),
                }));
            }
            (Err(_), _) => return,
        }
        self.calls += 1;
    }

    /// The longest time without an answer, the present one included.
    fn worst_gap(&self) -> Duration {
        let present = self.answered.map(|(_, last)| last.elapsed());
        self.gap.max(present.unwrap_or_default())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const SAY_EVERY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    fn made(begun: Instant, outcome: Result<&str, &str>) -> Made {
        Made {
            begun,
            begun_at: SystemTime::now(),
            outcome: outcome
                .map(str::to_owned)
                .map_err(|why| Status::unavailable(why.to_owned())),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_count_for_calls_that_began_after_the_first_answer() {
        let mut counted = Counted::default();
        let early = Instant::now();
        counted.add(made(early, Err("nobody yet")));
        tokio::time::advance(Duration::from_millis(5)).await;
        counted.add(made(early, Ok("hello dubbo from a1")));
        counted.add(made(early, Err("nobody yet")));
        assert_eq!((counted.calls, counted.failed), (1, 0));
        counted.add(made(Instant::now(), Err("gone")));
        assert_eq!((counted.calls, counted.failed), (2, 1));
        assert_eq!(counted.losses[0]["error"], "unavailable: gone");
        assert_eq!(counted.by["a1"], 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_worst_gap_is_between_answers_and_up_to_now() {
        let mut counted = Counted::default();
        let answer = |counted: &mut Counted| counted.add(made(Instant::now(), Ok("hello")));
        assert_eq!(counted.worst_gap(), Duration::ZERO);
        answer(&mut counted);
        tokio::time::advance(Duration::from_millis(40)).await;
        answer(&mut counted);
        tokio::time::advance(Duration::from_millis(30)).await;
        counted.add(made(Instant::now(), Err("gone")));
        assert_eq!(counted.worst_gap(), Duration::from_millis(40));
        tokio::time::advance(Duration::from_millis(30)).await;
        assert_eq!(counted.worst_gap(), Duration::from_millis(60));
    }
}
