//! The consumer's end of Triple: one reference to one provider.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use dubbo_core::{
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker,
    status::Status,
    url::Url,
};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

use super::{
    connection::Http2,
    exchange::{Outgoing, Terms},
    failure::Failure,
    replies::Keep,
};
use crate::endpoint::{Counted, Deadline, Endpoint, Place};

/// Calls the methods of one service at one address.
#[derive(Debug)]
pub(super) struct TripleInvoker {
    pub(super) url: Url,
    pub(super) address: Arc<str>,
    pub(super) terms: Terms,
    /// `None` once it is closed.
    pub(super) endpoint: ArcSwapOption<Endpoint<Http2>>,
    pub(super) calls: Arc<AtomicUsize>,
    /// The tasks that send what is left of a request after its reply has begun.
    pub(super) uploads: TaskTracker,
}

#[async_trait]
impl Invoker for TripleInvoker {
    fn url(&self) -> &Url {
        &self.url
    }

    fn is_available(&self) -> bool {
        self.endpoint
            .load()
            .as_ref()
            .is_some_and(|endpoint| endpoint.is_available())
    }

    fn why_unavailable(&self) -> Option<String> {
        match &*self.endpoint.load() {
            Some(endpoint) => endpoint.why_unavailable(),
            None => Some(format!("the reference to {} has been closed", self.address)),
        }
    }

    fn in_flight(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let place = Place {
            method: invocation.method.clone(),
            address: Arc::clone(&self.address),
        };
        check_request(&invocation).map_err(|status| place.name(status))?;
        let now = Instant::now();
        let deadline = invocation
            .attempt_deadline(now)
            .map(|at| Deadline::new(now, at));
        let sent = AtomicBool::new(false);
        let mut call = Outgoing {
            service: invocation.service,
            place,
            attachments: invocation.attachments,
            request: invocation.body.into(),
            deadline,
        };
        let Some(deadline) = deadline else {
            return self.carry(&mut call, &sent).await;
        };
        if deadline.after.is_zero() {
            return Err(call.place.name(deadline.expired(false)));
        }
        match timeout_at(deadline.at, self.carry(&mut call, &sent)).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(status)) => Err(deadline.or_late(status, &call.place)),
            Err(_) => {
                let status = deadline.expired(sent.load(Ordering::Relaxed));
                Err(call.place.name(status))
            }
        }
    }

    /// Calls that are under way go on.
    async fn close(&self) {
        self.endpoint.store(None);
    }
}

impl TripleInvoker {
    /// Sends `call`, and sends it again where it certainly was not taken.
    async fn carry(&self, call: &mut Outgoing, sent: &AtomicBool) -> RpcResult {
        let Some(endpoint) = self.endpoint.load_full() else {
            let closed = Status::unavailable("the reference has been closed").not_processed();
            return Err(call.place.name(closed));
        };
        let _counted = Counted::one_more(&self.calls);
        // Each connection may turn out to be closing, and so may some of those that come after them.
        let mut moves_left = endpoint.size() + MOVES_MORE;
        let mut repeats_left = 1;
        loop {
            let connection = endpoint.connection().await;
            let connection = connection.map_err(|status| call.place.name(status))?;
            let counted = connection.begin_call();
            let (place, deadline) = (call.place.clone(), call.deadline);
            let keep = || Keep {
                place,
                rules: self.terms.rules.clone(),
                deadline,
                uploads: self.uploads.clone(),
                counted: [counted, Counted::one_more(&self.calls)],
            };
            let (left, status) = match call.send(&self.terms, &connection, sent, keep).await {
                Ok(reply) => return Ok(reply),
                Err(Failure::Final(status)) => return Err(status),
                Err(Failure::ConnectionGone(status)) => (&mut moves_left, status),
                Err(Failure::Refused(status)) => (&mut repeats_left, status),
            };
            if *left == 0 || !call.is_whole() {
                return Err(status);
            }
            *left -= 1;
            sent.store(false, Ordering::Relaxed);
            tracing::debug!(call = %call.place, %status, "sending the call again");
        }
    }
}

/// Whether the body has the form that the method takes.
fn check_request(invocation: &Invocation) -> Result<(), Status> {
    match (
        &invocation.body,
        invocation.method.kind().streams_requests(),
    ) {
        (Body::Stream(_), true) | (Body::Unary(_), false) => Ok(()),
        (Body::Stream(_), false) => Err(Status::internal("it takes one request, not a stream")),
        (Body::Unary(_), true) => Err(Status::internal("it takes a stream of requests")),
    }
}

/// How often a call follows a peer that replaces its connections faster than it serves them. Moving does no harm, but a
/// peer that takes connections and leaves out every call must not hold a caller for ever.
const MOVES_MORE: usize = 4;
