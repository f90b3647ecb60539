//! Policies and switches from the rules of an instance: `<application>.resend` and `<application>.switches`.

use std::{fmt, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use super::{PolicyDocument, Resend, Switches};
use crate::rules::{Followed, RuleBook, RuleError, key};

/// Rules that are followed; what they say already is in force.
#[must_use = "changes come into force while `run` runs"]
pub struct Following {
    resend: Resend,
    policies: Followed<PolicyDocument>,
    switches: Followed<Switches>,
}

impl Resend {
    /// Follows the rules of `application` in `book`: one that cannot be read changes nothing, as a whole.
    pub fn follow(&self, book: &RuleBook, application: &str) -> Following {
        let (resend, switches) = (key::resend(application), key::switches(application));
        let following = Following {
            resend: self.clone(),
            policies: book.follow(&resend.clone(), move |text| {
                PolicyDocument::parse(&resend, text).map_err(RuleError::of)
            }),
            switches: book.follow(&switches.clone(), move |text| {
                Switches::parse(&switches, text)
            }),
        };
        following.apply_policies();
        following.apply_switches();
        following
    }
}

impl Following {
    /// Brings every change into force, and tells each second for how long no one knows whether there is one
    /// (`dubbo_switch_stale_seconds`).
    ///
    /// # Cancel safety
    ///
    /// What is in force stays.
    pub async fn run(mut self) {
        let mut tick = interval(LOOK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.policies.changed() => self.apply_policies(),
                () = self.switches.changed() => self.apply_switches(),
                _ = tick.tick() => {
                    let stale = self.switches.stale_for().unwrap_or_default();
                    metrics::gauge!("dubbo_switch_stale_seconds").set(stale.as_secs_f64());
                }
            }
        }
    }

    fn apply_policies(&self) {
        self.resend.set_rule(self.policies.current());
    }

    fn apply_switches(&self) {
        self.resend.set_switches_rule(self.switches.current());
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following")
            .field("policies", &self.policies)
            .field("switches", &self.switches)
            .finish_non_exhaustive()
    }
}

const LOOK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_test::{PATIENCE, center::Center, metrics::Numbers};
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_gauge_says_for_how_long_a_center_has_not_said_what_the_switches_are() {
        let numbers = Numbers::default();
        let _recording = metrics::set_default_local_recorder(&numbers);
        let (book, center, resend) = (RuleBook::default(), Center::new("c"), Resend::default());
        book.add_center(Arc::new(center.clone()));
        let _running = tokio::spawn(resend.follow(&book, "shop").run());
        book.settled(PATIENCE).await;
        let key = key::switches("shop");
        let seconds = async |wait: u64| {
            sleep(Duration::from_secs(wait) + Duration::from_millis(500)).await;
            numbers.get("dubbo_switch_stale_seconds")
        };
        center.put(&key, "retry.enabled: false");
        assert!(seconds(5).await < 0.5, "it says what it has");
        center.fail(&key, "gone");
        let stale = seconds(10).await;
        assert!((9.0..=11.5).contains(&stale), "{stale}");
        assert!(!resend.switches().retry_enabled, "what it said last counts");
        let stale = seconds(10).await;
        assert!((19.0..=22.5).contains(&stale), "{stale}");
        center.put(&key, "retry.enabled: true");
        assert!(seconds(2).await < 0.5, "it is back");
        assert!(resend.switches().retry_enabled);
    }
}
