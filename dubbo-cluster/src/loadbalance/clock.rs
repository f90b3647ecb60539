//! The time of day, handed in, so that tests set it.

use std::{fmt, sync::Arc, time::SystemTime};

/// Milliseconds since the epoch: what providers write into `timestamp`, and so what warm-up is reckoned in.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            // A clock before 1970 reads as 1970.
            u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// A clock that reads what `now_millis` answers.
    pub fn new(now_millis: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_millis))
    }

    /// The reading.
    pub fn now_millis(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now_millis()).finish()
    }
}
