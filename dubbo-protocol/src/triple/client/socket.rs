//! The bytes of a connection: when they came and what is mended in them, and what of ours has gone out.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{mend::Mender, written::Written};
use crate::triple::silence::Heard;

/// A transport that notes what passes through it, and mends what comes in.
pub(super) struct Socket<T> {
    io: T,
    traffic: Arc<Traffic>,
    mender: Mender,
    written: Written,
}

impl<T> Socket<T> {
    pub(super) fn new(io: T, traffic: Arc<Traffic>) -> Self {
        Self {
            io,
            traffic,
            mender: Mender::new(),
            written: Written::nothing(),
        }
    }

    /// Notes that `bytes` are on their way.
    fn took(&mut self, bytes: &[u8]) {
        let newest = self.written.take(bytes);
        self.traffic.newest_stream.store(newest, Ordering::Relaxed);
    }
}

/// What has passed through a socket.
#[derive(Debug)]
pub(super) struct Traffic {
    /// When the last bytes came.
    heard: Arc<Heard>,
    /// The newest stream of which anything has gone out.
    newest_stream: AtomicU32,
}

impl Traffic {
    pub(super) fn start() -> Arc<Self> {
        Arc::new(Self {
            heard: Arc::new(Heard::start()),
            newest_stream: AtomicU32::new(0),
        })
    }

    /// When the last bytes came.
    pub(super) fn heard(&self) -> &Arc<Heard> {
        &self.heard
    }

    /// Whether anything of `stream` has gone out, or may have.
    pub(super) fn has_begun(&self, stream: h2::StreamId) -> bool {
        stream.as_u32() <= self.newest_stream.load(Ordering::Relaxed)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        let new = &mut buf.filled_mut()[before..];
        if !new.is_empty() {
            self.traffic.heard.note();
            self.mender.mend(new);
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.io).poll_write(cx, buf);
        if let Poll::Ready(Ok(count)) = result {
            this.took(&buf[..count]);
        }
        result
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.io).poll_write_vectored(cx, bufs);
        if let Poll::Ready(Ok(mut count)) = result {
            for buf in bufs {
                let taken = buf.len().min(count);
                this.took(&buf[..taken]);
                count -= taken;
            }
        }
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
