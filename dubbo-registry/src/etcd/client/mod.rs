//! The client of an etcd cluster: requests with a time limit on a connection that is made again, with another member if
//! need be, and a lease that is kept alive.
//!
//! It speaks etcd's gRPC API itself: the few messages are in [`messages`], and tonic, which this folder alone names,
//! carries them.

mod failure;
mod keys;
mod link;
mod messages;
mod options;
mod session;
#[cfg(test)]
mod tests;
mod tls;
mod watches;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_core::registry::RegistryError;
use parking_lot::Mutex;
use prost::Message;
use tokio::{runtime::Handle, sync::watch, task::JoinSet, time::timeout};

use self::{
    keys::{after, below, below_end, key, name_of},
    link::{Dial, method},
    messages::{
        Aspect, Compare, DeleteRangeRequest, DeleteRangeResponse, LeaseRevokeRequest,
        LeaseRevokeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, Request,
        Response, TxnRequest, TxnResponse,
    },
    session::Shared,
    watches::Range,
};
use crate::backend::{Guard, Hint, Session};

pub(super) use options::Options;

/// The connection to a cluster. It is made when somebody first asks for something.
pub(super) struct Connection {
    shared: Arc<Shared>,
    /// Keeps a session; `None` before it starts. Ends when it is dropped.
    driver: Mutex<Option<JoinSet<()>>>,
}

/// What stands under a key.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) value: Bytes,
    /// Of the last change of this key, among all changes of the cluster.
    pub(super) revision: i64,
}

/// Which changes below a path are heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// All.
    Values,
    /// Keys that come and go.
    Names,
}

/// What showing something came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// It was there as it should be.
    Before,
    /// It was there in another way, or somebody else's.
    Changed,
    /// It is new.
    New,
}

impl Connection {
    pub(super) fn new(options: Options) -> Self {
        Self::over(options, link::dial())
    }

    fn over(options: Options, dial: Dial) -> Self {
        Self {
            shared: Arc::new(Shared::new(options, dial)),
            driver: Mutex::new(None),
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.shared.address
    }

    /// How long a request may take.
    pub(super) fn limit(&self) -> Duration {
        self.shared.options.timeout
    }

    /// The session, as it changes.
    pub(super) fn session(&self) -> watch::Receiver<Session> {
        self.start();
        self.shared.session.subscribe()
    }

    /// What stands at `path`.
    pub(super) async fn get(&self, path: &str) -> Result<Option<Item>, RegistryError> {
        let question = RangeRequest {
            key: key(path),
            ..RangeRequest::default()
        };
        let answer: RangeResponse = self.ask("read", path, method::RANGE, question).await?;
        Ok(answer.kvs.into_iter().next().map(|found| Item {
            revision: found.mod_revision,
            value: found.value,
        }))
    }

    /// What stands right below `path`, by name, in order.
    ///
    /// Pages are not of one state, and need not be: what is there all the time is on one of them, and for the rest there
    /// are watches.
    pub(super) async fn list(&self, path: &str) -> Result<Vec<(String, Bytes)>, RegistryError> {
        let (first, end) = below(path);
        let mut found = Vec::new();
        let mut next = Some(first.clone());
        while let Some(start) = next {
            let page = self.page(path, &start, &end, Page::Whole).await?;
            let last = page.kvs.last().filter(|_| page.more);
            // A member that turns in circles is not followed.
            next = last
                .map(|last| after(&last.key))
                .filter(|next| *next > start);
            for item in page.kvs {
                let name = name_of(&item, &first).filter(|name| !name.contains('/'));
                if let Some(name) = name {
                    found.push((name.to_owned(), item.value));
                }
            }
        }
        Ok(found)
    }

    /// The names right below `path`, in order: of keys, and of what has keys below it.
    pub(super) async fn names(&self, path: &str) -> Result<Vec<String>, RegistryError> {
        let (first, end) = below(path);
        let mut names: Vec<String> = Vec::new();
        let mut next = Some(first.clone());
        while let Some(start) = next {
            let page = self.page(path, &start, &end, Page::Names).await?;
            // What is below the last name is left out.
            let last = page.kvs.last().filter(|_| page.more);
            let then = last.map(|last| {
                let rest = last.key.get(first.len()..).unwrap_or_default();
                match rest.iter().position(|byte| *byte == b'/') {
                    Some(at) => below_end(&last.key[..first.len() + at]),
                    None => after(&last.key),
                }
            });
            next = then.filter(|next| *next > start);
            for item in &page.kvs {
                let name = name_of(item, &first).and_then(|name| name.split('/').next());
                if let Some(name) = name.filter(|name| !name.is_empty()) {
                    names.push(name.to_owned());
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Makes what stands at `path` this, for as long as the session.
    pub(super) async fn show(&self, path: &str, value: &[u8]) -> Result<Shown, RegistryError> {
        let lease = self.lease("show", path)?;
        let (key, value) = (key(path), Bytes::copy_from_slice(value));
        let question = TxnRequest {
            compare: vec![
                Compare::equal(&key, Aspect::Lease(lease)),
                Compare::equal(&key, Aspect::Value(value.clone())),
            ],
            success: Vec::new(),
            failure: vec![
                Request::Put(PutRequest {
                    key,
                    value,
                    lease,
                    prev_kv: true,
                })
                .into(),
            ],
        };
        let answer = self.decide("show", path, question).await?;
        let put = answer.responses.into_iter().next();
        Ok(match put.and_then(|put| put.response) {
            _ if answer.succeeded => Shown::Before,
            Some(Response::Put(put)) if put.prev_kv.is_none() => Shown::New,
            _ => Shown::Changed,
        })
    }

    /// Writes what stands at `path` once more, if it is ours.
    pub(super) async fn repeat(&self, path: &str, value: &[u8]) -> Result<(), RegistryError> {
        let lease = self.lease("show", path)?;
        let put = Request::Put(PutRequest {
            key: key(path),
            value: Bytes::copy_from_slice(value),
            lease,
            prev_kv: false,
        });
        self.if_ours("show", path, lease, put).await
    }

    /// Takes away what stands at `path`, if it is ours.
    pub(super) async fn hide(&self, path: &str) -> Result<(), RegistryError> {
        let lease = self.lease("hide", path)?;
        let delete = Request::Delete(DeleteRangeRequest { key: key(path) });
        self.if_ours("hide", path, lease, delete).await
    }

    /// Makes what stands at `path` this, to stay.
    pub(super) async fn put(&self, path: &str, value: &[u8]) -> Result<(), RegistryError> {
        let question = PutRequest {
            key: key(path),
            value: Bytes::copy_from_slice(value),
            ..PutRequest::default()
        };
        let _: PutResponse = self.ask("write", path, method::PUT, question).await?;
        Ok(())
    }

    /// As [`put`](Self::put), if what stands there still is of `revision`; 0 for nothing. Whether it was.
    pub(super) async fn put_if(
        &self,
        path: &str,
        value: &[u8],
        revision: i64,
    ) -> Result<bool, RegistryError> {
        let key = key(path);
        let question = TxnRequest {
            compare: vec![Compare::equal(&key, Aspect::ModRevision(revision))],
            success: vec![
                Request::Put(PutRequest {
                    key,
                    value: Bytes::copy_from_slice(value),
                    ..PutRequest::default()
                })
                .into(),
            ],
            failure: Vec::new(),
        };
        Ok(self.decide("write", path, question).await?.succeeded)
    }

    /// Takes away what stands at `path`, whosever it is.
    pub(super) async fn delete(&self, path: &str) -> Result<(), RegistryError> {
        let question = DeleteRangeRequest { key: key(path) };
        let _: DeleteRangeResponse = self.ask("delete", path, method::DELETE, question).await?;
        Ok(())
    }

    /// Gives hints of changes of the key `path`, as long as the guard lives.
    pub(super) async fn watch(&self, path: &str, hint: Hint) -> Result<Guard, RegistryError> {
        let range = Range {
            key: key(path),
            end: Bytes::new(),
            only_names: false,
        };
        self.watch_range(path, range, hint).await
    }

    /// Gives hints of changes below `path`, as long as the guard lives.
    pub(super) async fn watch_below(
        &self,
        path: &str,
        depth: Depth,
        hint: Hint,
    ) -> Result<Guard, RegistryError> {
        let (key, end) = below(path);
        let range = Range {
            key,
            end,
            only_names: depth == Depth::Names,
        };
        self.watch_range(path, range, hint).await
    }

    /// Ends the session, and with it what was shown.
    pub(super) async fn close(&self) {
        let (link, lease) = {
            let mut state = self.shared.state.lock();
            state.closed = true;
            (state.link.take(), state.lease.take())
        };
        let driver = self.driver.lock().take();
        if let Some(mut driver) = driver {
            driver.shutdown().await;
        }
        self.shared.watches.pause();
        let reason = "the registry was closed";
        self.shared
            .down(self.shared.error("connect", reason).refused());
        if let (Some(link), Some(id)) = (link, lease) {
            let revoking = link.ask(method::REVOKE, LeaseRevokeRequest { id });
            let revoked: Result<LeaseRevokeResponse, _> = self.shared.in_time(revoking).await;
            if let Err(status) = revoked {
                let (address, reason) = (self.address(), status.message());
                tracing::debug!(address, reason, "the lease was not taken back; it runs out");
            }
        }
    }

    fn start(&self) {
        let mut driver = self.driver.lock();
        if driver.is_some() || self.shared.state.lock().closed {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let mut task = JoinSet::new();
            task.spawn_on(session::drive(Arc::clone(&self.shared)), &runtime);
            *driver = Some(task);
        }
    }

    async fn watch_range(
        &self,
        path: &str,
        range: Range,
        hint: Hint,
    ) -> Result<Guard, RegistryError> {
        let limit = self.limit();
        let (watched, armed) = self.shared.watches.watch(range, hint);
        let error = |reason: String| self.shared.error(&format!("watch {path}"), reason);
        match timeout(limit, armed).await {
            Ok(Ok(Ok(()))) => Ok(Guard::new(watched)),
            Ok(Ok(Err(reason))) => Err(error(reason).refused()),
            Ok(Err(_)) => Err(error("the watch was given up".to_owned())),
            Err(_) => {
                self.shared.doubt.notify_one();
                Err(error(format!("no answer within {limit:?}")))
            }
        }
    }

    async fn page(
        &self,
        path: &str,
        key: &Bytes,
        end: &Bytes,
        page: Page,
    ) -> Result<RangeResponse, RegistryError> {
        let question = RangeRequest {
            key: key.clone(),
            range_end: end.clone(),
            limit: page as i64,
            keys_only: page == Page::Names,
        };
        self.ask("list", path, method::RANGE, question).await
    }

    async fn if_ours(
        &self,
        verb: &str,
        path: &str,
        lease: i64,
        request: Request,
    ) -> Result<(), RegistryError> {
        let question = TxnRequest {
            compare: vec![Compare::equal(&key(path), Aspect::Lease(lease))],
            success: vec![request.into()],
            failure: Vec::new(),
        };
        self.decide(verb, path, question).await?;
        Ok(())
    }

    async fn decide(
        &self,
        verb: &str,
        path: &str,
        question: TxnRequest,
    ) -> Result<TxnResponse, RegistryError> {
        self.ask(verb, path, method::TXN, question).await
    }

    /// The lease of this session.
    fn lease(&self, verb: &str, path: &str) -> Result<i64, RegistryError> {
        let lease = self.shared.state.lock().lease;
        lease.ok_or_else(|| self.unreachable(verb, path))
    }

    async fn ask<Q, A>(
        &self,
        verb: &str,
        path: &str,
        method: &'static str,
        question: Q,
    ) -> Result<A, RegistryError>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.start();
        let link = self.shared.state.lock().link.clone();
        let link = link.ok_or_else(|| self.unreachable(verb, path))?;
        let answer = self.shared.in_time(link.ask(method, question)).await;
        answer.map_err(|status| {
            if failure::makes_doubt(&status) {
                self.shared.doubt.notify_one();
            }
            failure::of(format!("{verb} {path}"), self.address(), status)
        })
    }

    /// That nothing can be asked now.
    fn unreachable(&self, verb: &str, path: &str) -> RegistryError {
        let reason = match &*self.shared.session.borrow() {
            Session::Down(Some(error)) => format!("there is no connection: {}", error.reason),
            Session::Down(None) => "there is no connection yet".to_owned(),
            Session::Up { .. } => "the connection has just ended".to_owned(),
        };
        self.shared.error(&format!("{verb} {path}"), reason)
    }
}

/// How much is read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// Keys and values.
    Whole = 256,
    /// Keys alone.
    Names = 1024,
}
