//! How often something may begin.

use std::{num::NonZeroU32, time::Duration};

use tokio::time::Instant;

/// So many a second on average, with so many at once after a pause: a budget of replays (`docs/spec/cluster.md` §7.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// A second.
    pub per_second: NonZeroU32,
    /// At once.
    pub burst: NonZeroU32,
}

/// What is left of a rate. It is one time: when all of the burst will be there again.
#[derive(Debug)]
pub(super) struct Meter {
    rate: Rate,
    full_at: Option<Instant>,
}

impl Meter {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            full_at: None,
        }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Takes one.
    ///
    /// # Errors
    ///
    /// None is left; when the next one will be there.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let each = Duration::from_secs(1) / self.rate.per_second.get();
        let full_at = self.full_at.map_or(now, |full_at| full_at.max(now));
        let ahead = each * (self.rate.burst.get() - 1);
        if full_at > now + ahead {
            return Err(full_at - ahead);
        }
        self.full_at = Some(full_at + each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_there_at_once_and_then_one_after_the_other() {
        let number = |number| NonZeroU32::new(number).expect("not zero");
        let mut meter = Meter::new(Rate {
            per_second: number(20),
            burst: number(10),
        });
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        for _ in 0..10 {
            assert_eq!(meter.take(start), Ok(()));
        }
        assert_eq!(meter.take(start), Err(at(50)));
        assert_eq!(meter.take(at(49)), Err(at(50)), "asking costs nothing");
        assert_eq!(meter.take(at(50)), Ok(()));
        assert_eq!(meter.take(at(50)), Err(at(100)));
        for _ in 0..10 {
            assert_eq!(
                meter.take(at(10_000)),
                Ok(()),
                "a pause saves a burst, not more"
            );
        }
        assert_eq!(meter.take(at(10_000)), Err(at(10_050)));
    }
}
