//! One HTTP/2 connection: opening it, driving it, and knowing when it takes no more calls.
//!
//! Calls use `h2` without hyper's client between: only so is it known which calls a GOAWAY left out, what code a stream
//! was reset with, and that a call which was never sent can be sent again.

use std::{
    fmt,
    io::ErrorKind,
    pin::pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use h2::{
    PingPong, SendStream, StreamId,
    client::{ResponseFuture, SendRequest},
};
use http::Request;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::{
    failure::{CLOSED, describe},
    life::Life,
    options::ConnectOptions,
    socket::{Socket, Traffic},
};
use crate::{
    endpoint::{Link, Opened, Opener},
    net::{Connector, Stream, hint_unheard},
    triple::silence::KeepAlive,
};

/// Opens connections to one address.
pub(super) struct Http2 {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) address: Arc<str>,
    pub(super) options: ConnectOptions,
}

impl Opener for Http2 {
    type Link = Connection;

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    async fn open(&self) -> Result<Opened<Connection>, String> {
        let opened = Connection::open(&*self.connector, &self.address, &self.options).await;
        let (link, driver) = opened.map_err(|error| error.to_string())?;
        Ok(Opened {
            link,
            driver: Box::pin(driver.run()),
        })
    }
}

/// A connection, as those see it who send calls on it. Dropping the last handle closes it once its calls have ended.
pub(super) struct Connection {
    sender: Mutex<SendRequest<Bytes>>,
    traffic: Arc<Traffic>,
    life: Arc<Life>,
}

impl Connection {
    /// Connects to `address` and waits for the peer's SETTINGS: what does not speak HTTP/2 is never taken for a
    /// provider.
    ///
    /// # Errors
    ///
    /// The text says why, also when it took longer than the options allow.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the socket.
    pub(super) async fn open(
        connector: &dyn Connector,
        address: &str,
        options: &ConnectOptions,
    ) -> Result<(Arc<Self>, Driver), ConnectError> {
        timeout(options.timeout, handshake(connector, address, options))
            .await
            .unwrap_or_else(|_| {
                Err(ConnectError(format!(
                    "no answer within {:?}",
                    options.timeout
                )))
            })
    }

    /// Opens a stream.
    ///
    /// # Errors
    ///
    /// Nothing has been sent: the connection takes no more streams ([`failure`](Self::failure)), or the request breaks
    /// a rule of HTTP/2.
    pub(super) fn start(
        &self,
        request: Request<()>,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        // A clone queues its stream when the peer's limit is met, where a shared sender would refuse it.
        let mut sender = self.sender.lock().clone();
        sender.send_request(request, false)
    }

    /// Why no stream can be opened, if that is so. Nobody is woken when it changes.
    pub(super) fn failure(&self) -> Option<h2::Error> {
        let mut nobody = Context::from_waker(Waker::noop());
        match self.sender.lock().poll_ready(&mut nobody) {
            Poll::Ready(Err(error)) => Some(error),
            _ => None,
        }
    }

    /// Whether the peer may have heard of `stream`. One that waited for its turn when the connection ended was not begun.
    pub(super) fn has_begun(&self, stream: StreamId) -> bool {
        self.traffic.has_begun(stream)
    }

    /// What is known about it.
    pub(super) fn life(&self) -> &Life {
        &self.life
    }
}

impl Link for Connection {
    fn is_usable(&self) -> bool {
        self.life.is_usable()
    }

    fn in_flight(&self) -> usize {
        self.life.in_flight()
    }

    fn retire(&self, reason: String) {
        self.life.retire(|| reason);
    }

    async fn retired(&self) {
        self.life.retired().await;
    }

    fn reason(&self) -> Option<&str> {
        self.life.reason()
    }

    fn was_useful(&self) -> bool {
        self.life.was_useful()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.life.fmt(f)
    }
}

/// Moves the bytes of one connection. Runs until the connection is closed: by the peer, by silence, or, once all of its
/// handles are gone, by the end of the last call.
pub(super) struct Driver {
    http2: h2::client::Connection<Socket<Stream>, Bytes>,
    keep_alive: Option<(KeepAlive, PingPong)>,
    traffic: Arc<Traffic>,
    handle: Weak<Connection>,
    life: Arc<Life>,
}

impl Driver {
    /// Drives it to its end.
    pub(super) async fn run(self) {
        let Self {
            http2,
            keep_alive,
            traffic,
            handle,
            life,
        } = self;
        let mut http2 = pin!(http2);
        let mut silence = pin!(async {
            match keep_alive {
                Some((keep_alive, pings)) => {
                    let heard = Arc::clone(traffic.heard());
                    keep_alive.watch(heard, pings).await;
                    let wait = keep_alive.timeout;
                    format!("the peer did not answer a keep-alive PING within {wait:?}")
                }
                None => std::future::pending().await,
            }
        });
        std::future::poll_fn(|cx| {
            if let Poll::Ready(reason) = silence.as_mut().poll(cx) {
                // Before the streams fail, so that their errors can say it.
                life.retire(|| reason);
                return Poll::Ready(());
            }
            if let Poll::Ready(result) = http2.as_mut().poll(cx) {
                life.retire(|| {
                    // The GOAWAY before the end, if there was one, says more than the end.
                    let before = || handle.upgrade()?.failure();
                    let error = result.err().or_else(before);
                    error.map_or_else(|| CLOSED.to_owned(), |error| describe(&error))
                });
                return Poll::Ready(());
            }
            // A GOAWAY or the last stream number: the connection goes on for the calls that it has.
            if life.is_usable()
                && let Some(connection) = handle.upgrade()
                && let Some(error) = connection.failure()
            {
                life.retire(|| describe(&error));
            }
            Poll::Pending
        })
        .await;
    }
}

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(super) struct ConnectError(String);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

async fn handshake(
    connector: &dyn Connector,
    address: &str,
    options: &ConnectOptions,
) -> Result<(Arc<Connection>, Driver), ConnectError> {
    let io = connector
        .connect(address)
        .await
        .map_err(|error| ConnectError(error.to_string()))?;
    let is_secure = io.is_secure();
    let traffic = Traffic::start();
    let io = Socket::new(io, Arc::clone(&traffic));
    let (sender, mut http2) = h2::client::Builder::new()
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_concurrent_reset_streams(REMEMBERED_RESETS)
        // It counts over the whole life of a connection, and calls are cancelled all the time: what the peer had sent of
        // an answer by then comes for a stream that is forgotten, and is answered by a reset.
        .max_local_error_reset_streams(None)
        // None before the peer has said how many it takes: so its SETTINGS can be waited for.
        .initial_max_send_streams(0)
        .handshake::<_, Bytes>(io)
        .await
        .map_err(|error| ConnectError(error.to_string()))?;

    let hung_up = || {
        let hint = hint_unheard(is_secure);
        ConnectError(format!(
            "the peer closed the connection before it spoke HTTP/2; {hint}"
        ))
    };
    std::future::poll_fn(|cx| match pin!(&mut http2).poll(cx) {
        Poll::Ready(Ok(())) => Poll::Ready(Err(hung_up())),
        Poll::Ready(Err(error)) if is_end(&error) => Poll::Ready(Err(hung_up())),
        Poll::Ready(Err(error)) if error.is_io() => {
            Poll::Ready(Err(ConnectError(error.to_string())))
        }
        Poll::Ready(Err(error)) => Poll::Ready(Err(ConnectError(format!(
            "the peer does not speak HTTP/2: {error}"
        )))),
        Poll::Pending if sender.current_max_send_streams() > 0 => Poll::Ready(Ok(())),
        Poll::Pending => Poll::Pending,
    })
    .await?;

    let life = Life::begin(LASTING);
    let keep_alive = options.keep_alive.zip(http2.ping_pong());
    let connection = Arc::new(Connection {
        sender: Mutex::new(sender),
        traffic: Arc::clone(&traffic),
        life: Arc::clone(&life),
    });
    let driver = Driver {
        http2,
        keep_alive,
        traffic,
        handle: Arc::downgrade(&connection),
        life,
    };
    Ok((connection, driver))
}

/// Whether the peer ended the connection without a word.
fn is_end(error: &h2::Error) -> bool {
    let kind = error.get_io().map(std::io::Error::kind);
    matches!(
        kind,
        Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
    )
}

/// What a peer may send of an answer that nobody reads: a message of 2 MiB in one piece, and what goes around it.
const STREAM_WINDOW: u32 = (2 << 20) + (32 << 10);

/// Answers that nobody reads hold back [`STREAM_WINDOW`] each, and it takes 1,004 of them to stop the others: dubbo-go and
/// our own servers take 250 and 1,000 calls on a connection at a time. It is not the largest that HTTP/2 has, because Dubbo
/// Java 3.3.6 begins to count at a size of its own, by default one byte above that of HTTP/2
/// (`connection-initial-window-size`), and ends a connection whose window overflows by that.
const CONNECTION_WINDOW: u32 = (1 << 31) - (8 << 20);

/// The largest frame that is taken. Servers that fill it have a large answer here in few pieces, each after the other, which
/// makes calls of 1 MiB half as fast again as in frames of 16 KiB (`docs/performance.md`); and the answer behind it waits 2 ms
/// at most on a network of one gigabit.
const MAX_FRAME: u32 = 256 << 10;

/// How many of the calls that were cancelled in the last second are remembered: the rest of their answers is dropped
/// without a word, where a peer may count resets.
const REMEMBERED_RESETS: usize = 1_000;

/// What one block of headers or trailers may take: room for a status with long details.
const MAX_HEADER_LIST: u32 = 1024 * 1024;

/// A connection that lived this long was no mistake, even if nobody called.
const LASTING: Duration = Duration::from_secs(10);
