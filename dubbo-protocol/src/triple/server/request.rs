//! The messages of a request, pulled from its body.

use std::{
    error::Error,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::{
    payload::{Codec, Payload, Rules},
    service::MethodRef,
    status::{Origin, Status},
};
use futures_core::Stream;
use http_body::Body as _;

use super::{
    budget::{Budget, Share},
    rest::{RequestBody, Unread},
    web::BadText,
};
use crate::triple::{form::streamed_request, frame::FrameDecoder, status_wire::from_reset};

/// A request body as a stream of messages. It reads on only when it is asked for the next one, so a caller that sends
/// faster than the handler takes is held back by HTTP/2's flow control.
#[derive(Debug)]
pub(super) struct Messages<B: RequestBody> {
    body: Unread<B>,
    decoder: FrameDecoder,
    method: MethodRef,
    codec: Codec,
    rules: Rules,
    /// What waits in memory for more to come.
    share: Share,
    /// Of that, a message that is whole and waits for the end.
    whole: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The body may have more.
    Open,
    /// The body has ended; whole messages may be left in the decoder.
    Ended,
    /// The last item has been given.
    Over,
}

impl<B: RequestBody> Messages<B> {
    pub(super) fn new(
        body: B,
        decoder: FrameDecoder,
        method: MethodRef,
        codec: Codec,
        rules: Rules,
        budget: Arc<Budget>,
    ) -> Self {
        Self {
            body: Unread::new(body),
            decoder,
            method,
            codec,
            rules,
            share: Share::of(budget),
            whole: 0,
            state: State::Open,
        }
    }

    /// The one message of a call that takes one, once the caller has said that there are no more.
    ///
    /// # Errors
    ///
    /// Code 12 when there is none or a second one, as gRPC has it: the method takes exactly one. And whatever is wrong with
    /// the stream.
    pub(super) async fn only(&mut self) -> Result<Bytes, Status> {
        let first = std::future::poll_fn(|cx| self.poll_message(cx)).await;
        let message = first.unwrap_or_else(|| {
            Err(Status::unimplemented(
                "the request ended without a message, and the method takes one; \
                 an empty message still has five bytes before it",
            ))
        })?;
        self.whole = message.len();
        match std::future::poll_fn(|cx| self.poll_message(cx)).await {
            None => Ok(message),
            Some(Ok(_)) => Err(Status::unimplemented(
                "the request has more than one message, and the method takes one",
            )),
            Some(Err(status)) => Err(status),
        }
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        let item = match self.poll_next_or_end(cx) {
            Poll::Ready(item) => item,
            Poll::Pending => match self.share.set(self.whole + self.decoder.pending()) {
                Ok(()) => return Poll::Pending,
                Err(status) => Some(Err(status)),
            },
        };
        if !matches!(item, Some(Ok(_))) {
            self.state = State::Over;
        }
        Poll::Ready(item)
    }

    fn poll_next_or_end(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        if self.state == State::Over {
            return Poll::Ready(None);
        }
        loop {
            match self.decoder.next() {
                Ok(None) => {}
                message => return Poll::Ready(message.transpose()),
            }
            if self.state == State::Ended {
                return Poll::Ready(self.decoder.finish().err().map(Err));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // Request trailers say nothing in this protocol.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.decoder.push(data);
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(broken_off(error)))),
                None => self.state = State::Ended,
            }
        }
    }
}

impl<B: RequestBody> Stream for Messages<B> {
    type Item = Result<Payload, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.poll_message(cx));
        Poll::Ready(item.map(|message| {
            message.and_then(|bytes| streamed_request(&self.method, self.codec, bytes, &self.rules))
        }))
    }
}

/// A request that ended in any other way than its caller's word that it is complete.
pub(super) fn broken_off(error: impl Error + 'static) -> Status {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if let Some(reason) = inner
            .downcast_ref::<h2::Error>()
            .and_then(h2::Error::reason)
        {
            return from_reset(reason);
        }
        if let Some(bad) = inner.downcast_ref::<BadText>() {
            return Status::invalid_argument(bad.to_string()).with_origin(Origin::Transport);
        }
        if let Some(io) = inner.downcast_ref::<io::Error>()
            && let io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput = io.kind()
        {
            // It goes on, but not as it should: chunks that are none.
            return Status::invalid_argument(format!("the body cannot be read: {io}"))
                .with_origin(Origin::Transport);
        }
        cause = inner.source();
    }
    Status::canceled(format!("the connection to the caller broke: {error}"))
        .with_origin(Origin::Transport)
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, future::poll_fn};

    use dubbo_core::{
        service::{CallKind, MethodDescriptor, ServiceDescriptor},
        status::Code,
    };
    use http_body::{Body, Frame};

    use super::*;

    /// A body of these chunks, then the end or a reset.
    struct Chunks(VecDeque<&'static [u8]>, Option<h2::Reason>);

    impl Body for Chunks {
        type Data = Bytes;
        type Error = h2::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
            let frame = match self.0.pop_front() {
                Some(chunk) => Some(Ok(Frame::data(Bytes::from_static(chunk)))),
                None => self.1.take().map(|reason| Err(reason.into())),
            };
            Poll::Ready(frame)
        }
    }

    fn messages(chunks: &[&'static [u8]], reset: Option<h2::Reason>) -> Messages<Chunks> {
        let body = Chunks(chunks.iter().copied().collect(), reset);
        within(body, Budget::of(1 << 20))
    }

    fn method() -> MethodRef {
        let methods = vec![MethodDescriptor::new("M", CallKind::BidiStream)];
        MethodRef::new(Arc::new(ServiceDescriptor::new("x.S", methods)), 0)
    }

    fn within<B: RequestBody>(body: B, budget: Arc<Budget>) -> Messages<B> {
        let decoder = FrameDecoder::new(16, None);
        Messages::new(
            body,
            decoder,
            method(),
            Codec::Protobuf,
            Rules::NONE,
            budget,
        )
    }

    /// Bytes, and no end.
    struct Endless(Option<&'static [u8]>);

    impl Body for Endless {
        type Data = Bytes;
        type Error = h2::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
            match self.0.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(bytes))))),
                None => Poll::Pending,
            }
        }
    }

    async fn all(mut messages: Messages<Chunks>) -> Vec<Result<Bytes, Code>> {
        let mut items = Vec::new();
        while let Some(item) = poll_fn(|cx| messages.poll_message(cx)).await {
            items.push(item.map_err(|status| status.code()));
        }
        items
    }

    #[tokio::test]
    async fn one_message_is_taken_when_the_request_is_complete() {
        let chunks: &[&[u8]] = &[b"\0\0\0\0", b"\x02h", b"i", b""];
        let message = messages(chunks, None).only().await.expect("one");
        assert_eq!(message, "hi");
        for (chunks, reset, want) in [
            (&[][..], None, Code::Unimplemented),
            (&[&b"\0\0\0\0\0\0\0\0\0\0"[..]], None, Code::Unimplemented),
            (&[b"\0\0\0\0\x02h"], None, Code::InvalidArgument),
            (&[b"\0\0\0\0\0\0"], None, Code::InvalidArgument),
            (&[b"\0\0\0\0\0"], Some(h2::Reason::CANCEL), Code::Canceled),
        ] {
            let status = messages(chunks, reset).only().await.expect_err("refused");
            assert_eq!(status.code(), want, "{chunks:?}");
        }
    }

    #[tokio::test]
    async fn an_error_is_the_last_item() {
        let good = Ok(Bytes::from_static(b"a"));
        let reset = all(messages(&[b"\0\0\0\0\x01a"], Some(h2::Reason::CANCEL))).await;
        assert_eq!(reset, [good.clone(), Err(Code::Canceled)]);
        let flags = all(messages(&[b"\0\0\0\0\x01a\x02", b"\0\0\0\0", b"\0"], None)).await;
        assert_eq!(flags, [good, Err(Code::Internal)]);
    }

    #[tokio::test]
    async fn requests_without_an_end_are_refused_beyond_their_budget() {
        const PART: &[u8] = b"\0\0\0\0\x0812345";
        const WHOLE: &[u8] = b"\0\0\0\0\x0a1234567890";
        for (bytes, share) in [(PART, 5), (WHOLE, 10), (&PART[..3], 3)] {
            let budget = Budget::of(2 * share);
            let mut waiting = [(); 3].map(|()| within(Endless(Some(bytes)), Arc::clone(&budget)));
            let [first, second, third] = waiting.each_mut().map(Messages::only);
            let (mut first, mut second) = (std::pin::pin!(first), std::pin::pin!(second));
            assert!(
                futures_util::poll!(first.as_mut()).is_pending(),
                "{bytes:?}"
            );
            assert!(
                futures_util::poll!(second.as_mut()).is_pending(),
                "{bytes:?}"
            );
            let status = third.await.expect_err("one too many");
            assert_eq!(status.code(), Code::ResourceExhausted, "{bytes:?}");
        }
    }
}
