//! Failback on scripted providers and a paused clock.

mod accounting;
mod end;
mod order;
mod policies;
mod storm;

use std::{collections::HashMap, sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{ClusterConfig, Directory, MethodConfig},
    extension::Extensions,
    invoker::Invoker,
    service::ServiceKey,
    status::{Origin, Status},
};
use tokio::time::Instant;

use super::Failback;
use crate::{
    loadbalance::{Clock, RoundRobin},
    resend::dead_letter::{DeadLetter, DeadLetters, Filter, Page},
    testing::{Answer, Scripted, consumer, join, service},
};

/// A reference over `directory` whose calls are made again later.
struct Estate {
    extensions: Extensions,
    letters: DeadLetters,
    failback: Failback,
    directory: Arc<dyn Directory>,
}

impl Estate {
    fn of(directory: Arc<dyn Directory>) -> Self {
        Self::seeded(directory, 42)
    }

    fn seeded(directory: Arc<dyn Directory>, seed: u64) -> Self {
        let extensions = Extensions::linked().expect("no duplicates");
        let letters = DeadLetters::clone(&extensions.shared());
        let chance = fastrand::Rng::with_seed(seed);
        let failback = Failback::new(&extensions, letters.clone(), chance);
        Self {
            extensions,
            letters,
            failback,
            directory,
        }
    }

    fn config(&self, retries: Option<i32>, params: &[(&str, &str)]) -> Arc<ClusterConfig> {
        let method = MethodConfig {
            timeout: Some(Duration::from_millis(400)),
            retries,
            sticky: false,
            load_balance: Arc::new(RoundRobin::new(Clock::new(|| 0))),
        };
        let url = consumer().with_params(params.iter().copied());
        let key = ServiceKey::new("a.B");
        let config = ClusterConfig::new(key, &service(), url, method, &HashMap::new());
        Arc::new(config.with_extensions(self.extensions.clone()))
    }

    fn join(&self, retries: Option<i32>, params: &[(&str, &str)]) -> Arc<dyn Invoker> {
        let config = self.config(retries, params);
        join(&self.failback, Arc::clone(&self.directory), config)
    }

    /// All dead letters, once those that are on their way have come.
    async fn letters(&self) -> Vec<Arc<DeadLetter>> {
        self.letters.settled().await;
        let page = Page {
            limit: 1_000,
            ..Page::default()
        };
        let listed = self.letters.list(&Filter::default(), page).await;
        listed.expect("in memory").letters
    }
}

fn unavailable() -> Answer {
    Answer::Fail(Status::unavailable("refused").with_origin(Origin::Transport))
}

/// A provider that never works.
fn down() -> Arc<Scripted> {
    Scripted::with(1, [unavailable()])
}

/// When the provider got calls, in seconds after `start`.
fn times(provider: &Scripted, start: Instant) -> Vec<f64> {
    let calls = provider.calls().into_iter();
    calls.map(|got| (got.at - start).as_secs_f64()).collect()
}

/// Longer than any number of replays takes that is not endless.
const AGES: Duration = Duration::from_hours(24);
