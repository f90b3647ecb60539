//! What an instance tells of itself, and where.

use std::{net::SocketAddr, sync::Arc};

use super::{Inner, Instance};

impl Instance {
    /// Where the numbers of `metrics` can be had on a port of their own (`metrics.port`, `metrics.path`), the port never 0;
    /// `None` before the first [`start`](Self::start) or [`refer`](Self::refer), and without such a port.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.0.telemetry.address()
    }
}

impl Inner {
    /// Has what is looked up be looked up when numbers are asked for.
    #[cfg_attr(
        not(feature = "prometheus"),
        expect(clippy::unused_self, reason = "who counts is a feature")
    )]
    pub(super) fn shows_directories(self: &Arc<Self>) {
        #[cfg(feature = "prometheus")]
        {
            let own: std::sync::Weak<Self> = Arc::downgrade(self);
            self.telemetry.ask(own);
        }
    }
}

#[cfg(feature = "prometheus")]
impl crate::observe::Collect for Inner {
    /// How many providers the references to each interface know.
    fn collect(&self) {
        let mut of: std::collections::BTreeMap<String, Vec<_>> = std::collections::BTreeMap::new();
        {
            let running = self.running.lock();
            for reference in &running.references {
                let directories = reference.directories.iter();
                let there = directories.filter_map(std::sync::Weak::upgrade);
                let interface = reference.service.interface().to_owned();
                of.entry(interface).or_default().extend(there);
            }
        }
        let tally = self.extensions.shared::<crate::observe::tally::Tally>();
        for (interface, directories) in of {
            tally.directories(&interface, &directories);
        }
    }
}
