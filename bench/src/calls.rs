//! Calls over Triple as `xtask/src/bench/triple/ends.rs` asks for them: one client of each stack, the same loop around it.

use std::{io, time::Duration};

use bytes::Bytes;
use tokio::{runtime::Runtime, task::JoinSet};

use crate::{clock::Clock, commands, load};

/// The client of a stack.
pub trait Caller: Clone + Send + Sync + 'static {
    /// Calls `Ping`, and gives what came back.
    fn ping(&self, payload: Bytes) -> impl Future<Output = Result<Bytes, String>> + Send;

    /// Calls `GreetServerStream` for `count` messages, and gives how many came.
    fn stream(&self, name: String, count: u32) -> impl Future<Output = Result<u32, String>> + Send;
}

/// Answers the commands `ping SIZE MILLIS CALLERS` and `stream SIZE MILLIS CALLERS COUNT` with the number of calls, or of
/// messages, the nanoseconds that they took, and the median and the 99th percentile of what one call took, in microseconds.
///
/// # Errors
///
/// The standard input or output is broken.
pub fn serve(runtime: &Runtime, caller: &impl Caller) -> io::Result<()> {
    commands::serve(|words| runtime.block_on(round(caller, Round::parse(words)?)))
}

/// One round of calls.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// How many bytes each call sends: the payload, or the name that is greeted.
    size: usize,
    /// For how long calls are begun.
    time: Duration,
    /// How many calls are under way at a time.
    callers: usize,
    /// How many messages a stream has; without it calls are unary.
    count: Option<u32>,
}

impl Round {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let (size, millis, callers, count) = match *words {
            ["ping", size, millis, callers] => (size, millis, callers, None),
            ["stream", size, millis, callers, count] => (size, millis, callers, Some(count)),
            _ => return Err(format!("no command is like {}", words.join(" "))),
        };
        let number = |word: &str| {
            let number = word.parse::<u32>();
            number.map_err(|_| format!("{word} is no number"))
        };
        Ok(Self {
            size: number(size)? as usize,
            time: commands::millis(millis)?,
            callers: number(callers)? as usize,
            count: count.map(number).transpose()?,
        })
    }
}

/// What one caller has done.
struct Done {
    count: u64,
    /// In microseconds, of each call.
    latencies: Vec<u32>,
}

async fn round(caller: &impl Caller, round: Round) -> Result<String, String> {
    let payload = Bytes::from(vec![b'x'; round.size]);
    let clock = Clock::start();
    let mut callers = JoinSet::new();
    for _ in 0..round.callers {
        callers.spawn(calls(caller.clone(), payload.clone(), round, clock));
    }
    let mut count = 0;
    let mut latencies = Vec::new();
    while let Some(called) = callers.join_next().await {
        let mut done = called.map_err(|error| error.to_string())??;
        count += done.count;
        latencies.append(&mut done.latencies);
    }
    let nanos = clock.elapsed().as_nanos();
    latencies.sort_unstable();
    let percentile = |hundredth: usize| latencies[(latencies.len() - 1) * hundredth / 100];
    Ok(format!(
        "{count} {nanos} {} {}",
        percentile(50),
        percentile(99)
    ))
}

/// At least one call.
async fn calls(
    caller: impl Caller,
    payload: Bytes,
    round: Round,
    clock: Clock,
) -> Result<Done, String> {
    let mut done = Done {
        count: 0,
        latencies: Vec::new(),
    };
    loop {
        let call = Clock::start();
        if let Some(count) = round.count {
            let name = "x".repeat(round.size);
            let came = caller.stream(name, count).await?;
            if came != count {
                return Err(format!("{came} of {count} messages came"));
            }
            done.count += u64::from(came);
        } else {
            load::check(&caller.ping(payload.clone()).await?, &payload)?;
            done.count += 1;
        }
        let took = u32::try_from(call.elapsed().as_micros()).unwrap_or(u32::MAX);
        done.latencies.push(took);
        if clock.elapsed() >= round.time {
            return Ok(done);
        }
    }
}
