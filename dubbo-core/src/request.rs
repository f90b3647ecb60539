//! What handlers and callers hold: a message and what travels beside it.

use std::borrow::Cow;

use futures_core::Stream;

use crate::{
    attachments::{AttachmentValue, Attachments},
    context::CallContext,
    status::Status,
    streaming::Streaming,
};

/// A message to a service, with its attachments.
///
/// Every message type turns into one, so a caller writes `client.greet(message)`, and
/// `client.greet(Request::new(message).attach("k", "v"))` when there is more to say.
#[derive(Debug)]
pub struct Request<T> {
    message: T,
    attachments: Attachments,
    context: Option<CallContext>,
}

impl<T> Request<T> {
    /// A request with `message` and nothing else.
    pub fn new(message: T) -> Self {
        Self {
            message,
            attachments: Attachments::new(),
            context: None,
        }
    }

    /// For the framework: a request as a handler gets it.
    pub fn received(message: T, attachments: Attachments, context: CallContext) -> Self {
        Self {
            message,
            attachments,
            context: Some(context),
        }
    }

    /// Adds an attachment.
    pub fn attach(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) -> Self {
        self.attachments.append(name, value);
        self
    }

    /// The message.
    pub fn message(&self) -> &T {
        &self.message
    }

    /// The message, to change it.
    pub fn message_mut(&mut self) -> &mut T {
        &mut self.message
    }

    /// The message alone.
    pub fn into_message(self) -> T {
        self.message
    }

    /// The message and the attachments.
    pub fn into_parts(self) -> (T, Attachments) {
        (self.message, self.attachments)
    }

    /// For generated code: the message, and the context with the attachments in it.
    ///
    /// # Panics
    ///
    /// As [`context`](Self::context).
    pub fn into_message_and_context(self) -> (T, CallContext) {
        let context = self.context().clone().with_attachments(self.attachments);
        (self.message, context)
    }

    /// What travels beside the message.
    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// The same, to write to.
    pub fn attachments_mut(&mut self) -> &mut Attachments {
        &mut self.attachments
    }

    /// In a handler: the call being served.
    ///
    /// # Panics
    ///
    /// On a request that a caller made: it is not being served.
    pub fn context(&self) -> &CallContext {
        self.context
            .as_ref()
            .expect("a request has a context in a handler only; this one was made by a caller")
    }
}

impl<T> From<T> for Request<T> {
    fn from(message: T) -> Self {
        Self::new(message)
    }
}

/// A service's answer: a message, headers before it and trailers after it.
#[derive(Debug)]
pub struct Response<T> {
    message: T,
    headers: Attachments,
    trailers: Attachments,
}

impl<T> Response<T> {
    /// A response with `message` and nothing else.
    pub fn new(message: T) -> Self {
        Self::with_parts(message, Attachments::new(), Attachments::new())
    }

    /// A response with everything.
    pub fn with_parts(message: T, headers: Attachments, trailers: Attachments) -> Self {
        Self {
            message,
            headers,
            trailers,
        }
    }

    /// Adds a header: it goes out before the message.
    pub fn header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Adds a trailer: it goes out after the message. Dubbo peers read their response attachments here.
    pub fn trailer(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) -> Self {
        self.trailers.append(name, value);
        self
    }

    /// The message.
    pub fn message(&self) -> &T {
        &self.message
    }

    /// The message alone.
    pub fn into_message(self) -> T {
        self.message
    }

    /// Message, headers, trailers.
    pub fn into_parts(self) -> (T, Attachments, Attachments) {
        (self.message, self.headers, self.trailers)
    }

    /// What came before the message.
    pub fn headers(&self) -> &Attachments {
        &self.headers
    }

    /// What came after the message. The trailers of a stream come with its end: [`Streaming::trailers`].
    pub fn trailers(&self) -> &Attachments {
        &self.trailers
    }

    /// The first text under `name` among trailers, then headers: Dubbo's response attachment.
    pub fn attachment(&self, name: &str) -> Option<&str> {
        self.trailers.get(name).or_else(|| self.headers.get(name))
    }

    /// The same response with another message.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Response<U> {
        Response::with_parts(to(self.message), self.headers, self.trailers)
    }
}

impl<T> Response<Streaming<T>> {
    /// A response that is a stream of messages.
    pub fn stream(items: impl Stream<Item = Result<T, Status>> + Send + 'static) -> Self {
        Self::new(Streaming::new(items))
    }
}

impl<T> From<T> for Response<T> {
    fn from(message: T) -> Self {
        Self::new(message)
    }
}
