//! Following one thing on a server: hints lead to reads, and a full read is the truth.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::RegistryError,
};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    doubt::Doubt,
    request::{self, Up},
};
use crate::backend::{Client, Guard, Hint, Session};

/// Something on a server that can be read and watched.
#[async_trait]
pub(crate) trait Source: Send + Sync + 'static {
    /// What is read.
    type State: PartialEq + Send + Sync + 'static;
    /// Whose it is.
    type Client: Client;

    fn client(&self) -> &Self::Client;

    /// What messages call it.
    fn name(&self) -> String;

    /// Whether there is nothing, which is not believed at once.
    fn is_empty(state: &Self::State) -> bool;

    /// `now`, with what of `before` is missing there; `None` if nothing is.
    fn with_missing(before: &Self::State, now: &Self::State) -> Option<Self::State>;

    /// Waits until reading makes sense in a new session.
    async fn ready(&self, session: u64);

    async fn watch(&self, hint: Hint) -> Result<Guard, RegistryError>;

    async fn read(&self) -> Result<Self::State, RegistryError>;
}

/// What is known of something that is followed.
#[derive(Debug, Clone)]
pub(crate) struct Seen<T> {
    /// What was read last. It stays when reading fails.
    pub(crate) last: Option<T>,
    /// Why nobody knows how it is now.
    pub(crate) error: Option<Arc<RegistryError>>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self {
            last: None,
            error: None,
        }
    }
}

/// Follows `source` until the client is gone or nobody lets it run any more.
pub(super) async fn follow<S: Source>(source: S, seen: watch::Sender<Seen<S::State>>) {
    let sessions = source.client().session();
    let hints = Arc::new(Notify::new());
    let mut follower = Follower {
        backoff: Backoff::new(BackoffPolicy::default()),
        up: None,
        doubt: Doubt::default(),
        guard: None,
        empty_since: None,
        source,
        sessions,
        hints,
        seen,
    };
    follower.run().await;
}

struct Follower<S: Source> {
    source: S,
    sessions: watch::Receiver<Session>,
    hints: Arc<Notify>,
    seen: watch::Sender<Seen<S::State>>,
    backoff: Backoff,
    up: Option<Up>,
    /// How long what is missing is not believed to have gone.
    doubt: Doubt,
    /// The watch, and the session it was armed in.
    guard: Option<(u64, Guard)>,
    /// When an empty state was read that is not believed yet.
    empty_since: Option<Instant>,
}

impl<S: Source> Follower<S> {
    async fn run(&mut self) {
        loop {
            let lost = Instant::now();
            let up = request::up(&mut self.sessions, |state| {
                if let Session::Down(Some(error)) = state {
                    fail(&self.seen, error);
                }
            });
            let Some(up) = up.await else {
                return;
            };
            if self.up != Some(up) {
                self.up = Some(up);
                self.doubt.begin(lost, request::grace(self.source.client()));
                self.empty_since = None;
            }
            let sessions = self.sessions.clone();
            let Some(looked) = request::while_up(&sessions, up, self.look(up)).await else {
                continue;
            };
            match looked {
                Ok(state) => {
                    self.backoff.reset();
                    let wait = self.take(state);
                    self.rest(wait).await;
                }
                Err(error) => {
                    tracing::debug!(%error, what = self.source.name(), "cannot be followed now");
                    self.empty_since = None;
                    fail(&self.seen, &Arc::new(error));
                    self.recover().await;
                }
            }
        }
    }

    /// Reads once, and arms the watch before if it has to be.
    async fn look(&mut self, up: Up) -> Result<S::State, RegistryError> {
        if self.guard.as_ref().map(|(session, _)| *session) != Some(up.session) {
            self.guard = None;
            // Late hints of the session before lead nowhere.
            self.hints = Arc::default();
            self.source.ready(up.session).await;
            let armed = self.source.watch(Hint(Arc::clone(&self.hints)));
            let what = || format!("watch {}", self.source.name());
            let guard = request::within(self.source.client(), what, armed).await?;
            self.guard = Some((up.session, guard));
        }
        let what = || format!("read {}", self.source.name());
        request::within(self.source.client(), what, self.source.read()).await
    }

    /// Shows what was read, but for what is missing and may be coming back, and an empty state that may not last; how long
    /// to wait until the next look.
    fn take(&mut self, state: S::State) -> Duration {
        let now = Instant::now();
        let timing = self.source.client().timing();
        let mut believed = self.doubt.end();
        if S::is_empty(&state) {
            let first = *self.empty_since.get_or_insert(now);
            believed = believed.max(first + timing.confirm_empty);
        } else {
            self.empty_since = None;
        }
        let poll = request::poll(self.source.client());
        let kept = match &self.seen.borrow().last {
            Some(before) if now < believed => S::with_missing(before, &state),
            _ => None,
        };
        let (shown, wait) = match kept {
            Some(kept) => (kept, poll.min(believed - now)),
            None => (state, poll),
        };
        self.seen.send_if_modified(|seen| {
            let is_news = seen.error.take().is_some() || seen.last.as_ref() != Some(&shown);
            seen.last = Some(shown);
            is_news
        });
        wait
    }

    /// Waits for a reason to look again.
    async fn rest(&mut self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.hints.notified() => {}
            _ = self.sessions.changed() => {}
        }
    }

    /// Waits after a failure. A hint is no reason to ask sooner: a server in trouble may give many.
    async fn recover(&mut self) {
        tokio::select! {
            () = tokio::time::sleep(self.backoff.next_wait()) => {}
            _ = self.sessions.changed() => {}
        }
    }
}

/// Shows a failure, once for each text.
fn fail<T>(seen: &watch::Sender<Seen<T>>, error: &Arc<RegistryError>) {
    seen.send_if_modified(|seen| {
        let text = error.to_string();
        let is_news = seen.error.as_ref().is_none_or(|e| e.to_string() != text);
        seen.error = Some(Arc::clone(error));
        is_news
    });
}
