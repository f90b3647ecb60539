//! A stop valve for sockets: a process that is stopped keeps them open and neither reads nor writes.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Open unless closed.
#[derive(Debug, Default)]
pub(super) struct Gate(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    closed: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    pub(super) fn close(&self) {
        self.0.lock().closed = true;
    }

    pub(super) fn reopen(&self) {
        let mut inner = self.0.lock();
        inner.closed = false;
        inner.waiting.drain(..).for_each(Waker::wake);
    }

    /// Waits until it is open.
    pub(super) async fn open(&self) {
        poll_fn(|cx| self.poll_open(cx)).await;
    }

    fn poll_open(&self, cx: &Context<'_>) -> Poll<()> {
        let mut inner = self.0.lock();
        if inner.closed {
            inner.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A socket behind the gate of its server.
pub(super) struct Gated<T> {
    pub(super) io: T,
    pub(super) gate: Arc<Gate>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Gated<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        std::task::ready!(self.gate.poll_open(cx));
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Gated<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        std::task::ready!(self.gate.poll_open(cx));
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
