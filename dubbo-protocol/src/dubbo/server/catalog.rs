//! What a server serves, and whether it still wants to.

use std::{ops::Deref, sync::Arc};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::routes::{Route, Routes};

/// The routes of one server and the stage of its life. Read by every call, changed by exports.
pub(super) struct Catalog {
    routes: ArcSwap<Routes>,
    writing: Mutex<()>,
    stage: watch::Sender<Stage>,
}

/// How far a server is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Serving,
    /// Consumers are told to go elsewhere; calls are served.
    Leaving,
    /// Calls in flight finish, and nothing else.
    Draining,
}

impl Catalog {
    /// A catalog of a server that serves.
    pub(super) fn new() -> Self {
        Self {
            routes: ArcSwap::default(),
            writing: Mutex::new(()),
            stage: watch::Sender::new(Stage::Serving),
        }
    }

    pub(super) fn routes(&self) -> impl Deref<Target = Arc<Routes>> {
        self.routes.load()
    }

    /// Adds a route, unless its key is taken.
    pub(super) fn add(&self, route: &Arc<Route>) -> bool {
        let _writing = self.writing.lock();
        let routes = self.routes.load().with(route);
        routes
            .map(|routes| self.routes.store(Arc::new(routes)))
            .is_some()
    }

    pub(super) fn remove(&self, route: &Arc<Route>) {
        let _writing = self.writing.lock();
        let routes = self.routes.load().without(route);
        self.routes.store(Arc::new(routes));
    }

    /// Goes on to `stage`, never back.
    pub(super) fn advance(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let later = *now < stage;
            *now = (*now).max(stage);
            later
        });
    }

    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Waits until the server has got as far as `stage`.
    pub(super) async fn reached(&self, stage: Stage) {
        // It fails when the sender is gone, which is here.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }
}
