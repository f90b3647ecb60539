//! What a server serves, and whether it still wants to; the same for every protocol.

use std::{ops::Deref, sync::Arc};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The routes of one server and the stage of its life. Read by every call, changed by exports.
pub(crate) struct Catalog<R> {
    routes: ArcSwap<R>,
    writing: Mutex<()>,
    /// Marked as changed with the routes too.
    stage: watch::Sender<Stage>,
}

/// How far a server is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Serving,
    /// Consumers are told to go elsewhere; calls are served.
    Leaving,
    /// Calls in flight finish, and nothing else.
    Draining,
}

impl<R: Default> Catalog<R> {
    /// A catalog of a server that serves, without routes.
    pub(crate) fn new() -> Self {
        Self {
            routes: ArcSwap::default(),
            writing: Mutex::new(()),
            stage: watch::Sender::new(Stage::Serving),
        }
    }
}

impl<R> Catalog<R> {
    pub(crate) fn routes(&self) -> impl Deref<Target = Arc<R>> {
        self.routes.load()
    }

    /// Replaces the routes with what `change` makes of them; whether it made any.
    pub(crate) fn change(&self, change: impl FnOnce(&R) -> Option<R>) -> bool {
        let changed = {
            let _writing = self.writing.lock();
            let routes = change(&self.routes.load());
            routes.map(|routes| self.routes.store(Arc::new(routes)))
        };
        self.stage.send_modify(|_| {});
        changed.is_some()
    }

    /// Goes on to `stage`, never back.
    pub(crate) fn advance(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let later = *now < stage;
            *now = (*now).max(stage);
            later
        });
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Follows changes of the stage and of the routes.
    pub(crate) fn watch(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Waits until the server has got as far as `stage`.
    pub(crate) async fn reached(&self, stage: Stage) {
        // It fails when the sender is gone, which is here.
        let _ = self.watch().wait_for(|now| *now >= stage).await;
    }
}
