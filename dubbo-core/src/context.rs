//! What a handler knows about the call it serves, and what it can tell the caller beside its answer.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    attachments::{AttachmentValue, Attachments},
    invocation::{Invocation, Peer},
    service::{MethodRef, ServiceKey},
};

/// The call being served. Cheap to clone; keep one to set headers and trailers from inside a stream.
#[derive(Debug, Clone)]
pub struct CallContext {
    service: Arc<ServiceKey>,
    method: MethodRef,
    peer: Option<Arc<Peer>>,
    deadline: Option<Instant>,
    reply: ReplyContext,
    attachments: Option<Arc<Attachments>>,
}

impl CallContext {
    /// The context of `invocation`.
    pub fn of(invocation: &Invocation) -> Self {
        Self {
            service: Arc::clone(&invocation.service),
            method: invocation.method.clone(),
            peer: invocation.peer.clone(),
            deadline: invocation.deadline,
            reply: invocation.reply.clone().unwrap_or_default(),
            attachments: None,
        }
    }

    /// For [`Request`](crate::request::Request): the context of a handler that takes no request.
    pub(crate) fn with_attachments(mut self, attachments: Attachments) -> Self {
        self.attachments = Some(Arc::new(attachments));
        self
    }

    /// The service key that the caller asked for.
    pub fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// The method being served.
    pub fn method(&self) -> &MethodRef {
        &self.method
    }

    /// The caller's address; `None` for a call within the process.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.peer.as_ref().map(|peer| peer.remote)
    }

    /// When the caller stops waiting. The handler is dropped then. Hand it on with
    /// [`Call::within`](crate::call::Call::within).
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// What the caller sent beside the arguments, for handlers that take a context and no request. A
    /// [`Request`](crate::request::Request) has its attachments itself, and none are here.
    pub fn attachments(&self) -> &Attachments {
        static NONE: Attachments = Attachments::new();
        self.attachments.as_deref().unwrap_or(&NONE)
    }

    /// Where response headers and trailers go.
    pub fn reply(&self) -> &ReplyContext {
        &self.reply
    }
}

/// The response headers and trailers of one call.
#[derive(Debug, Clone, Default)]
pub struct ReplyContext(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    headers: Attachments,
    trailers: Attachments,
    headers_sent: bool,
}

impl ReplyContext {
    /// Adds a response header. The headers of a single response go out with it; those of a stream when the handler
    /// returns, and with the first message if that is ready by then.
    ///
    /// # Errors
    ///
    /// [`HeadersSent`] when they have gone out already.
    pub fn header(
        &self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) -> Result<(), HeadersSent> {
        let mut state = self.0.lock();
        if state.headers_sent {
            return Err(HeadersSent(()));
        }
        state.headers.append(name, value);
        Ok(())
    }

    /// Adds a trailer. Trailers go out with the status, after the last message, for errors too.
    pub fn trailer(
        &self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) {
        self.0.lock().trailers.append(name, value);
    }

    /// For transports: the headers, which are sent from now on.
    pub fn take_headers(&self) -> Attachments {
        let mut state = self.0.lock();
        state.headers_sent = true;
        std::mem::take(&mut state.headers)
    }

    /// For transports: the trailers.
    pub fn take_trailers(&self) -> Attachments {
        std::mem::take(&mut self.0.lock().trailers)
    }
}

/// A response header came too late: the headers have gone out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "response headers have been sent already; set them before the handler returns, or send a trailer"
)]
pub struct HeadersSent(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_after_the_first_message_is_refused_and_a_trailer_is_not() {
        let reply = ReplyContext::default();
        reply.header("x-a", "1").expect("in time");
        assert_eq!(reply.take_headers().get("x-a"), Some("1"));
        assert!(reply.header("x-b", "2").is_err());
        reply.trailer("x-c", "3");
        assert_eq!(reply.take_trailers().get("x-c"), Some("3"));
    }
}
