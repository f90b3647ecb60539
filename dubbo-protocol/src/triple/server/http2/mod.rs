//! HTTP/2 as a server, on `h2` itself: a server library between would cost a tenth of a small call (`docs/performance.md`),
//! and take a caller's reset for the end of its request.

mod exchange;
mod noting;

use std::{
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use h2::{
    RecvStream,
    server::{self, SendResponse},
};
use http::Request;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

pub(super) use self::exchange::exchange;
use self::noting::Noting;
use super::{bounds::Bounds, pace::Pace};
use crate::triple::silence::{Heard, KeepAlive};

/// One connection, from its preface on: a future that ends with it.
///
/// Calls that are known to be quick are made here and now, those that came together one after another, and their answers go
/// out together: to hand each to a task, which another thread may take, costs twice what the call does. Whatever has to wait
/// for something, or may take long, becomes a task.
pub(super) struct Connection<T, B, C, S> {
    state: State<T>,
    /// Makes a call of a request.
    begin: B,
    /// Makes a task of what it is given.
    spawn: S,
    /// What has come and is to be begun.
    come: Vec<(Request<RecvStream>, SendResponse<Bytes>)>,
    /// Where a call is made.
    place: Pin<Box<Option<C>>>,
    heard: Arc<Heard>,
    keep_alive: Option<KeepAlive>,
    /// Ends when the peer has fallen silent.
    silence: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    leaving: bool,
}

enum State<T> {
    Handshake(server::Handshake<Noting<T>, Bytes>),
    Open(server::Connection<Noting<T>, Bytes>),
}

/// Why a connection ended before its time.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The peer broke a rule, or the socket broke.
    #[error(transparent)]
    Http2(#[from] h2::Error),
    /// The peer does not answer any more.
    #[error("the peer left a PING without an answer")]
    Silent,
}

/// A call that is to be made, and what is known of how long it takes.
pub(super) struct Begun<C> {
    pub(super) call: C,
    pub(super) pace: Option<Pace>,
}

impl<T, B, C, S> Connection<T, B, C, S>
where
    T: AsyncRead + AsyncWrite + Unpin,
    B: FnMut(Request<RecvStream>, SendResponse<Bytes>) -> Begun<C> + Unpin,
    C: Future<Output = ()>,
    S: FnMut(Task<C>) + Unpin,
{
    /// Serves `io`: `begin` makes a call of each request and of how to answer it, and `spawn` a task of what takes long.
    pub(super) fn new(io: T, bounds: &Bounds, begin: B, spawn: S) -> Self {
        let heard = Arc::new(Heard::start());
        let io = Noting {
            io,
            heard: Arc::clone(&heard),
        };
        let handshake = server::Builder::new()
            .initial_connection_window_size(bounds.connection_window)
            .initial_window_size(bounds.stream_window)
            .max_concurrent_streams(bounds.streams)
            .max_frame_size(bounds.frame)
            .max_header_list_size(bounds.header_list)
            .max_local_error_reset_streams(Some(BAD_FRAMES * bounds.streams as usize))
            .max_pending_accept_reset_streams(RESETS * bounds.streams as usize)
            .handshake(io);
        Self {
            state: State::Handshake(handshake),
            begin,
            spawn,
            come: Vec::new(),
            place: Box::pin(None),
            heard,
            keep_alive: bounds.keep_alive.map(|interval| KeepAlive {
                interval,
                timeout: bounds.keep_alive_timeout,
            }),
            silence: None,
            leaving: false,
        }
    }

    /// Asks the peer to open no more streams. The connection ends with the last of those that it has.
    pub(super) fn leave(self: Pin<&mut Self>) {
        let this = self.get_mut();
        this.leaving = true;
        if let State::Open(connection) = &mut this.state {
            connection.graceful_shutdown();
        }
    }

    /// Makes the calls that have come, or tasks of them. Then there may be something to send.
    fn make_calls(&mut self, cx: &mut Context<'_>) {
        let mut now = Instant::now();
        let mut room = TOGETHER;
        for (request, respond) in self.come.drain(..) {
            let Begun { call, pace } = (self.begin)(request, respond);
            self.place.set(Some(call));
            match &pace {
                Some(pace) if pace.is_quick() && !room.is_zero() => {
                    let over = poll_call(&mut self.place, cx).is_ready();
                    let before = std::mem::replace(&mut now, Instant::now());
                    let took = now - before;
                    pace.note(took);
                    room = room.saturating_sub(took);
                    if over {
                        self.place.set(None);
                        continue;
                    }
                }
                _ => {}
            }
            let call = std::mem::replace(&mut self.place, Box::pin(None));
            (self.spawn)(Task { call, pace });
        }
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        loop {
            match &mut self.state {
                State::Handshake(handshake) => {
                    let mut connection = ready!(pin!(handshake).poll(cx))?;
                    if let (Some(keep_alive), Some(pings)) =
                        (self.keep_alive, connection.ping_pong())
                    {
                        let heard = Arc::clone(&self.heard);
                        self.silence = Some(Box::pin(keep_alive.watch(heard, pings)));
                    }
                    if self.leaving {
                        connection.graceful_shutdown();
                    }
                    self.state = State::Open(connection);
                }
                State::Open(connection) => match ready!(connection.poll_accept(cx)) {
                    Some(Ok(come)) => self.come.push(come),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    None => return Poll::Ready(Ok(())),
                },
            }
        }
    }
}

impl<T, B, C, S> Future for Connection<T, B, C, S>
where
    T: AsyncRead + AsyncWrite + Unpin,
    B: FnMut(Request<RecvStream>, SendResponse<Bytes>) -> Begun<C> + Unpin,
    C: Future<Output = ()>,
    S: FnMut(Task<C>) + Unpin,
{
    type Output = Result<(), Broken>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            if let Poll::Ready(ended) = this.poll_accept(cx) {
                return Poll::Ready(ended.map_err(Broken::from));
            }
            if this.come.is_empty() {
                break;
            }
            this.make_calls(cx);
        }
        match &mut this.silence {
            Some(silence) => silence.as_mut().poll(cx).map(|()| Err(Broken::Silent)),
            None => Poll::Pending,
        }
    }
}

/// A call that is made apart from its connection.
pub(super) struct Task<C> {
    call: Pin<Box<Option<C>>>,
    pace: Option<Pace>,
}

impl<C: Future<Output = ()>> Future for Task<C> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let start = Instant::now();
        let polled = poll_call(&mut self.call, cx);
        if let Some(pace) = &self.pace {
            pace.note(start.elapsed());
        }
        polled
    }
}

fn poll_call<C: Future<Output = ()>>(
    call: &mut Pin<Box<Option<C>>>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    match call.as_mut().as_pin_mut() {
        Some(call) => call.poll(cx),
        None => Poll::Ready(()),
    }
}

/// How long the calls that are made together may keep the answers of the first ones waiting. The others become tasks.
const TOGETHER: Duration = Duration::from_micros(500);

/// Streams that a peer opens and resets before they are looked at, for each that it can have open. A caller that gives up on
/// all its calls at once does that with all its streams and, as the room is free again at once, with as many more while this
/// side is busy; the calls of everybody else on the connection must survive it. Beyond is the rapid-reset attack
/// (CVE-2023-44487): until it is noticed it has the memory of so many streams without bodies.
const RESETS: usize = 10;

/// Streams that this side has to reset, or refuses, in the same measure. They are counted for as long as the connection lives,
/// and some are ordinary: Dubbo Java does not wait for a free stream. Beyond is an attack that makes this side send frames
/// which nobody reads (CVE-2025-8671).
const BAD_FRAMES: usize = 100;
