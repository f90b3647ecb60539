//! A peer's bytes on their way in: when they came, and what is mended in them.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::mend::Mender;

/// A transport that notes when bytes come, and mends them.
pub(super) struct Socket<T> {
    io: T,
    last_read: Arc<LastRead>,
    mender: Mender,
}

impl<T> Socket<T> {
    pub(super) fn new(io: T, last_read: Arc<LastRead>) -> Self {
        Self {
            io,
            last_read,
            mender: Mender::new(),
        }
    }
}

/// When the last bytes came.
#[derive(Debug)]
pub(super) struct LastRead {
    start: Instant,
    millis: AtomicU64,
}

impl LastRead {
    pub(super) fn now() -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            millis: AtomicU64::new(0),
        })
    }

    pub(super) fn set(&self) {
        let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    pub(super) fn at(&self) -> Instant {
        self.start + Duration::from_millis(self.millis.load(Ordering::Relaxed))
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
            self.last_read.set();
            self.mender.mend(new);
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
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
