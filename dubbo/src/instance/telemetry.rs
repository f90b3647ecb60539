//! What an instance tells of itself, and where.

use std::net::SocketAddr;

use super::Instance;

impl Instance {
    /// Where the numbers of `metrics` can be had on a port of their own (`metrics.port`, `metrics.path`), the port never 0;
    /// `None` before the first [`start`](Self::start) or [`refer`](Self::refer), and without such a port.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.0.telemetry.address()
    }
}
