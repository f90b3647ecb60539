//! The messages of one direction of a streaming call, as users see them.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use crate::{
    attachments::Attachments,
    invocation::{LateTrailers, PayloadStream},
    payload::{Adapter, CodecError, Payload},
    provider::Mapped,
    status::Status,
    stream::{self, Feed},
};

/// A stream of messages, received or to be sent.
///
/// It is a [`Stream`] of `Result<T, Status>`; [`message`](Self::message) reads one without any trait. Dropping a
/// received stream cancels the call.
pub struct Streaming<T> {
    items: Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>,
    trailers: LateTrailers,
}

impl<T> Streaming<T> {
    /// A stream to send. An `Err` ends the call with that status.
    pub fn new(items: impl Stream<Item = Result<T, Status>> + Send + 'static) -> Self {
        Self {
            items: Box::pin(items),
            trailers: LateTrailers::default(),
        }
    }

    /// The next message; `None` at the end.
    ///
    /// # Cancel safety
    ///
    /// Safe: no message is lost when the future is dropped.
    pub async fn message(&mut self) -> Result<Option<T>, Status> {
        std::future::poll_fn(|cx| self.items.as_mut().poll_next(cx))
            .await
            .transpose()
    }

    /// The trailers of a received stream, once it has ended.
    pub fn trailers(&self) -> Option<&Attachments> {
        self.trailers.get()
    }

    /// For the framework: the messages of a received body. `undecodable` says what one is that cannot be read.
    pub fn received<A>(
        body: PayloadStream,
        undecodable: impl Fn(CodecError) -> Status + Send + 'static,
    ) -> Self
    where
        A: Adapter<Message = T>,
        T: 'static,
    {
        let trailers = body.trailers();
        let decoded = Mapped::new(body, move |payload: Result<Payload, Status>| {
            payload?.decode::<A>().map(A::unwrap).map_err(&undecodable)
        });
        Self {
            items: Box::pin(decoded),
            trailers,
        }
    }
}

impl<T: Send + 'static> Streaming<T> {
    /// A stream to send, fed from elsewhere. `capacity` messages wait at most; then [`Sender::send`] does.
    pub fn channel(capacity: usize) -> (Sender<T>, Self) {
        let (feed, items) = stream::channel(capacity);
        (Sender(feed), Self::new(items))
    }
}

impl<T> Stream for Streaming<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for Streaming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming").finish_non_exhaustive()
    }
}

/// The feeding end of [`Streaming::channel`]. Dropping it ends the stream.
#[derive(Debug)]
pub struct Sender<T>(Feed<Result<T, Status>>);

impl<T> Sender<T> {
    /// Sends one message, when there is room for it.
    ///
    /// # Errors
    ///
    /// [`Closed`] when nobody reads any more: the call is over.
    ///
    /// # Cancel safety
    ///
    /// A dropped future has not sent the message.
    pub async fn send(&self, message: T) -> Result<(), Closed> {
        self.0.send(Ok(message)).await
    }

    /// Ends the call with `status`.
    ///
    /// # Errors
    ///
    /// [`Closed`] when the call is over already.
    pub async fn fail(&self, status: Status) -> Result<(), Closed> {
        self.0.send(Err(status)).await
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Nobody reads the stream any more: the call has ended or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call has ended; nobody reads the stream")]
pub struct Closed(());

impl Closed {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;
    use crate::{
        call::Stub,
        codegen::Proto,
        invocation::{Body, Invocation, Reply, RpcResult},
        invoker::Invoker,
        payload::Codec,
        provider::Service,
        request::{Request, Response},
        service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
        status::Code,
        url::Url,
    };

    type Text = Proto<String>;

    fn descriptor() -> Arc<ServiceDescriptor> {
        let methods = vec![MethodDescriptor::new("Talk", CallKind::BidiStream)];
        Arc::new(ServiceDescriptor::new("a.B", methods))
    }

    /// One message that is none.
    fn garbage() -> Body {
        let payload = Payload::encoded(Codec::Protobuf, Bytes::from_static(&[0xff]));
        Body::Stream(PayloadStream::new(stream::iter([Ok(payload)])))
    }

    #[tokio::test]
    async fn a_request_in_a_stream_that_cannot_be_read_is_the_callers_fault() {
        let service = Service::builder(descriptor(), "Talker")
            .bidi_stream::<Text, Text, _, _>(0, |request: Request<Streaming<String>>| async {
                Ok(Response::new(request.into_message()))
            })
            .build()
            .into_invoker(Url::new("tri", "h"));
        let method = descriptor().find("Talk").expect("is there");
        let key = Arc::new(ServiceKey::new("a.B"));
        let reply = service
            .invoke(Invocation::new(key, method, garbage()))
            .await;
        let Body::Stream(mut replies) = reply.expect("it has begun").body else {
            panic!("a stream");
        };
        let first = std::future::poll_fn(|cx| Pin::new(&mut replies).poll_next(cx)).await;
        let status = first.expect("one").expect_err("it cannot be read");
        assert_eq!(status.code(), Code::InvalidArgument);
        let text = status.message();
        assert!(
            text.starts_with("the request of a.B/Talk is not usable: "),
            "{text}"
        );
    }

    /// Answers with garbage.
    struct Broken(Url);

    #[async_trait]
    impl Invoker for Broken {
        fn url(&self) -> &Url {
            &self.0
        }

        async fn invoke(&self, _: Invocation) -> RpcResult {
            Ok(Reply::new(garbage()))
        }
    }

    #[tokio::test]
    async fn a_response_in_a_stream_that_cannot_be_read_is_told_with_its_method() {
        let invoker = Arc::new(Broken(Url::new("tri", "h")));
        let stub = Stub::new(invoker, ServiceKey::new("a.B"), descriptor());
        let response = stub.bidi_stream::<Text, Text>(0, stream::empty()).await;
        let mut replies = response.expect("it has begun").into_message();
        let status = replies.message().await.expect_err("it cannot be read");
        assert_eq!(status.code(), Code::Internal);
        let text = status.message();
        assert!(
            text.starts_with("the response of a.B/Talk cannot be used: "),
            "{text}"
        );
    }
}
