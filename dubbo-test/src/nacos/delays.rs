//! How long the server takes.

use std::time::Duration;

/// What the server waits before it does something. The default is as Nacos does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays {
    /// From the first change of a service until its list is computed anew and pushed: 0.5 s. Queries see the old list
    /// for as long.
    pub push: Duration,
    /// From a write of a config until reads see it and listeners are told: 0.1 s.
    pub read: Duration,
    /// From the end of the last instance of a service until its name is no longer listed: 60 s.
    pub empty_service: Duration,
    /// How long a client may be silent until it is asked whether it is there: 20 s.
    pub silence: Duration,
    /// How long it has for its answer until it is given up: 5 s.
    pub detection: Duration,
}

impl Delays {
    /// Divides what a test waits for. Not the patience with silent clients: asking them would be a message that a real
    /// server does not send, and one message changes how nacos-sdk behaves (`docs/spec/nacos-2.5.1.md` §5).
    pub fn faster(self, times: u32) -> Self {
        Self {
            push: self.push / times,
            read: self.read / times,
            empty_service: self.empty_service / times,
            ..self
        }
    }
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            push: Duration::from_millis(500),
            read: Duration::from_millis(100),
            empty_service: Duration::from_mins(1),
            silence: Duration::from_secs(20),
            detection: Duration::from_secs(5),
        }
    }
}
