//! The attempts that failed last, for those who look at a running program.

use std::{
    collections::VecDeque,
    time::{Duration, SystemTime},
};

use dubbo_core::{
    service::ServiceKey,
    status::{Code, Status},
    url::Url,
};
use parking_lot::Mutex;

use super::Class;

/// One attempt of a call that failed in a way that another attempt may help against.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecentFailure {
    /// When it had failed.
    pub at: SystemTime,
    /// The service.
    pub service: ServiceKey,
    /// The method.
    pub method: String,
    /// Which attempt of its call it was, from 1.
    pub attempt: u32,
    /// How many its call may have.
    pub allowed: u32,
    /// The address of the provider, with its protocol.
    pub provider: String,
    /// What the failure means.
    pub class: Class,
    /// How long it took to fail.
    pub elapsed: Duration,
    /// The code that it failed with.
    pub code: Code,
    /// The beginning of its text.
    pub message: String,
}

/// The last failures of an instance, up to [`KEPT`].
#[derive(Default)]
pub(super) struct Recent(Mutex<VecDeque<RecentFailure>>);

/// Which attempt of which call failed.
pub(crate) struct Failing<'a> {
    pub(crate) service: &'a ServiceKey,
    pub(crate) method: &'a str,
    pub(crate) attempt: u32,
    pub(crate) allowed: u32,
    pub(crate) provider: &'a Url,
    pub(crate) class: Class,
    pub(crate) elapsed: Duration,
    pub(crate) status: &'a Status,
}

impl Recent {
    /// Takes one more in. Where many fail at once one of them is as good as another: nobody waits here.
    pub(super) fn add(&self, failed: &Failing<'_>) {
        let Some(mut kept) = self.0.try_lock() else {
            return;
        };
        if kept.len() == KEPT {
            kept.pop_front();
        }
        let text = failed.status.message();
        let end = (0..=text.len().min(LONGEST_TEXT))
            .rev()
            .find(|&end| text.is_char_boundary(end));
        kept.push_back(RecentFailure {
            at: SystemTime::now(),
            service: failed.service.clone(),
            method: failed.method.to_owned(),
            attempt: failed.attempt,
            allowed: failed.allowed,
            provider: failed.provider.origin(),
            class: failed.class,
            elapsed: failed.elapsed,
            code: failed.status.code(),
            message: text[..end.unwrap_or(0)].to_owned(),
        });
    }

    /// All of them, the last one last.
    pub(super) fn all(&self) -> Vec<RecentFailure> {
        self.0.lock().iter().cloned().collect()
    }
}

/// As many are kept: a screen full.
const KEPT: usize = 64;

/// In bytes.
const LONGEST_TEXT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failures_are_kept_with_the_beginnings_of_their_texts() {
        let recent = Recent::default();
        let service = ServiceKey::new("a.B");
        let provider = "tri://10.0.0.1:1/a.B".parse().expect("a URL");
        for attempt in 1..=100 {
            let status = Status::unavailable("ü".repeat(200));
            recent.add(&Failing {
                service: &service,
                method: "Get",
                attempt,
                allowed: 100,
                provider: &provider,
                class: Class::of(&status, false),
                elapsed: Duration::from_millis(7),
                status: &status,
            });
        }
        let all = recent.all();
        let attempts: Vec<_> = all.iter().map(|one| one.attempt).collect();
        assert_eq!(attempts, (37..=100).collect::<Vec<_>>());
        assert_eq!(all[0].message, "ü".repeat(128));
        assert_eq!(all[0].provider, "tri://10.0.0.1:1");
        assert_eq!(all[0].code, Code::Unavailable);
    }
}
