//! Noticing a peer that has fallen silent, although its socket looks open.

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

use h2::{Ping, PingPong};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, sleep_until, timeout},
};

use super::options::KeepAliveOptions;

/// Probes a peer from which nothing has come for a while.
pub(super) struct KeepAlive {
    options: KeepAliveOptions,
    last_read: Arc<LastRead>,
    pings: PingPong,
}

impl KeepAlive {
    pub(super) fn new(
        options: KeepAliveOptions,
        last_read: Arc<LastRead>,
        pings: PingPong,
    ) -> Self {
        Self {
            options,
            last_read,
            pings,
        }
    }

    /// Ends, with the reason, once the peer has left a PING without answer. The connection must be polled beside it.
    pub(super) async fn watch(mut self) -> String {
        loop {
            let due = self.last_read.at() + self.options.interval;
            if Instant::now() < due {
                sleep_until(due).await;
                continue;
            }
            let wait = self.options.timeout;
            match timeout(wait, self.pings.ping(Ping::opaque())).await {
                Ok(Ok(_)) => self.last_read.set(),
                // The connection is over, which those who poll it see for themselves.
                Ok(Err(_)) => std::future::pending().await,
                Err(_) => {
                    return format!("the peer did not answer a keep-alive PING within {wait:?}");
                }
            }
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

    fn set(&self) {
        let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    fn at(&self) -> Instant {
        self.start + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

/// A transport that notes when bytes come.
pub(super) struct Watched<T> {
    io: T,
    last_read: Arc<LastRead>,
}

impl<T> Watched<T> {
    pub(super) fn new(io: T, last_read: Arc<LastRead>) -> Self {
        Self { io, last_read }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.last_read.set();
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
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
