//! The consumer's end: one reference to one provider.

use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use dubbo_core::{
    attachments::Attachments,
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker,
    payload::{Payload, Rules},
    service::{CallKind, MethodRef},
    status::{Origin, Status},
    url::Url,
};
use tokio::time::{Instant, timeout_at};

use super::{
    answer::{Answer, nothing},
    connection::{Connection, Tcp},
    life::Pause,
    request::{Outgoing, Terms},
    table::Ending,
};
use crate::endpoint::{Deadline, Link as _, Place, Reference};

/// Calls the methods of one service at one address.
#[derive(Debug)]
pub(super) struct DubboInvoker {
    pub(super) reference: Reference<Tcp>,
    pub(super) terms: Terms,
    /// `payload`: how many bytes a response may have.
    pub(super) limit: usize,
    /// By which responses are read.
    pub(super) rules: Rules,
}

#[async_trait]
impl Invoker for DubboInvoker {
    fn url(&self) -> &Url {
        self.reference.url()
    }

    fn is_available(&self) -> bool {
        self.reference.is_available()
    }

    fn is_connecting(&self) -> bool {
        self.reference.is_connecting()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.reference.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.reference.in_flight()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let place = self.reference.place(&invocation.method);
        let now = Instant::now();
        let deadline = invocation
            .attempt_deadline(now)
            .map(|at| Deadline::new(now, at));
        let arguments =
            arguments(&invocation.method, invocation.body).map_err(|status| place.name(status))?;
        let call = Outgoing {
            one_way: is_one_way(&invocation.method, &invocation.attachments),
            service: invocation.service,
            method: invocation.method,
            attachments: invocation.attachments,
            arguments,
            until: deadline.map(|deadline| deadline.at),
        };
        let progress = Progress::default();
        let Some(deadline) = deadline else {
            return self.carry(&call, &place, &progress).await;
        };
        if deadline.after.is_zero() {
            return Err(place.name(deadline.expired(false)));
        }
        match timeout_at(deadline.at, self.carry(&call, &place, &progress)).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(status)) => Err(deadline.or_late(status, &place)),
            Err(_) => Err(place.name(progress.expired(deadline))),
        }
    }

    /// Calls that are under way go on.
    async fn close(&self) {
        self.reference.close();
    }
}

impl DubboInvoker {
    /// Sends `call`, and sends it again where nothing of it was written.
    async fn carry(&self, call: &Outgoing, place: &Place, progress: &Progress) -> RpcResult {
        let endpoint = self.reference.endpoint();
        let endpoint = endpoint.map_err(|status| place.name(status))?;
        let _counted = self.reference.count_call();
        // Each connection may turn out to be gone, and so may some of those that come after them.
        let mut moves_left = endpoint.size() + MOVES_MORE;
        loop {
            let connection = endpoint.connection().await;
            let connection = connection.map_err(|status| place.name(status))?;
            let failure = match self.exchange(call, &connection, place, progress).await {
                Ok(reply) => return reply,
                Err(failure) => failure,
            };
            let status = place.name(failure.into_status(&connection));
            if moves_left == 0 || !status.is_not_processed() {
                return Err(status);
            }
            moves_left -= 1;
            progress.note(NO_CONNECTION);
            tracing::debug!(call = %place, %status, "sending the call on another connection");
        }
    }

    /// Sends `call` on `connection` and waits for its end.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future takes the call out of the connection's table at once. The provider is not told: the protocol
    /// has no way to.
    async fn exchange(
        &self,
        call: &Outgoing,
        connection: &Connection,
        place: &Place,
        progress: &Progress,
    ) -> Result<RpcResult, Lost> {
        progress.note(CONNECTED);
        let entry = connection.table().enter().ok_or(Lost::NotSent)?;
        let id = entry.id();
        let frame = match self.terms.write(call, id) {
            Ok(frame) => frame,
            Err(status) => return Ok(Err(place.name(status))),
        };
        let outbox = connection.outbox();
        let room = outbox.room(frame.len()).await;
        let room = room.map_err(|_| Lost::NotSent)?;
        let one_way = call.one_way.then_some(id);
        let start = outbox
            .put(room, frame, one_way)
            .map_err(|_| Lost::NotSent)?;
        progress.note(SENT);
        match entry.await {
            Ending::Answer(_) if call.one_way => Ok(Ok(nothing())),
            Ending::Written => Ok(Ok(nothing())),
            Ending::Answer(received) => {
                let answer = Answer::read(received, self.limit, &self.rules, place);
                if answer.is_closing {
                    connection.pause_for(Pause::Closing);
                }
                Ok(answer.result)
            }
            Ending::Lost if outbox.has_begun(start) => Err(Lost::Sent),
            Ending::Lost => Err(Lost::NotSent),
        }
    }
}

/// How far a call has come.
#[derive(Debug, Default)]
struct Progress(AtomicU8);

impl Progress {
    fn note(&self, stage: u8) {
        self.0.store(stage, Ordering::Relaxed);
    }

    /// What the caller is told when time has run out.
    fn expired(&self, deadline: Deadline) -> Status {
        match self.0.load(Ordering::Relaxed) {
            NO_CONNECTION => deadline.expired(false),
            CONNECTED => Status::deadline_exceeded(format!(
                "the peer did not read the calls before this one within {:?}; nothing was sent",
                deadline.after
            ))
            .not_processed(),
            _ => deadline.expired(true),
        }
    }
}

/// How a call lost its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Before any of it was written.
    NotSent,
    /// Afterwards: the provider may have done it.
    Sent,
}

impl Lost {
    fn into_status(self, connection: &Connection) -> Status {
        let why = connection.reason().unwrap_or("it takes no more calls");
        let status = match self {
            Self::NotSent => {
                Status::unavailable(format!("the connection took no more calls: {why}"))
                    .not_processed()
            }
            Self::Sent => Status::unavailable(format!("the connection was lost: {why}")),
        };
        status.with_origin(Origin::Transport)
    }
}

/// The arguments, if the body has the form that the method takes and the protocol has.
fn arguments(method: &MethodRef, body: Body) -> Result<Payload, Status> {
    if method.descriptor().java.is_none() {
        return Err(Status::unimplemented(
            "the dubbo protocol carries methods of Java interfaces, and this one is of a proto file; use the protocol `tri`",
        ));
    }
    match (method.kind(), body) {
        (CallKind::Unary, Body::Unary(arguments)) => Ok(arguments),
        (CallKind::Unary, Body::Stream(_)) => {
            Err(Status::internal("it takes one request, not a stream"))
        }
        _ => Err(Status::unimplemented(
            "the dubbo protocol has no streams; use the protocol `tri`",
        )),
    }
}

/// Whether the caller waits for no answer: by the method, or as Java's callers say it for one call.
fn is_one_way(method: &MethodRef, attachments: &Attachments) -> bool {
    method.descriptor().one_way || attachments.get("return") == Some("false")
}

const NO_CONNECTION: u8 = 0;
const CONNECTED: u8 = 1;
const SENT: u8 = 2;

/// How often a call follows a peer that replaces its connections faster than it serves them.
const MOVES_MORE: usize = 4;
