//! One request to a server: when it can be made, and how long it may take.

use std::time::Duration;

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::RegistryError,
};
use tokio::sync::watch;

use crate::backend::{Client, Session};

/// Makes one request within the time limit of the client.
pub(crate) async fn within<C: Client + ?Sized, T>(
    client: &C,
    operation: impl FnOnce() -> String,
    request: impl Future<Output = Result<T, RegistryError>>,
) -> Result<T, RegistryError> {
    let limit = client.timing().limit;
    let answer = tokio::time::timeout(limit, request).await;
    answer.unwrap_or_else(|_| {
        let reason = format!("no answer within {limit:?}");
        Err(RegistryError::new(operation(), client.address(), reason))
    })
}

/// Does `work` as long as the session is as `up` says; `None` once it is not. What was asked over a connection that is
/// gone needs no answer, and what has to be done again is done at once. Work that was cut off may have been done.
pub(crate) async fn while_up<T>(
    sessions: &watch::Receiver<Session>,
    up: Up,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut changes = sessions.clone();
    let other = changes.wait_for(|session| Up::of(session) != Some(up));
    tokio::select! {
        // An answer that came at the same time may be of a session in which not everybody has come back.
        done = work => Some(done).filter(|_| Up::now(sessions) == Some(up)),
        _ = other => None,
    }
}

/// A session and a connection of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Up {
    pub(crate) session: u64,
    pub(crate) connection: u64,
}

impl Up {
    /// What `session` says.
    fn of(session: &Session) -> Option<Self> {
        match *session {
            Session::Up {
                session,
                connection,
            } => Some(Self {
                session,
                connection,
            }),
            Session::Down(_) => None,
        }
    }

    /// What `sessions` says now.
    pub(crate) fn now(sessions: &watch::Receiver<Session>) -> Option<Self> {
        Self::of(&sessions.borrow())
    }
}

/// Waits until the session is up, and tells `down` of each failure until then; `None` once the client is gone.
pub(crate) async fn up(
    sessions: &mut watch::Receiver<Session>,
    mut down: impl FnMut(&Session),
) -> Option<Up> {
    loop {
        // A session that can change no more, up or not, is over; whoever waited for its change would not wait at all.
        sessions.has_changed().ok()?;
        let state = sessions.borrow_and_update().clone();
        if let Some(up) = Up::of(&state) {
            return Some(up);
        }
        down(&state);
        sessions.changed().await.ok()?;
    }
}

/// How long to wait until the next unasked look, a little more or less so that not all clients come at once.
pub(crate) fn poll<C: Client + ?Sized>(client: &C) -> Duration {
    let wanted = client.users().poll();
    let poll = wanted.unwrap_or_else(|| client.timing().poll);
    let policy = BackoffPolicy {
        initial: poll,
        max: poll,
        multiplier: 1.0,
        jitter: 0.2,
    };
    Backoff::new(policy).next_wait()
}

/// How long after an outage what is missing is kept.
pub(crate) fn grace<C: Client + ?Sized>(client: &C) -> Duration {
    let wanted = client.users().grace();
    wanted.unwrap_or_else(|| client.timing().grace)
}

/// Waits until the server is reached, or its client says that it cannot be.
pub(crate) async fn reached<C: Client + ?Sized>(client: &C) -> Result<(), RegistryError> {
    let mut sessions = client.session();
    loop {
        match &*sessions.borrow_and_update() {
            Session::Up { .. } => return Ok(()),
            Session::Down(Some(error)) => return Err(super::copy(error)),
            Session::Down(None) => {}
        }
        if sessions.changed().await.is_err() {
            return Err(super::closed("ask", client.address()));
        }
    }
}
