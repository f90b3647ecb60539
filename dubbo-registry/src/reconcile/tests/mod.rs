//! The loop against a server that fails in every way, on paused time.

mod follows;
mod wishes;

use std::{sync::Arc, time::Duration};

use dubbo_core::{list::List, url::Url};
use tokio::time::Instant;

use super::{Handle, Reconciler, Seen};
use crate::{
    backend::{Entry, Place, Timing},
    flaky::Flaky,
    memory::Store,
    plain,
};

/// A client with a bad connection, and what is above it.
struct Rig {
    store: Arc<Store>,
    client: Arc<Flaky>,
    reconciler: Arc<Reconciler<Flaky>>,
    handle: Handle<Flaky>,
}

impl Rig {
    fn new() -> Self {
        Self::with(TIMING)
    }

    fn with(timing: Timing) -> Self {
        Self::on(&Arc::default(), timing)
    }

    fn on(store: &Arc<Store>, timing: Timing) -> Self {
        let client = Flaky::new(store, timing);
        let reconciler = Reconciler::new(Arc::clone(&client));
        Self {
            store: Arc::clone(store),
            client,
            handle: Handle::new(Arc::clone(&reconciler)),
            reconciler,
        }
    }

    /// What the server shows in `name`.
    fn visible(&self, name: &str) -> Vec<String> {
        names(&self.store.read(&place(name)))
    }

    /// Waits until the server shows exactly `want` in `name`.
    async fn shows(&self, name: &str, want: &[&str]) {
        let what = format!("{want:?} in {name}");
        dubbo_test::soon(&what, async {
            while self.visible(name) != want {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    /// Waits until nothing is left to be done or followed.
    async fn idles(&self) {
        dubbo_test::soon("the end of all tasks", async {
            while self.reconciler.tasks.running() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        assert_eq!(self.reconciler.core.shows.count(), 0);
        assert_eq!(self.reconciler.places.count(), 0);
        assert_eq!(self.reconciler.folders.count(), 0);
        assert_eq!(self.client.watches(), 0);
        assert_eq!(self.store.watchers(), 0);
    }
}

/// What is known of a place: the names there, or the error.
fn known(seen: &Seen<List<Entry<Url>>>) -> Result<Vec<String>, String> {
    match (&seen.error, &seen.last) {
        (Some(error), _) => Err(error.to_string()),
        (None, Some(entries)) => Ok(names(entries)),
        (None, None) => Err("unknown".to_owned()),
    }
}

fn names(entries: &List<Entry<Url>>) -> Vec<String> {
    let mut names: Vec<_> = entries.iter().map(|e| e.value.host().to_owned()).collect();
    names.sort();
    names
}

fn place(name: &str) -> Place {
    Place(name.into())
}

/// The entry of a provider at host `name`.
fn entry(name: &str) -> Entry<Url> {
    plain::entry(Url::new("tri", name).with_path("a.B"))
}

/// The entry of an instance at host `name`, with a weight that may change.
fn instance(name: &str, weight: u32) -> Entry<Url> {
    let url = Url::new("instance", name).with_port(1);
    plain::entry(url.with_param("weight", weight.to_string()))
}

/// What `event` takes.
async fn takes<T>(event: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let output = event.await;
    (output, start.elapsed())
}

const TIMING: Timing = Timing {
    grace: Duration::ZERO,
    confirm_empty: Duration::from_secs(1),
    poll: Duration::from_mins(1),
    limit: Duration::from_secs(5),
};

/// 30 s, and half of it for those who come at random.
const LONGEST_PAUSE: Duration = Duration::from_secs(45);
