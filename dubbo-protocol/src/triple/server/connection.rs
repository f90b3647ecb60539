//! One connection from its first byte to its last.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use dubbo_core::{extension::BoxError, invocation::Peer};
use h2::RecvStream;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, watch},
    time::Instant,
};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use super::{
    bounds::Bounds,
    budget::Budget,
    crowd::turn_away,
    dispatch::{Answering, answer},
    http2::{self, Begun, exchange},
    life::{Life, Started},
    received::Received,
    reply::ReplyBody,
    routes::Routes,
    settings::ServerSettings,
    site::Site,
};
use crate::{
    catalog::Catalog,
    net::{Accepted, Dialect, Trouble},
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
    /// For how many more there is room.
    pub(super) room: Arc<Semaphore>,
    /// Those that there was no room for.
    pub(super) crowding: Arc<Mutex<Trouble>>,
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
    /// Room for as many connections as `bounds` say.
    pub(super) fn room(bounds: &Bounds) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(
            bounds.connections.min(Semaphore::MAX_PERMITS),
        ))
    }

    /// Serves a connection until either side ends it.
    pub(super) async fn serve(self, accepted: Accepted) {
        let Accepted {
            dialect,
            stream,
            peer,
        } = accepted;
        let room = Arc::clone(&self.room);
        let Ok(_room) = room.try_acquire() else {
            if let Some(connections) = self.crowding.lock().met(Instant::now()) {
                let limit = self.settings.bounds.connections;
                tracing::warn!(limit, connections, remote = %peer.remote, "connections are refused: there are too many");
            }
            return turn_away(dialect, stream).await;
        };
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
        let here = Here::default();
        let Here { calls, started } = here.clone();
        let all = self.calls.clone();
        let site = self.site(peer);
        let begin = move |request: Request<RecvStream>, stream| {
            started.one();
            let Answering { answer, pace } = answer(&site, request.map(Received::Http2));
            let call = exchange(answer, stream);
            Begun { call, pace }
        };
        let spawn = move |task| {
            all.spawn(calls.track_future(task));
        };
        let bounds = &self.settings.bounds;
        let life = Life::of(bounds, fastrand::f64());
        let connection = http2::Connection::new(io, bounds, begin, spawn);
        let leave = http2::Connection::leave;
        self.until_end(connection, leave, &here, life, peer).await;
    }

    async fn serve_http1<T>(self, io: T, peer: Peer)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let here = Here::default();
        let Here { calls, started } = here.clone();
        let site = self.site(peer);
        let service = service_fn(move |request| {
            started.one();
            // The connection's own task does the call: nothing else counts it.
            let call = calls.token();
            let answering = answer(&site, request.map(Received::Http1)).answer;
            async {
                let counted = |body| Counted { body, _call: call };
                Ok::<_, Infallible>(answering.await.map(counted))
            }
        });
        let bounds = &self.settings.bounds;
        let life = Life::of(bounds, fastrand::f64()).first_within(bounds.handshake);
        let connection = http1(&self.settings).serve_connection(TokioIo::new(io), service);
        let leave = http1::Connection::graceful_shutdown;
        self.until_end(connection, leave, &here, life, peer).await;
    }

    fn site(&self, peer: Peer) -> Site {
        Site {
            catalog: Arc::clone(&self.catalog),
            settings: Arc::clone(&self.settings),
            peer: Arc::new(peer),
            budget: Budget::of(self.settings.bounds.held),
        }
    }

    /// Drives `connection`, whose calls are in `here`, until its peer ends it or it has to end: when its server does, or its
    /// `life` is over. `leave` asks it to.
    async fn until_end<C: Future<Output = Result<(), E>>, E: fmt::Display>(
        self,
        connection: C,
        leave: impl FnOnce(Pin<&mut C>),
        here: &Here,
        life: Life,
        peer: Peer,
    ) {
        let Self {
            mut end,
            cut,
            settings,
            ..
        } = self;
        let remote = peer.remote;
        let mut connection = std::pin::pin!(connection);
        let grace = tokio::select! {
            served = connection.as_mut() => return ended(served, &peer),
            () = reached(&mut end, End::Drain) => None,
            why = life.over(&here.calls, &here.started) => {
                tracing::debug!(%remote, %why, "a connection is asked to end");
                Some(settings.bounds.age_grace)
            }
        };
        leave(connection.as_mut());
        tokio::select! {
            served = connection => ended(served, &peer),
            () = idle(&here.calls, settings.bounds.keep_alive_timeout) => {
                tracing::debug!(%remote, "a peer without calls does not close its connection");
            }
            () = passed(grace) => {
                let calls = here.calls.len();
                tracing::info!(%remote, calls, ?grace, "a connection that was asked to end goes on, and is cut");
            }
            () = reached(&mut end, End::Cut) => {
                if !here.calls.is_empty() {
                    cut.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

/// The calls of one connection.
#[derive(Clone, Default)]
struct Here {
    /// Those under way.
    calls: TaskTracker,
    /// Those there were.
    started: Started,
}

fn ended(served: Result<(), impl fmt::Display>, peer: &Peer) {
    if let Err(error) = served {
        tracing::debug!(%error, remote = %peer.remote, "a connection ended with an error");
    }
}

/// An answer whose call is not over before all of it has been sent.
struct Counted {
    body: ReplyBody,
    _call: TaskTrackerToken,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Waits until a connection that was asked to end has nothing more to do, and its peer had time to hang up, or `patience` to
/// read its last answers. One that never does must not hold up the others' end.
async fn idle(calls: &TaskTracker, patience: Duration) {
    calls.close();
    let mut linger = LINGER;
    loop {
        if !calls.is_empty() {
            calls.wait().await;
            // The last answers are still on their way.
            linger = patience;
        }
        tokio::time::sleep(linger).await;
        // A call may have crossed with the request to end.
        if calls.is_empty() {
            return;
        }
    }
}

/// Waits for `time`; for ever when it is none.
async fn passed(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

fn http1(settings: &ServerSettings) -> http1::Builder {
    // What is read beyond the limit is refused in words (`refusal`), and what is beyond that by a bare 431.
    let head = (settings.bounds.header_list as usize).saturating_mul(2);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .header_read_timeout(settings.bounds.keep_alive.unwrap_or(IDLE))
        .max_headers(settings.bounds.headers.saturating_mul(2))
        .max_header_size(head)
        .max_buf_size(head.max(BUFFER));
    builder
}

/// Waits until the server has got as far as `end`, or is no more.
async fn reached(ends: &mut watch::Receiver<End>, end: End) {
    let _ = ends.wait_for(|now| *now >= end).await;
}

/// How long a peer that waits for nothing may take to hang up when it is told to.
const LINGER: Duration = Duration::from_secs(1);

/// HTTP/1 has no question for a sign of life. There the next request has to be whole, but for its body, so long after the last
/// answer as a peer of HTTP/2 may be silent before it is asked; where those are not asked, this long.
const IDLE: Duration = Duration::from_mins(1);

/// What is read of a request over HTTP/1 before its handler asks for it.
const BUFFER: usize = 128 << 10;

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
            room: Arc::new(Semaphore::new(1)),
            crowding: Arc::default(),
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
            (HTTP2, &b""[..], 80),
            (HTTP2, SETTINGS, 80),
            // Who begins with a request has to say what it wants.
            (b"POST / HT", b"TP/1.1\r\nhost", 11),
            // Its first request was answered.
            (b"GET / HT", b"TP/1.1\r\nhost: x\r\n\r\n", 60),
        ] {
            let (mut near, _end, _cut) = served(preface).await;
            near.write_all(said).await.expect("room");
            let lived = lives_for(near).await.as_secs();
            assert_eq!(lived, want, "{}", said.escape_ascii());
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
