//! HTTP beside calls: what serves requests that no service of Dubbo takes, on the port of a protocol that speaks HTTP.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};

use crate::extension::BoxError;

/// Answers HTTP requests: pages, files, a router of the application's own.
///
/// It is handed to [`Protocol::mount`](crate::protocol::Protocol::mount) with the path that it serves.
#[async_trait]
pub trait HttpHandler: Send + Sync + 'static {
    /// Answers one request, whose path is the whole one, with that which the handler is mounted at.
    ///
    /// The ends of the connection are in the request's extensions, as [`Peer`](crate::invocation::Peer). A panic is
    /// answered with status 500, and with a broken body once the answer has begun.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the caller hangs up, and so is the body of the answer.
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody>;
}

/// The body of a request or of an answer, whatever it is made of: bytes that are there, or that come one after another.
///
/// Read it with what reads any [`Body`].
#[derive(Default)]
pub struct HttpBody(Kind);

enum Kind {
    /// Bytes that come; pinned where they are.
    Coming(Pin<Box<dyn AnyBody>>),
    /// All of it.
    Whole(Bytes),
}

impl HttpBody {
    /// A body without anything in it.
    pub const fn empty() -> Self {
        Self(Kind::Whole(Bytes::new()))
    }

    /// Takes over any body.
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Kind::Coming(Box::pin(body)))
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Kind::Coming(body) => body.as_mut().poll(cx),
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Coming(body) => body.has_ended(),
            Kind::Whole(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Coming(body) => body.size(),
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

impl From<Bytes> for HttpBody {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }
}

impl From<Vec<u8>> for HttpBody {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for HttpBody {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for HttpBody {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size_hint();
        f.debug_struct("HttpBody")
            .field("at_least", &size.lower())
            .field("at_most", &size.upper())
            .finish()
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

/// A body whose type and whose type of error are forgotten, in one allocation.
trait AnyBody: Send {
    fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>;

    fn has_ended(&self) -> bool;

    fn size(&self) -> SizeHint;
}

impl<B> AnyBody for B
where
    B: Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(self.poll_frame(cx));
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn has_ended(&self) -> bool {
        self.is_end_stream()
    }

    fn size(&self) -> SizeHint {
        self.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, future::poll_fn, io};

    use super::*;

    /// Chunks, then what is wrong.
    struct Chunks(VecDeque<&'static str>, Option<io::Error>);

    impl Body for Chunks {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            let next = self.0.pop_front();
            let next = next.map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes()))));
            Poll::Ready(next.or_else(|| self.1.take().map(Err)))
        }
    }

    async fn read(mut body: HttpBody) -> (Vec<String>, Option<String>) {
        let mut chunks = Vec::new();
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            match frame {
                Ok(frame) => {
                    let data = frame.into_data().expect("no trailers");
                    chunks.push(String::from_utf8(data.to_vec()).expect("text"));
                }
                Err(error) => return (chunks, Some(error.to_string())),
            }
        }
        (chunks, None)
    }

    #[tokio::test]
    async fn a_body_of_bytes_knows_its_length_and_is_one_frame() {
        for (body, want) in [
            (HttpBody::empty(), ""),
            (HttpBody::from(""), ""),
            (HttpBody::from("text"), "text"),
            (HttpBody::from("text".to_owned()), "text"),
            (HttpBody::from(b"text".to_vec()), "text"),
            (HttpBody::from(Bytes::from_static(b"text")), "text"),
        ] {
            assert_eq!(body.size_hint().exact(), Some(want.len() as u64));
            assert_eq!(body.is_end_stream(), want.is_empty());
            let want: Vec<_> = Some(want)
                .filter(|want| !want.is_empty())
                .into_iter()
                .collect();
            let (chunks, error) = read(body).await;
            assert_eq!(
                (chunks, error),
                (want.iter().map(|&s| s.into()).collect(), None)
            );
        }
    }

    #[tokio::test]
    async fn a_body_that_comes_passes_on_its_chunks_and_its_error() {
        let chunks = || VecDeque::from(["a", "bc"]);
        let body = HttpBody::new(Chunks(chunks(), None));
        assert_eq!(body.size_hint().exact(), None);
        assert_eq!(read(body).await, (vec!["a".into(), "bc".into()], None));
        let broken = HttpBody::new(Chunks(chunks(), Some(io::Error::other("gone"))));
        let (read_so_far, error) = read(broken).await;
        assert_eq!((read_so_far.len(), error.as_deref()), (2, Some("gone")));
    }
}
