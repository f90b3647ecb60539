//! The time of day, which tests hand in.

mod zone;

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Tells the time of day: by default that of the machine.
#[derive(Clone)]
pub struct Clock {
    now_ms: Arc<dyn Fn() -> u64 + Send + Sync>,
    offset_s: i32,
}

impl Clock {
    /// One that tells what `now_ms` does, in milliseconds since the epoch, where it is `offset_s` seconds later than in
    /// Greenwich.
    pub fn new(now_ms: impl Fn() -> u64 + Send + Sync + 'static, offset_s: i32) -> Self {
        Self {
            now_ms: Arc::new(now_ms),
            offset_s,
        }
    }

    /// The milliseconds since the epoch.
    pub fn now_ms(&self) -> u64 {
        (self.now_ms)()
    }

    /// The seconds to add to come to the time of the place, without daylight saving.
    pub fn offset_s(&self) -> i32 {
        self.offset_s
    }
}

impl Default for Clock {
    fn default() -> Self {
        let now_ms = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            })
        };
        Self::new(now_ms, zone::local_offset())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now_ms", &self.now_ms())
            .field("offset_s", &self.offset_s)
            .finish()
    }
}
