//! The consumer's end of Triple: one reference to one provider.

use std::sync::atomic::{AtomicBool, Ordering};

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
    carrier::Carrier,
    departure::Departure,
    dialect::TripleDialect,
    exchange::{Outgoing, Terms},
    failure::Failure,
    replies::Keep,
};
use crate::endpoint::{Deadline, Opener, Reference};

/// Calls the methods of one service at one address.
#[derive(Debug)]
pub(super) struct TripleInvoker<O: Opener> {
    pub(super) reference: Reference<O>,
    pub(super) terms: Terms,
    pub(super) departure: Departure,
    /// The tasks that send what is left of a request after its reply has begun.
    pub(super) uploads: TaskTracker,
}

#[async_trait]
impl<O: Opener<Link: Carrier>> Invoker for TripleInvoker<O> {
    fn url(&self) -> &Url {
        self.reference.url()
    }

    fn is_available(&self) -> bool {
        self.reference.is_available() && !self.departure.is_near()
    }

    fn is_connecting(&self) -> bool {
        self.reference.is_connecting()
    }

    fn why_unavailable(&self) -> Option<String> {
        let near = || self.departure.is_near().then(|| self.reference.closing());
        self.reference.why_unavailable().or_else(near)
    }

    fn in_flight(&self) -> usize {
        self.reference.in_flight()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let place = self.reference.place(&invocation.method);
        check_request(&invocation, self.terms.heads.manner.dialect)
            .map_err(|status| place.name(status))?;
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
        self.reference.close();
    }
}

impl<O: Opener<Link: Carrier>> TripleInvoker<O> {
    /// Sends `call`, and sends it again where it certainly was not taken.
    async fn carry(&self, call: &mut Outgoing, sent: &AtomicBool) -> RpcResult {
        let endpoint = self.reference.endpoint();
        let endpoint = endpoint.map_err(|status| call.place.name(status))?;
        let _counted = self.reference.count_call();
        // Each connection may turn out to be closing, and so may some of those that come after them.
        let mut moves_left = endpoint.size() + MOVES_MORE;
        let mut repeats_left = 1;
        loop {
            let connection = endpoint.connection().await;
            let connection = connection.map_err(|status| call.place.name(status))?;
            let counted = connection.life().begin_call();
            let (place, deadline) = (call.place.clone(), call.deadline);
            let keep = || Keep {
                place,
                codec: self.terms.heads.manner.codec,
                rules: self.terms.rules.clone(),
                deadline,
                uploads: self.uploads.clone(),
                counted: [counted, self.reference.count_call()],
            };
            let (left, status) = match connection.carry(call, &self.terms, sent, keep).await {
                Ok(reply) => return self.departure.hear(Ok(reply), &connection),
                Err(Failure::Final(status)) => {
                    return self.departure.hear(Err(status), &connection);
                }
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

/// Whether the body has the form that the method takes, and `dialect` can carry it.
fn check_request(invocation: &Invocation, dialect: TripleDialect) -> Result<(), Status> {
    let kind = invocation.method.kind();
    if !dialect.has(kind) {
        return Err(Status::unimplemented(format!(
            "nothing was sent: it is a stream, and `triple.dialect` is `{dialect}`, which has unary calls alone here; use \
             `grpc-web` or `grpc`"
        )));
    }
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
