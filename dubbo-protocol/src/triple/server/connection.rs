//! One connection from its first byte to its last.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use dubbo_core::invocation::Peer;
use http_body::{Body, Frame, SizeHint};
use hyper::{
    rt::Executor,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use super::{
    budget::Budget, dispatch::answer, reply::ReplyBody, routes::Routes, settings::ServerSettings,
    site::Site,
};
use crate::{
    catalog::Catalog,
    net::{Accepted, Dialect},
};

/// What the connections of a server share.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) catalog: Arc<Catalog<Routes>>,
    pub(super) settings: Arc<ServerSettings>,
    /// The tasks of calls.
    pub(super) calls: TaskTracker,
    pub(super) end: watch::Receiver<End>,
    /// How many have been cut with calls on them.
    pub(super) cut: Arc<AtomicUsize>,
}

/// How a server asks its connections to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// Not yet.
    Open,
    /// When the calls in flight are done; no new ones.
    Drain,
    /// Now.
    Cut,
}

impl Connections {
    /// Serves a connection until either side ends it.
    pub(super) async fn serve(self, accepted: Accepted) {
        let Accepted {
            dialect,
            stream,
            peer,
        } = accepted;
        if dialect == Dialect::Http2 {
            self.serve_http2(stream, peer).await;
        } else {
            self.serve_http1(stream, peer).await;
        }
    }

    async fn serve_http2<T>(self, io: T, peer: Peer)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let here = TaskTracker::new();
        let calls = Calls {
            here: here.clone(),
            all: self.calls.clone(),
        };
        let site = self.site(peer);
        let service = service_fn(move |request| answer(&site, request));
        let connection = http2(&self.settings, calls).serve_connection(TokioIo::new(io), service);
        let leave = http2::Connection::graceful_shutdown;
        self.until_end(connection, leave, &here, peer).await;
    }

    async fn serve_http1<T>(self, io: T, peer: Peer)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let here = TaskTracker::new();
        let calls = here.clone();
        let site = self.site(peer);
        let service = service_fn(move |request| {
            // The connection's own task does the call: nothing else counts it.
            let call = calls.token();
            let answering = answer(&site, request);
            async {
                let counted = |body| Counted { body, _call: call };
                answering.await.map(|response| response.map(counted))
            }
        });
        let connection = http1(&self.settings).serve_connection(TokioIo::new(io), service);
        let leave = http1::Connection::graceful_shutdown;
        self.until_end(connection, leave, &here, peer).await;
    }

    fn site(&self, peer: Peer) -> Site {
        Site {
            catalog: Arc::clone(&self.catalog),
            settings: Arc::clone(&self.settings),
            peer: Arc::new(peer),
            budget: Budget::new(),
        }
    }

    /// Drives `connection`, whose calls are in `here`, until its peer ends it or it has to end. `leave` asks it to.
    async fn until_end<C: Future<Output = hyper::Result<()>>>(
        self,
        connection: C,
        leave: impl FnOnce(Pin<&mut C>),
        here: &TaskTracker,
        peer: Peer,
    ) {
        let Self { mut end, cut, .. } = self;
        let remote = peer.remote;
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = reached(&mut end, End::Drain) => {
                leave(connection.as_mut());
                tokio::select! {
                    served = connection => served,
                    () = idle(here) => {
                        tracing::debug!(%remote, "a peer without calls does not close its connection");
                        return;
                    }
                    () = reached(&mut end, End::Cut) => {
                        if !here.is_empty() {
                            cut.fetch_add(1, Ordering::Relaxed);
                        }
                        return;
                    }
                }
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, %remote, "a connection ended with an error");
        }
    }
}

/// An answer whose call is not over before all of it has been sent.
struct Counted {
    body: ReplyBody,
    _call: TaskTrackerToken,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Runs the calls of a connection.
#[derive(Clone)]
struct Calls {
    /// Those of this connection.
    here: TaskTracker,
    /// Those of all.
    all: TaskTracker,
}

impl<F> Executor<F> for Calls
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        self.all.spawn(self.here.track_future(call));
    }
}

/// Waits until a connection that was asked to end has nothing more to do, and its peer had time to hang up. One that
/// never does must not hold up the others' end.
async fn idle(calls: &TaskTracker) {
    calls.close();
    let mut linger = LINGER;
    loop {
        if !calls.is_empty() {
            calls.wait().await;
            // The last answers are still on their way.
            linger = PATIENCE;
        }
        tokio::time::sleep(linger).await;
        // A call may have crossed with the request to end.
        if calls.is_empty() {
            return;
        }
    }
}

fn http2(settings: &ServerSettings, calls: Calls) -> http2::Builder<Calls> {
    let mut builder = http2::Builder::new(calls);
    builder
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .keep_alive_interval(IDLE)
        .keep_alive_timeout(PATIENCE)
        .max_concurrent_streams(MAX_STREAMS)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(settings.max_header_list_size)
        .max_local_error_reset_streams(MAX_BAD_FRAMES)
        .max_pending_accept_reset_streams(MAX_RESETS);
    builder
}

fn http1(settings: &ServerSettings) -> http1::Builder {
    // What is read beyond the limit is refused in words (`refusal`), and what is beyond that by a bare 431.
    let head = (settings.max_header_list_size as usize).saturating_mul(2);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .header_read_timeout(IDLE)
        .max_header_size(head)
        .max_buf_size(head.max(BUFFER));
    builder
}

/// Waits until the server has got as far as `end`, or is no more.
async fn reached(ends: &mut watch::Receiver<End>, end: End) {
    let _ = ends.wait_for(|now| *now >= end).await;
}

/// When a silent peer is asked whether it is still there. A process that hangs, and one that has sent no more than a
/// preface, have a machine that answers when TCP asks. HTTP/1 has no such question: there the next request has to be
/// whole, but for its body, so long after the last answer.
const IDLE: Duration = Duration::from_mins(1);
/// How long it may take to answer, and to read what it has been sent.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a peer that waits for nothing may take to hang up when it is told to.
const LINGER: Duration = Duration::from_secs(1);

/// What a stream may send ahead of its handler.
const STREAM_WINDOW: u32 = 1 << 20;
/// What all streams of a connection may: some that are not read must not hold up the others.
const CONNECTION_WINDOW: u32 = 8 << 20;

const MAX_FRAME: u32 = 1 << 20;
/// What is read of a request over HTTP/1 before its handler asks for it.
const BUFFER: usize = 128 << 10;
/// Dubbo Java does not wait for a free stream but fails the call, so there are plenty.
const MAX_STREAMS: u32 = 1_000;

/// Streams that a peer opens and resets before they are looked at. A caller that gives up on all its calls at once does
/// that with [`MAX_STREAMS`] and, as the room is free again at once, with as many more while this side is busy; the calls
/// of everybody else on the connection must survive it. Beyond is the rapid-reset attack (CVE-2023-44487): until it is
/// noticed it has the memory of so many streams without bodies.
const MAX_RESETS: usize = 10 * MAX_STREAMS as usize;
/// Frames that have their stream reset, above all those for a stream which is over. They are counted for as long as the
/// connection lives, and some are ordinary: those that cross with the answer of a handler that has read enough.
const MAX_BAD_FRAMES: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use dubbo_core::url::Url;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
        time::Instant,
    };

    use super::*;

    /// A connection that is served after it has said `preface`, and how to end it.
    async fn served(preface: &[u8]) -> (DuplexStream, watch::Sender<End>, Arc<AtomicUsize>) {
        let (mut near, far) = tokio::io::duplex(1 << 10);
        let end = watch::Sender::new(End::Open);
        let cut = Arc::new(AtomicUsize::new(0));
        let url = Url::new("tri", "127.0.0.1");
        let connections = Connections {
            catalog: Arc::new(Catalog::new()),
            settings: Arc::new(ServerSettings::read(&url).expect("defaults")),
            calls: TaskTracker::new(),
            end: end.subscribe(),
            cut: Arc::clone(&cut),
        };
        near.write_all(preface).await.expect("room");
        let somewhere = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let peer = Peer::new(somewhere, somewhere);
        if preface == HTTP2 {
            tokio::spawn(connections.serve_http2(far, peer));
        } else {
            tokio::spawn(connections.serve_http1(far, peer));
        }
        (near, end, cut)
    }

    async fn lives_for(mut near: DuplexStream) -> Duration {
        let start = Instant::now();
        let mut heard = Vec::new();
        near.read_to_end(&mut heard).await.expect("in memory");
        start.elapsed()
    }

    const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_given_up_on() {
        for (preface, said, want) in [
            (HTTP2, &b""[..], IDLE + PATIENCE),
            (HTTP2, SETTINGS, IDLE + PATIENCE),
            (b"POST / HT", b"TP/1.1\r\nhost", IDLE),
            // Its first request was answered.
            (b"GET / HT", b"TP/1.1\r\nhost: x\r\n\r\n", IDLE),
        ] {
            let (mut near, _end, _cut) = served(preface).await;
            near.write_all(said).await.expect("room");
            let lived = lives_for(near).await.as_secs();
            assert_eq!(lived, want.as_secs(), "{}", said.escape_ascii());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_without_calls_that_does_not_hang_up_is_cut_soon_and_not_counted() {
        let at_once = Duration::ZERO;
        for (preface, said, want) in [
            (HTTP2, &b""[..], LINGER),
            (HTTP2, SETTINGS, LINGER),
            (b"POST / HT", b"TP/1.1\r\nhost", LINGER),
            (b"GET / HT", b"TP/1.1\r\nhost: x\r\n\r\n", at_once),
        ] {
            let (mut near, end, cut) = served(preface).await;
            near.write_all(said).await.expect("room");
            // Its answer.
            tokio::time::sleep(Duration::from_millis(1)).await;
            end.send_replace(End::Drain);
            let lived = lives_for(near).await.as_secs();
            assert_eq!(lived, want.as_secs(), "{}", said.escape_ascii());
            assert_eq!(cut.load(Ordering::Relaxed), 0);
        }
    }
}
