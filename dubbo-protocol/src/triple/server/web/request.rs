//! The body of a request, in base64 or not.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame};

use super::text::{BadText, TextDecoder};

/// A body as gRPC has it.
pub(super) struct WebRequest<B> {
    body: B,
    /// For one in base64, until it has ended.
    text: Option<TextDecoder>,
}

/// What keeps a request from being read.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebRequestError<E: Error + 'static> {
    /// It is not in the form that it says.
    #[error("{0}")]
    Text(#[from] BadText),
    /// It did not come to its end.
    #[error("{0}")]
    Body(#[source] E),
}

impl<B> WebRequest<B> {
    /// What `body` means; `text` is whether it is in base64.
    pub(super) fn new(body: B, text: bool) -> Self {
        let text = text.then(TextDecoder::default);
        Self { body, text }
    }
}

impl<B> Body for WebRequest<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Error + 'static,
{
    type Data = Bytes;
    type Error = WebRequestError<B::Error>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        loop {
            let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
            let Some(text) = &mut this.text else {
                return Poll::Ready(frame.map(|frame| frame.map_err(WebRequestError::Body)));
            };
            let frame = match frame {
                None => {
                    let end = text.finish();
                    this.text = None;
                    return Poll::Ready(end.err().map(|bad| Err(bad.into())));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(WebRequestError::Body(error)))),
                Some(Ok(frame)) => frame,
            };
            // Trailers say nothing in a request.
            let Ok(data) = frame.into_data() else {
                continue;
            };
            match text.push(&data) {
                // Less than four characters.
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Err(bad) => return Poll::Ready(Some(Err(bad.into()))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        // What ends within four characters has an error to tell.
        self.text.is_none() && self.body.is_end_stream()
    }
}
