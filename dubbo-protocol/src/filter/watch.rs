//! When a call is over: with its answer, with the last message of a stream, or because nobody waits any more.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use dubbo_core::{
    invocation::{Body, PayloadStream, RpcResult},
    payload::Payload,
    status::Status,
};
use futures_core::Stream;

/// How a call ended.
pub(super) enum End<'e> {
    /// It worked.
    Done,
    /// It failed.
    Failed(&'e Status),
    /// Nobody waited for its end.
    GivenUp,
}

/// Is told once how a call ended, however it does. What it holds is released with it.
pub(super) struct Watch<F: FnOnce(End<'_>)>(Option<F>);

impl<F: FnOnce(End<'_>) + Send + Unpin + 'static> Watch<F> {
    pub(super) fn new(told: F) -> Self {
        Self(Some(told))
    }

    /// Hands `result` on. A reply that is a stream belongs to its call until it ends.
    pub(super) fn settle(mut self, result: RpcResult) -> RpcResult {
        match result {
            Err(status) => {
                self.end(End::Failed(&status));
                Err(status)
            }
            Ok(mut reply) => {
                match reply.body {
                    Body::Unary(_) => self.end(End::Done),
                    Body::Stream(stream) => {
                        let trailers = stream.trailers();
                        let watched = Watched {
                            stream,
                            watch: self,
                        };
                        reply.body = Body::Stream(PayloadStream::with_trailers(watched, trailers));
                    }
                }
                Ok(reply)
            }
        }
    }
}

impl<F: FnOnce(End<'_>)> Watch<F> {
    fn end(&mut self, end: End<'_>) {
        if let Some(told) = self.0.take() {
            told(end);
        }
    }
}

impl<F: FnOnce(End<'_>)> Drop for Watch<F> {
    fn drop(&mut self) {
        self.end(End::GivenUp);
    }
}

struct Watched<F: FnOnce(End<'_>)> {
    stream: PayloadStream,
    watch: Watch<F>,
}

impl<F: FnOnce(End<'_>) + Unpin> Stream for Watched<F> {
    type Item = Result<Payload, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.stream).poll_next(cx);
        match &next {
            Poll::Ready(None) => self.watch.end(End::Done),
            Poll::Ready(Some(Err(status))) => self.watch.end(End::Failed(status)),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::{invocation::Reply, payload::Codec, stream};
    use futures_util::StreamExt as _;
    use parking_lot::Mutex;

    use super::*;

    type Ends = Arc<Mutex<Vec<String>>>;

    fn watch() -> (Ends, Watch<impl FnOnce(End<'_>) + Unpin>) {
        let ends = Ends::default();
        let told = Arc::clone(&ends);
        let watch = Watch::new(move |end: End<'_>| {
            told.lock().push(match end {
                End::Done => "done".to_owned(),
                End::Failed(status) => status.message().to_owned(),
                End::GivenUp => "given up".to_owned(),
            });
        });
        (ends, watch)
    }

    fn payload() -> Payload {
        Payload::encoded(Codec::Protobuf, bytes::Bytes::new())
    }

    #[tokio::test]
    async fn a_call_ends_once_with_its_answer_or_its_last_message_or_its_callers_patience() {
        let (ends, one) = watch();
        let _ = one.settle(Ok(Reply::new(Body::Unary(payload()))));
        assert_eq!(*ends.lock(), ["done"]);
        let (ends, one) = watch();
        let _ = one.settle(Err(Status::internal("no")));
        assert_eq!(*ends.lock(), ["no"]);
        let (ends, one) = watch();
        drop(one);
        assert_eq!(*ends.lock(), ["given up"]);

        for (items, read, want) in [
            (vec![Ok(payload()), Ok(payload())], 3, "done"),
            (
                vec![Ok(payload()), Err(Status::internal("broke"))],
                3,
                "broke",
            ),
            (vec![Ok(payload()), Ok(payload())], 1, "given up"),
        ] {
            let (ends, one) = watch();
            let body = Body::Stream(PayloadStream::new(stream::iter(items)));
            let reply = one.settle(Ok(Reply::new(body))).expect("it is a stream");
            let Body::Stream(mut stream) = reply.body else {
                panic!("it is no stream");
            };
            assert!(ends.lock().is_empty());
            for _ in 0..read {
                drop(stream.next().await);
            }
            drop(stream);
            assert_eq!(*ends.lock(), [want]);
        }
    }
}
