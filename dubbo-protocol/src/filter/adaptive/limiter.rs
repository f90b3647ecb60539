use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use dubbo_core::status::Code;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{aimd::Aimd, gradient::Gradient, hill_climbing::HillClimbing};
use crate::filter::watch::End;

/// What is seen of a call that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) took: Duration,
    /// How many calls were under way with it.
    pub(super) in_flight: u32,
    /// It was too late, or met a limit further on.
    pub(super) is_overload: bool,
    pub(super) at: Instant,
}

/// Finds a limit from what it sees. The clock is whoever tells.
pub(super) trait Policy: Send {
    fn limit(&self) -> f64;

    fn ended(&mut self, sample: Sample);
}

/// A [`Policy`] by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Aimd,
    Gradient,
    HillClimbing,
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "aimd" => Ok(Self::Aimd),
            "gradient2" => Ok(Self::Gradient),
            "hill-climbing" | "hillclimbing" => Ok(Self::HillClimbing),
            _ => Err(format!(
                "no `adaptive-service.limiter` is called `{text}`; there are: aimd, gradient2, hill-climbing"
            )),
        }
    }
}

/// The calls of one method, and how many may be under way.
pub(super) struct Limiter {
    in_flight: AtomicU32,
    /// What the policy says, rounded.
    limit: AtomicU32,
    policy: Mutex<Box<dyn Policy>>,
}

impl Limiter {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self::with(match algorithm {
            Algorithm::Aimd => Box::new(Aimd::default()),
            Algorithm::Gradient => Box::new(Gradient::default()),
            Algorithm::HillClimbing => Box::new(HillClimbing::default()),
        })
    }

    pub(super) fn with(policy: Box<dyn Policy>) -> Self {
        Self {
            in_flight: AtomicU32::new(0),
            limit: AtomicU32::new(rounded(policy.limit())),
            policy: Mutex::new(policy),
        }
    }

    /// Begins a call, if there is room.
    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Permit> {
        let limit = self.limit();
        let more = |inside| (inside < limit).then_some(inside + 1);
        let before = self
            .in_flight
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        let in_flight = before.ok()? + 1;
        Some(Permit {
            limiter: Arc::clone(self),
            began: Instant::now(),
            in_flight,
        })
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit.load(Ordering::Acquire)
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Acquire)
    }
}

/// A call that was let in; it is over when this is dropped.
pub(super) struct Permit {
    limiter: Arc<Limiter>,
    began: Instant,
    in_flight: u32,
}

impl Permit {
    /// Lets the policy know. A call that was given up says nothing of how fast it was.
    pub(super) fn ended(self, end: &End<'_>) {
        let is_overload = match end {
            End::Done => false,
            End::Failed(status) => {
                matches!(
                    status.code(),
                    Code::DeadlineExceeded | Code::ResourceExhausted
                )
            }
            End::GivenUp => return,
        };
        let at = Instant::now();
        let sample = Sample {
            took: at.saturating_duration_since(self.began),
            in_flight: self.in_flight,
            is_overload,
            at,
        };
        let mut policy = self.limiter.policy.lock();
        policy.ended(sample);
        self.limiter
            .limit
            .store(rounded(policy.limit()), Ordering::Release);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Limits are kept between these.
pub(super) const FLOOR: f64 = 4.0;
pub(super) const CEILING: f64 = 500.0;

/// Where the search begins.
pub(super) const FIRST: f64 = 50.0;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are between 4 and 500"
)]
fn rounded(limit: f64) -> u32 {
    limit.clamp(FLOOR, CEILING).round() as u32
}
