//! What a suite is run on, and what can be done to the server behind it.

use std::{
    fmt,
    io::{self, Write as _},
    pin::Pin,
    process,
    sync::Arc,
    time::Duration,
};

/// Makes handles on one and the same server.
pub struct Subject<T: ?Sized> {
    handle: Box<Handle<T>>,
    pub(super) hooks: Hooks,
}

/// What a test may do to the server. What cannot be done has a reason, which is printed in place of a test.
#[derive(Debug)]
pub struct Hooks {
    /// Cuts the connections of all handles; they may connect again at once.
    pub drop_connections: Hook,
    /// Lets the server forget all handles: what they showed is gone, and they may connect again.
    pub expire: Hook,
    /// Ends the server and starts it again.
    pub restart: Hook,
    /// How many watches the server has.
    pub watches: Look,
    /// Whether the server compares when it writes.
    pub compares: Result<(), &'static str>,
    /// How long something may take that the server has to notice by itself, such as that a program is gone.
    pub patience: Duration,
}

/// Something that can be done to a server, or the reason why it cannot.
pub struct Hook(Result<Box<Action>, String>);

/// Something that can be seen of a server, or the reason why it cannot.
pub struct Look(Result<Box<dyn Fn() -> usize + Send + Sync>, String>);

type Handle<T> = dyn Fn(&str) -> Arc<T> + Send + Sync;

type Action = dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

impl<T: ?Sized> Subject<T> {
    /// `handle` makes a further handle in the group that it is given, as the parameter `group` of a registry's URL; none if
    /// that is empty. What is registered through one handle of a group is seen through all of that group.
    pub fn new(hooks: Hooks, handle: impl Fn(&str) -> Arc<T> + Send + Sync + 'static) -> Self {
        Self {
            handle: Box::new(handle),
            hooks,
        }
    }

    pub(super) fn handle(&self) -> Arc<T> {
        (self.handle)("")
    }

    pub(super) fn handle_in(&self, group: &str) -> Arc<T> {
        (self.handle)(group)
    }

    /// Waits until `event`, which the server may take its time for.
    pub(super) async fn soon<O>(&self, what: &str, event: impl Future<Output = O>) -> O {
        let patience = self.hooks.patience;
        let waited = tokio::time::timeout(patience, event).await;
        waited.unwrap_or_else(|_| panic!("waited {patience:?} in vain for {what}"))
    }

    /// The number of watches once it no longer changes; `None` if they cannot be counted, which was said then.
    pub(super) async fn settled(&self, test: &str) -> Option<usize> {
        let mut last = self.hooks.watches.now(test)?;
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = self.hooks.watches.now(test)?;
            if now == last {
                return Some(now);
            }
            last = now;
        }
    }

    /// Waits until there are as many watches as there were `before`.
    pub(super) async fn returns_to(&self, test: &str, before: usize) {
        self.soon("the end of the watches", async {
            while self.hooks.watches.now(test) != Some(before) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

impl<T: ?Sized> fmt::Debug for Subject<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}

impl Hooks {
    /// Of a server to which nothing can be done, for this reason.
    pub fn none(reason: &'static str) -> Self {
        Self {
            drop_connections: Hook::cannot(reason),
            expire: Hook::cannot(reason),
            restart: Hook::cannot(reason),
            watches: Look::cannot(reason),
            compares: Ok(()),
            patience: crate::PATIENCE,
        }
    }
}

impl Hook {
    /// Done by `action`, which returns when it is done.
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        action: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Ok(Box::new(move || Box::pin(action()))))
    }

    /// Cannot be done.
    pub fn cannot(reason: impl Into<String>) -> Self {
        Self(Err(reason.into()))
    }

    /// Does it; `false` if it cannot be done, which was said then.
    pub(super) async fn act(&self, what: &str) -> bool {
        match &self.0 {
            Ok(action) => action().await,
            Err(reason) => left_out(what, reason),
        }
        self.0.is_ok()
    }
}

impl Look {
    /// Seen by `look`.
    pub fn new(look: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        Self(Ok(Box::new(look)))
    }

    /// Cannot be seen.
    pub fn cannot(reason: impl Into<String>) -> Self {
        Self(Err(reason.into()))
    }

    /// What is seen; `None` if nothing can be, which was said then.
    pub(super) fn now(&self, what: &str) -> Option<usize> {
        match &self.0 {
            Ok(look) => Some(look()),
            Err(reason) => {
                left_out(what, reason);
                None
            }
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref().map_or_else(String::as_str, |_| "yes"))
    }
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref().map_or_else(String::as_str, |_| "yes"))
    }
}

/// Says what is not tested, past the harness, which would keep it to itself: nothing is left out in silence.
pub(super) fn left_out(what: &str, reason: &str) {
    // Whoever closed the standard error does not want to know.
    let _ = writeln!(io::stderr(), "left out: {what}: {reason}");
}

/// A name that no other run uses: a server may still know what an earlier one has left.
pub(super) fn own(name: &str) -> String {
    format!("suite.{name}.R{}", process::id())
}
