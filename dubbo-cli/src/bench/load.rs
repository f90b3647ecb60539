//! Making the calls: in a closed loop, and in an open one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use indicatif::ProgressBar;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::histogram::Histogram;
use crate::{
    callee::{CallOptions, Callee, Input},
    fail::Failure,
};

/// One call, to be made many times.
pub(super) struct Load {
    callee: Callee,
    input: Input,
    options: CallOptions,
}

/// When it is over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    Calls(u64),
    Time(Duration),
}

/// What came of it.
pub(super) struct Taken {
    pub(super) elapsed: Duration,
    /// Of the calls that were answered.
    pub(super) answered: Histogram,
    /// Of those that failed, by what to call the failure.
    pub(super) failures: BTreeMap<String, u64>,
    /// The messages of streams, or one for each answer.
    pub(super) messages: u64,
    /// Whether somebody typed Ctrl-C.
    pub(super) interrupted: bool,
}

impl Load {
    pub(super) fn new(callee: Callee, input: Input, options: CallOptions) -> Self {
        Self {
            callee,
            input,
            options,
        }
    }

    /// One call; how many messages the answer had.
    pub(super) async fn once(&self) -> Result<u64, Failure> {
        let mut messages = 0;
        let each = |_| {
            messages += 1;
            Ok(())
        };
        self.callee.call(&self.input, &self.options, each).await?;
        Ok(messages)
    }

    /// Each of `callers` makes its next call when the last one is over.
    pub(super) async fn closed(
        self: &Arc<Self>,
        callers: u32,
        until: Until,
        bar: &ProgressBar,
    ) -> Taken {
        let watch = Watch::start(until, bar);
        let left = Arc::new(AtomicU64::new(match until {
            Until::Calls(number) => number,
            Until::Time(_) => u64::MAX,
        }));
        let mut tasks = JoinSet::new();
        for _ in 0..callers {
            let (load, left) = (Arc::clone(self), Arc::clone(&left));
            let (over, count) = (watch.over.subscribe(), Arc::clone(&watch.count));
            tasks.spawn(async move {
                let mut taken = Taken::new();
                while !*over.borrow() && take_one(&left) {
                    let begun = Instant::now();
                    let result = load.once().await;
                    taken.record(begun.elapsed(), result);
                    count.fetch_add(1, Ordering::Relaxed);
                }
                taken
            });
        }
        watch.sum(tasks, bar).await
    }

    /// A call begins every `1 / rate` seconds, as long as no more than `most` are under way.
    pub(super) async fn open(
        self: &Arc<Self>,
        rate: f64,
        most: u32,
        until: Until,
        bar: &ProgressBar,
    ) -> Taken {
        let watch = Watch::start(until, bar);
        let places = Arc::new(Semaphore::new(most as usize));
        let pause = Duration::from_secs_f64(1.0 / rate);
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let number = match until {
            Until::Calls(number) => number,
            Until::Time(duration) => nanos(duration).div_ceil(nanos(pause).max(1)),
        };
        let load = Arc::clone(self);
        let (mut over, count) = (watch.over.subscribe(), Arc::clone(&watch.count));
        let mut pacer = JoinSet::new();
        pacer.spawn(async move {
            let started = Instant::now();
            let mut calls = JoinSet::new();
            let mut taken = Taken::new();
            for index in 0..number {
                let due = started + Duration::from_nanos(nanos(pause).saturating_mul(index));
                // Those that are over make room before new ones come.
                while let Some(done) = calls.try_join_next() {
                    taken.record_done(done);
                }
                let place = async {
                    sleep_until(due).await;
                    Arc::clone(&places).acquire_owned().await
                };
                let place = tokio::select! {
                    biased;
                    _ = over.wait_for(|over| *over) => break,
                    place = place => place,
                };
                let Ok(place) = place else { break };
                let (load, count) = (Arc::clone(&load), Arc::clone(&count));
                calls.spawn(async move {
                    let result = load.once().await;
                    count.fetch_add(1, Ordering::Relaxed);
                    drop(place);
                    (due.elapsed(), result)
                });
            }
            while let Some(done) = calls.join_next().await {
                taken.record_done(done);
            }
            taken
        });
        watch.sum(pacer, bar).await
    }
}

/// The time, the progress, and Ctrl-C.
struct Watch {
    started: Instant,
    until: Until,
    /// Whether nothing begins any more.
    over: watch::Sender<bool>,
    count: Arc<AtomicU64>,
}

impl Watch {
    fn start(until: Until, bar: &ProgressBar) -> Self {
        bar.reset();
        Self {
            started: Instant::now(),
            until,
            over: watch::Sender::new(false),
            count: Arc::default(),
        }
    }

    /// Waits until all tasks are done, tells the time when it is over, and shows how far they are.
    async fn sum(&self, mut tasks: JoinSet<Taken>, bar: &ProgressBar) -> Taken {
        let mut sum = Taken::new();
        let end = match self.until {
            Until::Calls(_) => None,
            Until::Time(duration) => Some(self.started + duration),
        };
        let mut ticks = tokio::time::interval(TICK);
        loop {
            let time_is_up = async {
                match end {
                    Some(end) if !*self.over.borrow() => sleep_until(end).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                done = tasks.join_next() => match done {
                    Some(Ok(taken)) => sum.add(&taken),
                    // A task that panicked has printed why.
                    Some(Err(_)) => {}
                    None => break,
                },
                () = time_is_up => drop(self.over.send_replace(true)),
                _ = tokio::signal::ctrl_c(), if !sum.interrupted => {
                    sum.interrupted = true;
                    self.over.send_replace(true);
                }
                _ = ticks.tick() => self.show(bar),
            }
        }
        sum.elapsed = self.started.elapsed();
        sum
    }

    fn show(&self, bar: &ProgressBar) {
        let calls = self.count.load(Ordering::Relaxed);
        let elapsed = self.started.elapsed();
        bar.set_position(match self.until {
            Until::Calls(_) => calls,
            Until::Time(_) => u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        let rate = per_second(calls, elapsed);
        bar.set_message(format!("{calls} calls, {rate:.0}/s"));
    }
}

impl Taken {
    fn new() -> Self {
        Self {
            elapsed: Duration::ZERO,
            answered: Histogram::new(),
            failures: BTreeMap::new(),
            messages: 0,
            interrupted: false,
        }
    }

    /// All calls.
    pub(super) fn calls(&self) -> u64 {
        self.answered.count() + self.failed()
    }

    /// Those that failed.
    pub(super) fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    fn record(&mut self, took: Duration, result: Result<u64, Failure>) {
        match result {
            Ok(messages) => {
                self.answered.record(took);
                self.messages += messages;
            }
            Err(failure) => {
                let name = failure.code().map(|code| code.to_string());
                *self
                    .failures
                    .entry(name.unwrap_or_else(|| "unusable".to_owned()))
                    .or_default() += 1;
            }
        }
    }

    fn record_done(
        &mut self,
        done: Result<(Duration, Result<u64, Failure>), tokio::task::JoinError>,
    ) {
        match done {
            Ok((took, result)) => self.record(took, result),
            // It has printed why.
            Err(_) => *self.failures.entry("panicked".to_owned()).or_default() += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.answered.add(&other.answered);
        self.messages += other.messages;
        for (name, count) in &other.failures {
            *self.failures.entry(name.clone()).or_default() += count;
        }
    }
}

/// How many of something there were in a second.
#[expect(
    clippy::cast_precision_loss,
    reason = "more than 2^52 calls are made by nobody"
)]
pub(super) fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(1e-9)
}

/// Takes one of what is left to do, if anything is.
fn take_one(left: &AtomicU64) -> bool {
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    taken.is_ok()
}

/// How often the progress is shown.
const TICK: Duration = Duration::from_millis(100);
