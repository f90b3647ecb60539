//! What is configured about calls that are made again later.

use std::{num::NonZeroU32, time::Duration};

use dubbo_core::{
    extension::{BoxError, Extensions},
    invocation::Invocation,
    url::{Key, Url},
};

use crate::resend::{
    dead_letter::{DeadLetters, LostCalls, LostOptions},
    queue::{Pace, Priority, Rate},
};

/// The options of one method.
#[derive(Debug)]
pub(super) struct Options {
    /// How many calls of the reference may be held when one of this method is added.
    pub(super) limit: usize,
    pub(super) priority: Priority,
    /// How long a call is worth making.
    pub(super) ttl: Option<Duration>,
    pub(super) lost: LostCalls,
}

impl Options {
    pub(super) fn of(
        url: &Url,
        method: &str,
        extensions: &Extensions,
        letters: &DeadLetters,
    ) -> Result<Self, BoxError> {
        let priority = url.get_for(method, &PRIORITY)?;
        let ttl = url.get_for(method, &TTL)?;
        if !(1..=10).contains(&priority) {
            let name = PRIORITY.name;
            return Err(format!("`{name}` is {priority}, and goes from 1 to 10").into());
        }
        Ok(Self {
            limit: url.get_for(method, &TASKS)? as usize,
            priority: Priority::new(u8::try_from(priority).unwrap_or(u8::MAX)),
            ttl: ttl.filter(|ttl| !ttl.is_zero()),
            lost: LostOptions::of(url, method)?.resolve(extensions, letters)?,
        })
    }
}

/// How many calls of a reference are made again at once, and how often.
pub(super) fn pace(url: &Url) -> Result<Pace, BoxError> {
    let rate = NonZeroU32::new(url.get(&RATE)?);
    let burst = NonZeroU32::new(url.get(&BURST)?);
    let burst = burst.ok_or("`failback.burst` is 0: then no call could ever be made again")?;
    Ok(Pace {
        concurrency: usize::MAX,
        rate: rate.map(|per_second| Rate { per_second, burst }),
    })
}

/// How many times a call of this option is made again; `None` is endlessly often.
pub(super) fn replays_of(retries: Option<i64>) -> Option<u32> {
    match retries {
        None => Some(RETRIES_DEFAULT),
        Some(..0) => None,
        Some(retries) => Some(u32::try_from(retries).unwrap_or(u32::MAX)),
    }
}

/// The number of retries that the caller attached to this one call.
pub(super) fn take_retries(invocation: &mut Invocation) -> Option<i64> {
    let retries = invocation.attachments.get(RETRIES)?.trim().parse().ok()?;
    invocation.attachments.remove(RETRIES);
    Some(retries)
}

const RETRIES: &str = "retries";

/// `docs/spec/cluster.md` §2.4.
const RETRIES_DEFAULT: u32 = 3;

const TASKS: Key<u32> = Key {
    name: "failbacktasks",
    default: || 100,
};

const RATE: Key<u32> = Key {
    name: "failback.rate",
    default: || 0,
};

const BURST: Key<u32> = Key {
    name: "failback.burst",
    default: || 10,
};

const PRIORITY: Key<u32> = Key {
    name: "failback.priority",
    default: || 5,
};

const TTL: Key<Option<Duration>> = Key {
    name: "failback.ttl",
    default: || None,
};
