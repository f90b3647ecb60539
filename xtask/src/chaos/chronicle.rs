//! What was done to whom, and when, on the clock of the machine: consumers tell by it when their calls failed.

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::interop::parts::Listens;

/// What happened so far.
#[derive(Debug, Default)]
pub(super) struct Chronicle {
    events: Vec<(u64, String)>,
    pub(super) deaths: Vec<Death>,
}

/// The sudden end of a provider. Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Death {
    /// Where it listened.
    pub(super) at: Listens,
    /// When it was killed.
    pub(super) begun: u64,
    /// When nothing of it was left.
    pub(super) done: u64,
}

impl Chronicle {
    /// Notes what has just happened.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.events.push((now(), what.into()));
    }

    /// A moment in words: by the last event before it.
    pub(super) fn place(&self, millis: u64) -> Place<'_> {
        let before = self.events.iter().rev().find(|(time, _)| *time <= millis);
        Place {
            millis,
            since: self.events.first().map_or(millis, |(time, _)| *time),
            before: before.map(|(time, what)| (*time, what.as_str())),
        }
    }
}

/// A moment, for messages.
#[derive(Debug)]
pub(super) struct Place<'a> {
    millis: u64,
    since: u64,
    before: Option<(u64, &'a str)>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { millis, since, .. } = *self;
        write!(f, "at {} ms", millis.saturating_sub(since))?;
        match self.before {
            Some((time, what)) => write!(f, ", {} ms after {what}", millis - time),
            None => Ok(()),
        }
    }
}

/// Now, in milliseconds on the clock of the machine.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_the_event_before_it() {
        let chronicle = Chronicle {
            events: vec![(100, "a1 was called".into()), (250, "a1 had ended".into())],
            deaths: Vec::new(),
        };
        for (millis, text) in [
            (90, "at 0 ms"),
            (100, "at 0 ms, 0 ms after a1 was called"),
            (249, "at 149 ms, 149 ms after a1 was called"),
            (300, "at 200 ms, 50 ms after a1 had ended"),
        ] {
            assert_eq!(chronicle.place(millis).to_string(), text);
        }
    }
}
