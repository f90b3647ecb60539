//! What a consumer counts and measures, for whoever records it (`docs/spec/metadata.md` §6.6).

use std::{sync::Arc, time::Duration};

use metrics::{Gauge, counter, gauge, histogram};

use super::{store::Metadata, view::AppState};

/// One request for metadata of `application` has ended so: `ok`, `failed`, or `abandoned` because another one was faster.
/// `path` is `instance` or `report`.
pub(super) fn fetched(application: &Arc<str>, path: &'static str, result: &'static str) {
    let app = Arc::clone(application);
    counter!("dubbo_metadata_fetch_total", "app" => app, "path" => path, "result" => result)
        .increment(1);
}

/// So many interfaces that somebody needs are mapped to nobody at `registry`.
pub(super) fn pending_mappings(registry: &Arc<str>, count: usize) {
    gauge!("dubbo_mapping_pending", "registry" => Arc::clone(registry)).set(number(count));
}

/// It took so long until the new providers were there after `interface` was mapped to others.
pub(crate) fn mapping_lag(interface: &Arc<str>, lag: Duration) {
    histogram!("dubbo_mapping_lag_seconds", "interface" => Arc::clone(interface)).record(lag);
}

/// What is known of one application. It is nothing again when the value is dropped.
pub(super) struct AppGauges {
    failed: Gauge,
    loading: Gauge,
    ready: Gauge,
    stale: Gauge,
}

impl AppGauges {
    pub(super) fn new(registry: &Arc<str>, application: &Arc<str>) -> Self {
        let revisions = |state: &'static str| {
            let (app, registry) = (Arc::clone(application), Arc::clone(registry));
            gauge!("dubbo_metadata_revisions", "app" => app, "registry" => registry, "state" => state)
        };
        let (app, registry) = (Arc::clone(application), Arc::clone(registry));
        Self {
            failed: revisions("failed"),
            loading: revisions("loading"),
            ready: revisions("ready"),
            stale: gauge!("dubbo_metadata_stale_instances", "app" => app, "registry" => registry),
        }
    }

    pub(super) fn show(&self, state: &AppState) {
        let count = |which: fn(&Metadata) -> bool| {
            let revisions = state.revisions.iter();
            number(revisions.filter(|one| which(&one.metadata)).count())
        };
        self.failed
            .set(count(|it| matches!(it, Metadata::Failed(_))));
        self.loading
            .set(count(|it| matches!(it, Metadata::Loading)));
        self.ready.set(count(|it| matches!(it, Metadata::Ready(_))));
        self.stale.set(number(state.serving.stale));
    }
}

impl Drop for AppGauges {
    fn drop(&mut self) {
        self.show(&AppState::default());
    }
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
