//! Several attempts of one call, of which the first answer counts.

use std::time::Duration;

use dubbo_core::{invocation::RpcResult, status::Status};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};

/// How attempts follow one another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// How many there may be.
    pub(crate) attempts: u32,
    /// How long after one the next begins; nothing begins all at once.
    pub(crate) delay: Duration,
}

/// How the attempts of one call ended.
#[derive(Debug)]
pub(crate) struct Raced {
    /// The first answer, and the number of the attempt that got it. `None`: all have failed.
    pub(crate) answer: Option<(u32, RpcResult)>,
    /// Those that failed before it, in the order in which they did.
    pub(crate) failures: Vec<Lost>,
}

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct Lost {
    /// Its number.
    pub(crate) number: u32,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// How it failed.
    pub(crate) status: Status,
}

/// Begins attempts at their pace until one is answered. One that fails lets the next begin at once, unless its provider
/// asks for a pause: then no further one begins. Those that are under way when there is an answer are dropped, which
/// cancels them.
///
/// `begin` makes the attempt of a number, from 0; `None`: there are no more. A failure for which `is_final` holds is an answer.
///
/// # Cancel safety
///
/// Dropping it drops the attempts.
pub(crate) async fn race<F>(
    pace: Pace,
    mut begin: impl FnMut(u32) -> Option<F>,
    is_final: impl Fn(&Status) -> bool,
) -> Raced
where
    F: Future<Output = RpcResult>,
{
    let mut under_way = FuturesUnordered::new();
    let mut failures = Vec::new();
    let (mut next, mut count, mut allowed) = (Instant::now(), 0, pace.attempts);
    loop {
        while count < allowed && next <= Instant::now() {
            let Some(attempt) = begin(count) else {
                allowed = count;
                break;
            };
            under_way.push(timed(count, attempt));
            count += 1;
            next += pace.delay;
        }
        tokio::select! {
            biased;
            ended = under_way.next() => {
                let Some((number, elapsed, result)) = ended else {
                    return Raced { answer: None, failures };
                };
                match result {
                    Err(status) if !is_final(&status) => {
                        if status.pushback().is_some() {
                            allowed = count;
                        }
                        next = Instant::now();
                        failures.push(Lost { number, elapsed, status });
                    }
                    answer => return Raced { answer: Some((number, answer)), failures },
                }
            }
            () = sleep_until(next), if count < allowed => {}
        }
    }
}

async fn timed<F: Future>(number: u32, attempt: F) -> (u32, Duration, F::Output) {
    let started = Instant::now();
    let output = attempt.await;
    (number, started.elapsed(), output)
}
