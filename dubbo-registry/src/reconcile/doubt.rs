//! How long after an outage what is missing on a server may still be coming back.

use std::time::Duration;

use tokio::time::Instant;

/// The doubt about what is missing (`docs/spec/registry.md` §9).
///
/// It lasts for a while after a connection has begun that is not the first one. Connections that are lost sooner share one doubt: whoever is always
/// connecting again would never believe that anybody has gone.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// When the connection began; `None` before the first one.
    since: Option<Instant>,
    /// How long the doubt lasts from then on.
    lasts: Duration,
}

impl Doubt {
    /// There is a connection; the one before was lost at `lost`. A whole doubt lasts for `grace`.
    pub(super) fn begin(&mut self, lost: Instant, grace: Duration) {
        self.lasts = match self.since {
            None => Duration::ZERO,
            Some(since) if lost < since + self.lasts => since + self.lasts - lost,
            Some(_) => grace,
        };
        self.since = Some(Instant::now());
    }

    /// Until when what is missing may come back.
    pub(super) fn end(&self) -> Instant {
        self.since.unwrap_or_else(Instant::now) + self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connections_that_are_lost_soon_share_a_doubt() {
        let s = Duration::from_secs;
        let mut doubt = Doubt::default();
        // How long a connection lasts, how long there is none before it, and how long it is doubted.
        for (away, up, want) in [
            (s(1), s(10), s(0)),
            (s(1), s(40), s(30)),
            (s(60), s(10), s(30)),
            (s(60), s(15), s(20)),
            (s(0), s(5), s(5)),
            (s(0), s(30), s(30)),
            (s(9), s(1), s(30)),
        ] {
            let lost = Instant::now();
            tokio::time::sleep(away).await;
            doubt.begin(lost, s(30));
            assert_eq!(doubt.end() - Instant::now(), want, "{away:?} {up:?}");
            tokio::time::sleep(up).await;
        }
    }
}
