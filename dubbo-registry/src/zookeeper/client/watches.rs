//! Hearing of changes.
//!
//! ZooKeeper 3.6 has persistent watches, on one node or on it and all below. They go on through deletion and creation.
//! The crate forgets to tell the server about them after connecting again, so that is done here, and a hint makes up for
//! what may have been missed. An older server is asked for watches that go off once, and each is set again.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::registry::RegistryError;
use futures_util::{
    StreamExt as _,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
use tokio::task::JoinSet;
use zookeeper_client::{
    AddWatchMode, EventType, OneshotWatcher, PersistentWatcher, SessionState, WatchedEvent,
};

use super::{Connection, Failure, Why, session::Shared};
use crate::{
    backend::{Guard, Hint},
    tree::join,
    zookeeper::layout::says_all,
};

/// What of a node is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::zookeeper) enum Depth {
    /// Whether it is there, its data, and the names of its children.
    Node,
    /// Its children's data as well.
    Children,
}

impl Connection {
    /// Gives hints of changes at `path`, whether there is a node or not, as long as the session and the guard live.
    pub(in crate::zookeeper) async fn watch(
        &self,
        path: &str,
        depth: Depth,
        hint: Hint,
    ) -> Result<Guard, RegistryError> {
        let (session, is_old) = {
            let state = self.shared.state.lock();
            (state.sessions.last().copied(), state.is_old)
        };
        let target = Target {
            shared: Arc::downgrade(&self.shared),
            session,
            path: path.to_owned(),
            depth,
        };
        let mut task = JoinSet::new();
        if !is_old {
            match target.persistent(&self.shared).await {
                Ok(watcher) => {
                    task.spawn(target.follow_persistent(watcher, hint));
                    return Ok(Guard::new(task));
                }
                Err(failure) if failure.why == Why::Unknown => {
                    tracing::debug!(address = self.address(), "knows no persistent watches");
                    self.shared.state.lock().is_old = true;
                }
                Err(failure) => return Err(failure.into_error()),
            }
        }
        let mut armed = Armed::default();
        let first = target.arm(&self.shared, &mut armed).await;
        first.map_err(Failure::into_error)?;
        task.spawn(target.follow_oneshots(armed, hint));
        Ok(Guard::new(task))
    }
}

/// What a watch is on. It does not keep the session alive.
struct Target {
    shared: Weak<Shared>,
    /// The session of which it is.
    session: Option<i64>,
    path: String,
    depth: Depth,
}

impl Target {
    async fn follow_persistent(self, mut watcher: PersistentWatcher, hint: Hint) {
        loop {
            let event = watcher.changed().await;
            if event.event_type == EventType::Session {
                if event.session_state.is_terminated() {
                    return;
                }
                if event.session_state != SessionState::SyncConnected {
                    continue;
                }
                // The old watcher is dropped only when there is a new one: then the crate takes nothing back.
                watcher = loop {
                    let Some(shared) = self.shared() else {
                        return;
                    };
                    match self.persistent(&shared).await {
                        Ok(watcher) => break watcher,
                        Err(failure) if failure.why == Why::Unknown => return,
                        Err(_) => drop(shared),
                    }
                    tokio::time::sleep(RETRY).await;
                };
            }
            hint.give();
        }
    }

    async fn follow_oneshots(self, mut armed: Armed, hint: Hint) {
        while let Some(event) = armed.next().await {
            if event.event_type == EventType::Session {
                return;
            }
            loop {
                let Some(shared) = self.shared() else {
                    return;
                };
                if self
                    .arm_again(&shared, &mut armed, &event.path)
                    .await
                    .is_ok()
                {
                    break;
                }
                drop(shared);
                tokio::time::sleep(RETRY).await;
            }
            hint.give();
        }
    }

    /// Nothing once the session is over.
    fn shared(&self) -> Option<Arc<Shared>> {
        let shared = self.shared.upgrade()?;
        let is_over = {
            let state = shared.state.lock();
            state.closed || state.sessions.last().copied() != self.session
        };
        (!is_over).then_some(shared)
    }

    async fn persistent(&self, shared: &Shared) -> Result<PersistentWatcher, Failure> {
        let mode = match self.depth {
            Depth::Node => AddWatchMode::Persistent,
            Depth::Children => AddWatchMode::PersistentRecursive,
        };
        shared
            .request("watch", &self.path, |client, path| async move {
                client.watch(&path, mode).await
            })
            .await
    }

    /// Sets the watches on the node, and on children that have none yet.
    async fn arm(&self, shared: &Shared, armed: &mut Armed) -> Result<(), Failure> {
        armed.node.clear();
        let (stat, watcher) = shared
            .request("watch", &self.path, |client, path| async move {
                client.check_and_watch_stat(&path).await
            })
            .await?;
        armed.node.push(Box::pin(watcher.changed()));
        if stat.is_none() {
            return Ok(());
        }
        let listed = shared
            .request("watch", &self.path, |client, path| async move {
                client.list_and_watch_children(&path).await
            })
            .await;
        let names = match listed {
            Ok((names, watcher)) => {
                armed.node.push(Box::pin(watcher.changed()));
                names
            }
            // The first watch hears of it.
            Err(failure) if failure.why == Why::Absent => return Ok(()),
            Err(failure) => return Err(failure),
        };
        if self.depth == Depth::Children {
            let fresh: Vec<_> = names
                .iter()
                .filter(|name| !says_all(name))
                .map(|name| join(&self.path, name))
                .filter(|path| !armed.watched.contains(path))
                .collect();
            let arming = fresh.iter().map(|path| arm_child(shared, path));
            for (path, watcher) in fresh.iter().zip(join_all(arming).await) {
                armed.take_child(path, watcher?);
            }
        }
        Ok(())
    }

    /// Sets again the watch that went off at `path`.
    async fn arm_again(
        &self,
        shared: &Shared,
        armed: &mut Armed,
        path: &str,
    ) -> Result<(), Failure> {
        if path == self.path {
            return self.arm(shared, armed).await;
        }
        let watcher = arm_child(shared, path).await?;
        armed.take_child(path, watcher);
        Ok(())
    }
}

/// Watches that go off once.
#[derive(Default)]
struct Armed {
    node: FuturesUnordered<BoxFuture<'static, WatchedEvent>>,
    children: FuturesUnordered<BoxFuture<'static, WatchedEvent>>,
    /// The children that have one.
    watched: HashSet<String>,
}

impl Armed {
    async fn next(&mut self) -> Option<WatchedEvent> {
        tokio::select! {
            Some(event) = self.node.next() => Some(event),
            Some(event) = self.children.next() => Some(event),
            else => None,
        }
    }

    fn take_child(&mut self, path: &str, watcher: Option<OneshotWatcher>) {
        match watcher {
            Some(watcher) => {
                self.watched.insert(path.to_owned());
                self.children.push(Box::pin(watcher.changed()));
            }
            None => {
                self.watched.remove(path);
            }
        }
    }
}

/// Watches the data of a child; nothing when it has gone.
async fn arm_child(shared: &Shared, path: &str) -> Result<Option<OneshotWatcher>, Failure> {
    let armed = shared
        .request("watch", path, |client, path| async move {
            client.get_and_watch_data(&path).await
        })
        .await;
    match armed {
        Ok((_, _, watcher)) => Ok(Some(watcher)),
        // One that we may not read can stay unwatched: nobody reads it.
        Err(failure) if matches!(failure.why, Why::Absent | Why::Refused) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// How long after a failure a watch is set again. The connection is there, or the session would be over.
const RETRY: Duration = Duration::from_millis(100);
