//! One connection from its first byte to its last.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::{BufMut as _, BytesMut};
use dubbo_core::{invocation::Peer, payload::Rules};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    budget::{Budget, Share},
    call::Call,
    reply::Refusal,
    routes::Routes,
    settings::Settings,
};
use crate::{
    catalog::{Catalog, Stage},
    dubbo::{
        body::event::{self, MAX_EVENT, READ_ONLY},
        frame::{Frame, FrameDecoder, FrameError, Header, Received},
        outbox::Outbox,
        status::{BAD_REQUEST, OK},
    },
};

/// What the connections of a server share.
pub(super) struct Shared {
    pub(super) catalog: Catalog<Routes>,
    pub(super) settings: Settings,
    /// By which what peers send is read.
    pub(super) rules: Rules,
    /// The tasks of connections.
    pub(super) connections: TaskTracker,
    /// The tasks of calls.
    pub(super) calls: TaskTracker,
    /// Everything ends.
    pub(super) cut: CancellationToken,
    /// How many connections have been cut with calls on them.
    pub(super) aborted: AtomicUsize,
    running: AtomicUsize,
    events: AtomicU64,
}

impl Shared {
    pub(super) fn new(settings: Settings, rules: Rules) -> Arc<Self> {
        Arc::new(Self {
            catalog: Catalog::new(),
            settings,
            rules,
            connections: TaskTracker::new(),
            calls: TaskTracker::new(),
            cut: CancellationToken::new(),
            aborted: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            events: AtomicU64::new(0),
        })
    }

    /// Counts a call, unless there are too many.
    pub(super) fn begin(&self) -> Option<Running<'_>> {
        let running = Running(&self.running);
        let before = running.0.fetch_add(1, Ordering::Relaxed);
        (before < self.settings.calls).then_some(running)
    }

    /// Serves `io` until either side ends it.
    pub(super) async fn serve<T>(self: Arc<Self>, io: T, peer: Peer)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let remote = peer.remote;
        if self.connections.len() > self.settings.connections {
            tracing::warn!(%remote, accepts = self.settings.connections, "a connection is refused: there are too many");
            return;
        }
        let link = Arc::new(Link::new(self, peer));
        // Whatever ends this function ends the calls too.
        let _gone = link.gone.clone().drop_guard();
        let (reader, writer) = tokio::io::split(io);
        // Most of these have nothing to do most of the time: each is polled only when it was woken itself.
        let mut parts = FuturesUnordered::<Part<'_>>::new();
        parts.push(Box::pin(link.read(reader)));
        parts.push(Box::pin(link.write(writer)));
        parts.push(Box::pin(link.silent()));
        parts.push(Box::pin(link.leave()));
        parts.push(Box::pin(link.cut()));
        let ended = parts.next().await.unwrap_or(Ok(()));
        drop(parts);
        link.outbox.close();
        if let Err(error) = ended {
            tracing::debug!(%error, %remote, "a connection ended with an error");
        }
    }
}

/// What a connection does at the same time. The first to end ends it.
type Part<'a> = Pin<Box<dyn Future<Output = Result<(), Ending>> + Send + 'a>>;

/// One of the calls that are under way.
pub(super) struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the calls of a connection know of it.
pub(super) struct Link {
    pub(super) server: Arc<Shared>,
    pub(super) peer: Arc<Peer>,
    /// The connection is no more.
    pub(super) gone: CancellationToken,
    outbox: Outbox,
    /// Those that are under way.
    calls: TaskTracker,
    budget: Arc<Budget>,
    activity: Activity,
}

impl Link {
    fn new(server: Arc<Shared>, peer: Peer) -> Self {
        Self {
            peer: Arc::new(peer),
            gone: server.cut.child_token(),
            budget: Budget::of(server.settings.connection_calls),
            server,
            outbox: Outbox::new(),
            calls: TaskTracker::new(),
            activity: Activity::new(),
        }
    }

    /// Sends `frame` when there is room for it.
    ///
    /// # Cancel safety
    ///
    /// It is sent as a whole or not at all.
    pub(super) async fn send(&self, frame: BytesMut) {
        // A connection that is gone needs no answers.
        if let Ok(room) = self.outbox.room(frame.len()).await {
            let _ = self.outbox.put(room, frame, None);
        }
    }

    async fn read(self: &Arc<Self>, mut io: impl AsyncRead + Unpin) -> Result<(), Ending> {
        let mut decoder = FrameDecoder::new(0);
        loop {
            let read = io.read_buf(decoder.room()).await?;
            if read == 0 {
                return if decoder.is_within_frame() {
                    Err(Ending::Truncated)
                } else {
                    Ok(())
                };
            }
            let now = self.activity.note();
            decoder.set_limit(self.server.catalog.routes().payload());
            while let Some(received) = decoder.next()? {
                match received {
                    Received::Frame(frame) => self.take(frame, now).await,
                    Received::Oversize(header) if self.refuse_oversize(header).await => {}
                    Received::Oversize(_) => {
                        self.outbox.finish();
                        return read_over(io).await;
                    }
                }
            }
        }
    }

    async fn take(self: &Arc<Self>, frame: Frame, arrived: Instant) {
        let header = frame.header;
        if header.event {
            return self.take_event(&frame).await;
        }
        if !header.request {
            // Nothing was asked of the peer.
            tracing::debug!(remote = %self.peer.remote, id = header.id, "an answer to nothing is dropped");
            return;
        }
        let share = self.share(frame.body.len()).await;
        let call = Call {
            link: Arc::clone(self),
            frame,
            arrived,
            share,
        };
        let call = self.calls.track_future(call.run());
        self.server.calls.spawn(call);
    }

    /// A call's share of what a connection may have under way. While there is none, nothing is read.
    async fn share(&self, len: usize) -> Share {
        if let Some(share) = self.budget.try_share(len) {
            return share;
        }
        let _paused = self.activity.pause();
        self.budget.share(len).await
    }

    async fn take_event(&self, frame: &Frame) {
        let Frame { header, body } = frame;
        if body.len() > MAX_EVENT {
            tracing::debug!(remote = %self.peer.remote, len = body.len(), "an event is dropped: it is too long");
            return;
        }
        if let Some(null) = event::answer(*header, body) {
            self.send(header.answer(OK).short(|body| body.put_slice(null)))
                .await;
        }
    }

    /// Says no to a call that is too large. Whether the connection goes on: its body is read over if that is not too much
    /// to ask.
    async fn refuse_oversize(&self, header: Header) -> bool {
        let len = header.len as usize;
        let limit = self.server.catalog.routes().payload();
        tracing::debug!(remote = %self.peer.remote, id = header.id, len, limit, "a frame is too large");
        if header.request && header.two_way && !header.event {
            let refusal = Refusal::too_large(BAD_REQUEST, len, limit, &"of a request");
            self.send(refusal.answer(header)).await;
        }
        len / 2 <= limit
    }

    async fn write(&self, mut io: impl AsyncWrite + Unpin) -> Result<(), Ending> {
        let mut gather = true;
        while let Some(mut batch) = poll_fn(|cx| {
            // Without other calls there is nothing to wait for.
            gather &= self.calls.len() > 1;
            self.outbox.poll_take(&mut gather, cx)
        })
        .await
        {
            while !batch.is_written() {
                let some = poll_fn(|cx| self.outbox.poll_write(&mut batch, Pin::new(&mut io), cx));
                self.in_time(some).await?;
                self.activity.note();
            }
            self.in_time(io.flush()).await?;
            self.outbox.give_back(batch);
        }
        self.in_time(io.shutdown()).await?;
        // What a peer sends to a socket that is closed resets the connection, and takes along what it has not read yet.
        // The end of what it sends ends this sooner.
        tokio::time::sleep(FAREWELL).await;
        Ok(())
    }

    /// Gives a peer up that takes nothing of what it is sent, however much it says meanwhile.
    async fn in_time(&self, step: impl Future<Output = io::Result<()>>) -> Result<(), Ending> {
        let Some(limit) = self.server.settings.silence else {
            return Ok(step.await?);
        };
        match timeout(limit, step).await {
            Ok(done) => Ok(done?),
            Err(_) => Err(Ending::Stalled(limit)),
        }
    }

    /// Waits until nothing has been heard and said for too long.
    async fn silent(&self) -> Result<(), Ending> {
        let Some(limit) = self.server.settings.silence else {
            return std::future::pending().await;
        };
        loop {
            let last = self.activity.last();
            if last.elapsed() >= limit {
                return Err(Ending::Silent(limit));
            }
            tokio::time::sleep_until(last + limit).await;
        }
    }

    /// Waits until everything ends.
    async fn cut(&self) -> Result<(), Ending> {
        self.gone.cancelled().await;
        if !self.calls.is_empty() {
            self.server.aborted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Takes part in the end of the server. The connection ends with what is written last.
    async fn leave(&self) -> Result<(), Ending> {
        let catalog = &self.server.catalog;
        catalog.reached(Stage::Leaving).await;
        let id = self.server.events.fetch_add(1, Ordering::Relaxed);
        let notice = Header::event(id.cast_signed(), false);
        self.send(notice.short(|body| body.put_slice(READ_ONLY)))
            .await;
        catalog.reached(Stage::Draining).await;
        loop {
            self.calls.close();
            self.calls.wait().await;
            // Calls that have crossed with the notice are still to be told that they were not done.
            tokio::time::sleep(LINGER).await;
            if self.calls.is_empty() {
                break;
            }
        }
        self.outbox.finish();
        std::future::pending().await
    }
}

/// When something was last heard or said.
struct Activity {
    start: Instant,
    /// Milliseconds since then.
    last: AtomicU64,
    /// Nothing is heard because nobody listens.
    paused: AtomicBool,
}

impl Activity {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(0),
            paused: AtomicBool::new(false),
        }
    }

    fn note(&self) -> Instant {
        let now = Instant::now();
        let millis = now.duration_since(self.start).as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Relaxed);
        now
    }

    fn last(&self) -> Instant {
        if self.paused.load(Ordering::Relaxed) {
            return Instant::now();
        }
        self.start + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }

    /// Until the end of what is returned there is always something.
    fn pause(&self) -> impl Drop {
        struct Paused<'a>(&'a Activity);
        impl Drop for Paused<'_> {
            fn drop(&mut self) {
                self.0.note();
                self.0.paused.store(false, Ordering::Relaxed);
            }
        }
        self.paused.store(true, Ordering::Relaxed);
        Paused(self)
    }
}

/// Why a connection ends that nobody wanted to end.
#[derive(Debug, thiserror::Error)]
enum Ending {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("nothing was heard and said for {0:?}")]
    Silent(Duration),
    #[error("the peer took nothing of what it was sent for {0:?}")]
    Stalled(Duration),
    #[error("the peer closed it in the middle of a frame")]
    Truncated,
}

/// Reads over whatever still comes, until the peer sends no more.
async fn read_over(mut io: impl AsyncRead + Unpin) -> Result<(), Ending> {
    let mut rest = vec![0; SCRATCH];
    while io.read(&mut rest).await? > 0 {}
    Ok(())
}

/// How long a connection without calls stays open at the end.
const LINGER: Duration = Duration::from_millis(500);

/// How long a peer that was sent the last byte has to close the connection itself.
const FAREWELL: Duration = Duration::from_secs(1);

const SCRATCH: usize = 8 << 10;
