//! One call on its way through filters, clusters and protocols, and what comes back.

use std::{
    fmt,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::Instant;

use crate::{
    attachments::Attachments,
    context::ReplyContext,
    payload::Payload,
    service::{MethodRef, ServiceKey},
    status::Status,
};

/// What an invoker answers.
pub type RpcResult = Result<Reply, Status>;

/// One call: which method of which service, with what, until when.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// The service as the caller names it: group and version choose among several exports of one interface.
    pub service: Arc<ServiceKey>,
    /// The method.
    pub method: MethodRef,
    /// What travels beside the message.
    pub attachments: Attachments,
    /// When the whole call must be done, however many attempts it takes; inherited from the call being served.
    pub deadline: Option<Instant>,
    /// How long one attempt may take. A cluster fills it from the configuration when the caller did not.
    pub timeout: Option<Duration>,
    /// On the provider side: who calls.
    pub peer: Option<Arc<Peer>>,
    /// On the provider side: where a handler puts response headers and trailers.
    pub reply: Option<ReplyContext>,
    /// Values of any type that filters hand to one another. They never leave the process.
    pub extensions: http::Extensions,
    /// The message, or the messages.
    pub body: Body,
}

impl Invocation {
    /// A call of `method` with `body` and nothing else.
    pub fn new(service: Arc<ServiceKey>, method: MethodRef, body: Body) -> Self {
        Self {
            service,
            method,
            attachments: Attachments::new(),
            deadline: None,
            timeout: None,
            peer: None,
            reply: None,
            extensions: http::Extensions::new(),
            body,
        }
    }

    /// A second call like this one, or `None` when the body is a stream, which cannot be sent twice.
    pub fn try_clone(&self) -> Option<Self> {
        let Body::Unary(payload) = &self.body else {
            return None;
        };
        Some(Self {
            service: Arc::clone(&self.service),
            method: self.method.clone(),
            attachments: self.attachments.clone(),
            deadline: self.deadline,
            timeout: self.timeout,
            peer: self.peer.clone(),
            reply: self.reply.clone(),
            extensions: self.extensions.clone(),
            body: Body::Unary(payload.clone()),
        })
    }

    /// When an attempt that starts at `now` must end: after [`timeout`](Self::timeout), and never after
    /// [`deadline`](Self::deadline).
    pub fn attempt_deadline(&self, now: Instant) -> Option<Instant> {
        let attempt = self.timeout.and_then(|timeout| now.checked_add(timeout));
        match (attempt, self.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// The two ends of the connection that a call came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The caller's address.
    pub remote: SocketAddr,
    /// The address it reached us at.
    pub local: SocketAddr,
}

impl Peer {
    /// The ends of one connection.
    pub fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { remote, local }
    }
}

/// A message, or a stream of them.
#[derive(Debug)]
pub enum Body {
    /// Many messages.
    Stream(PayloadStream),
    /// One message.
    Unary(Payload),
}

/// The messages of one direction of a streaming call.
///
/// Pulled, never pushed: the transport asks for the next message when the peer has room for it.
pub struct PayloadStream {
    items: Pin<Box<dyn Stream<Item = Result<Payload, Status>> + Send>>,
    trailers: LateTrailers,
}

impl PayloadStream {
    /// A stream without trailers.
    pub fn new(items: impl Stream<Item = Result<Payload, Status>> + Send + 'static) -> Self {
        Self::with_trailers(items, LateTrailers::default())
    }

    /// A stream whose trailers arrive with its end.
    pub fn with_trailers(
        items: impl Stream<Item = Result<Payload, Status>> + Send + 'static,
        trailers: LateTrailers,
    ) -> Self {
        Self {
            items: Box::pin(items),
            trailers,
        }
    }

    /// Where the trailers will be once the stream has ended.
    pub fn trailers(&self) -> LateTrailers {
        self.trailers.clone()
    }
}

impl Stream for PayloadStream {
    type Item = Result<Payload, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.as_mut().poll_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl fmt::Debug for PayloadStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadStream").finish_non_exhaustive()
    }
}

/// Trailers that are known only when a stream has ended. Set at most once.
#[derive(Debug, Clone, Default)]
pub struct LateTrailers(Option<Arc<OnceLock<Attachments>>>);

impl LateTrailers {
    /// A place for trailers that some transport will fill.
    pub fn expected() -> Self {
        Self(Some(Arc::default()))
    }

    /// Fills it. The first one counts.
    pub fn set(&self, trailers: Attachments) {
        if let Some(cell) = &self.0 {
            let _ = cell.set(trailers);
        }
    }

    /// The trailers, once there are any.
    pub fn get(&self) -> Option<&Attachments> {
        self.0.as_ref()?.get()
    }
}

/// What came back from a call that worked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reply {
    /// What came before the message.
    pub headers: Attachments,
    /// What came after it; for a stream, what is known before its end.
    pub trailers: Attachments,
    /// The message, or the messages.
    pub body: Body,
}

impl Reply {
    /// A reply with `body` and nothing else.
    pub fn new(body: Body) -> Self {
        Self {
            headers: Attachments::new(),
            trailers: Attachments::new(),
            body,
        }
    }
}
