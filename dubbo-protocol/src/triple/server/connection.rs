//! One connection from its first byte to its last.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo_core::invocation::Peer;
use hyper::{rt::Executor, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::watch,
};
use tokio_util::task::TaskTracker;

use super::{budget::Budget, call::answer, routes::Routes};
use crate::{
    catalog::Catalog,
    net::{Accepted, Dialect},
};

/// What the connections of a server share.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) catalog: Arc<Catalog<Routes>>,
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
            self.serve_http2(stream, Arc::new(peer)).await;
        } else if let Err(error) = turn_away(stream).await {
            tracing::debug!(%error, remote = %peer.remote, "an HTTP/1 caller hung up");
        }
    }

    async fn serve_http2<T>(self, io: T, peer: Arc<Peer>)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Self {
            catalog,
            calls: all,
            mut end,
            cut,
        } = self;
        let remote = peer.remote;
        let here = TaskTracker::new();
        let calls = Calls {
            here: here.clone(),
            all,
        };
        let budget = Budget::new();
        let service = service_fn(move |request| answer(&catalog.routes(), &peer, &budget, request));
        let connection = settings(calls).serve_connection(TokioIo::new(io), service);
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = reached(&mut end, End::Drain) => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    served = connection => served,
                    () = idle(&here) => {
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

fn settings(calls: Calls) -> http2::Builder<Calls> {
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
        .max_header_list_size(MAX_HEADERS)
        .max_local_error_reset_streams(MAX_BAD_FRAMES)
        .max_pending_accept_reset_streams(MAX_RESETS);
    builder
}

/// Waits until the server has got as far as `end`, or is no more.
async fn reached(ends: &mut watch::Receiver<End>, end: End) {
    let _ = ends.wait_for(|now| *now >= end).await;
}

/// Tells an HTTP/1 caller that it needs HTTP/2.
async fn turn_away(mut io: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    io.write_all(HTTP1_ANSWER).await?;
    io.shutdown().await?;
    // Closing with its request unread would reset the connection before the answer is read.
    let unread =
        async { tokio::io::copy(&mut (&mut io).take(MAX_UNREAD), &mut tokio::io::sink()).await };
    tokio::time::timeout(LINGER, unread)
        .await
        .map_or(Ok(()), |read| read.map(drop))
}

const HTTP1_ANSWER: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\n\
    connection: close\r\n\
    content-length: 48\r\n\
    content-type: text/plain; charset=utf-8\r\n\
    \r\n\
    only HTTP/2 with prior knowledge is served here\n";

/// When a silent peer is asked whether it is still there. A process that hangs, and one that has sent no more than a
/// preface, have a machine that answers when TCP asks.
const IDLE: Duration = Duration::from_mins(1);
/// How long it may take to answer, and to read what it has been sent.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a peer that waits for nothing may take to hang up when it is told to.
const LINGER: Duration = Duration::from_secs(1);
const MAX_UNREAD: u64 = 64 << 10;

/// What a stream may send ahead of its handler.
const STREAM_WINDOW: u32 = 1 << 20;
/// What all streams of a connection may: some that are not read must not hold up the others.
const CONNECTION_WINDOW: u32 = 8 << 20;

const MAX_FRAME: u32 = 1 << 20;
/// Twice what Dubbo Java takes.
const MAX_HEADERS: u32 = 64 << 10;
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
    use tokio::{io::DuplexStream, time::Instant};

    use super::*;

    #[tokio::test]
    async fn an_http1_caller_reads_why_and_that_is_all() {
        let (mut near, far) = tokio::io::duplex(1024);
        near.write_all(b"/x HTTP/1.1\r\n\r\n").await.expect("room");
        near.shutdown().await.expect("open");
        turn_away(far).await.expect("answered");
        let mut answer = String::new();
        near.read_to_string(&mut answer).await.expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 505 "), "{head}");
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{answer}"
        );
    }

    /// A connection that is served, from its preface on, and how to end it.
    async fn served() -> (DuplexStream, watch::Sender<End>, Arc<AtomicUsize>) {
        let (mut near, far) = tokio::io::duplex(1 << 10);
        let end = watch::Sender::new(End::Open);
        let cut = Arc::new(AtomicUsize::new(0));
        let connections = Connections {
            catalog: Arc::new(Catalog::new()),
            calls: TaskTracker::new(),
            end: end.subscribe(),
            cut: Arc::clone(&cut),
        };
        near.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .expect("room");
        let somewhere = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let peer = Arc::new(Peer::new(somewhere, somewhere));
        tokio::spawn(connections.serve_http2(far, peer));
        (near, end, cut)
    }

    async fn lives_for(mut near: DuplexStream) -> Duration {
        let start = Instant::now();
        let mut heard = Vec::new();
        near.read_to_end(&mut heard).await.expect("in memory");
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_answers_no_ping_is_given_up_on() {
        for said in [&b""[..], b"\0\0\0\x04\0\0\0\0\0"] {
            let (mut near, _end, _cut) = served().await;
            near.write_all(said).await.expect("room");
            assert_eq!(lives_for(near).await.as_secs(), (IDLE + PATIENCE).as_secs());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_without_calls_that_does_not_hang_up_is_cut_soon_and_not_counted() {
        for said in [&b""[..], b"\0\0\0\x04\0\0\0\0\0"] {
            let (mut near, end, cut) = served().await;
            near.write_all(said).await.expect("room");
            tokio::task::yield_now().await;
            end.send_replace(End::Drain);
            assert_eq!(lives_for(near).await.as_secs(), LINGER.as_secs());
            assert_eq!(cut.load(Ordering::Relaxed), 0);
        }
    }
}
