//! Passing frames on one by one, with others put in between.

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, split},
    sync::mpsc,
    task::JoinSet,
};

use super::frame::{Frame, PREFACE};
use crate::soon;

/// A connection behind which a peer of `h2` works. Dropping it closes the socket at once.
pub(super) struct Relay {
    to_peer: mpsc::UnboundedSender<Order>,
    from_peer: mpsc::UnboundedReceiver<Frame>,
    /// Frames that were read while another was looked for.
    passed: Vec<Frame>,
    _tasks: JoinSet<()>,
}

/// What to do at the next boundary between frames.
enum Order {
    /// Send these bytes.
    Insert(Bytes),
    /// Send nothing more, ever, and keep the socket open.
    Mute,
}

/// Which end of the connection the peer of `h2` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It sends the preface.
    Client,
    /// It receives the preface.
    Server,
}

impl Relay {
    /// Relays between `socket` and the stream that is returned for `h2`, which is at `end`.
    pub(super) fn start<T>(socket: T, end: End) -> (Self, DuplexStream)
    where
        T: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (inner, outer) = tokio::io::duplex(BUFFER);
        let (from_socket, to_socket) = split(socket);
        let (from_inner, to_inner) = split(outer);
        let (to_peer, orders) = mpsc::unbounded_channel();
        let (seen, from_peer) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(pass(
            from_inner,
            to_socket,
            (end == End::Client).then_some(PREFACE.len()),
            Some(orders),
            None,
        ));
        tasks.spawn(pass(
            from_socket,
            to_inner,
            (end == End::Server).then_some(PREFACE.len()),
            None,
            Some(seen),
        ));
        let relay = Self {
            to_peer,
            from_peer,
            passed: Vec::new(),
            _tasks: tasks,
        };
        (relay, inner)
    }

    /// Sends `frame` to the peer, after what has been sent.
    pub(super) fn insert(&self, bytes: Bytes) {
        // A connection that has ended takes nothing: the test sees that elsewhere.
        let _ = self.to_peer.send(Order::Insert(bytes));
    }

    /// Sends nothing more.
    pub(super) fn mute(&self) {
        let _ = self.to_peer.send(Order::Mute);
    }

    /// The first frame of the peer that `wanted` likes; each frame is given out once.
    pub(super) async fn frame(&mut self, what: &str, wanted: impl Fn(&Frame) -> bool) -> Frame {
        if let Some(at) = self.passed.iter().position(&wanted) {
            return self.passed.remove(at);
        }
        soon(what, async {
            while let Some(frame) = self.from_peer.recv().await {
                if wanted(&frame) {
                    return frame;
                }
                self.passed.push(frame);
            }
            panic!(
                "the peer closed the connection before {what}; it sent {:?}",
                self.passed
            );
        })
        .await
    }

    /// Waits until the peer has closed its side, or both.
    pub(super) async fn closed(&mut self) {
        soon("the end of the connection", async {
            while let Some(frame) = self.from_peer.recv().await {
                self.passed.push(frame);
            }
        })
        .await;
    }
}

/// Passes frames on until one of both ends is closed.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    preface: Option<usize>,
    mut orders: Option<mpsc::UnboundedReceiver<Order>>,
    seen: Option<mpsc::UnboundedSender<Frame>>,
) {
    let mut bytes = BytesMut::new();
    let mut preface = preface.unwrap_or(0);
    loop {
        let next_order = async {
            match &mut orders {
                Some(orders) => orders.recv().await,
                None => std::future::pending().await,
            }
        };
        let read = tokio::select! {
            // What was sent before the order was given goes first.
            biased;
            read = from.read_buf(&mut bytes) => read,
            order = next_order => match order {
                Some(Order::Insert(inserted)) => {
                    if to.write_all(&inserted).await.is_err() {
                        return;
                    }
                    continue;
                }
                Some(Order::Mute) => std::future::pending().await,
                None => return,
            },
        };
        if !matches!(read, Ok(count) if count > 0) {
            let _ = to.shutdown().await;
            return;
        }
        let first = preface.min(bytes.len());
        let mut out = bytes.split_to(first);
        preface -= first;
        if preface == 0 {
            while let Some(frame) = Frame::decode(&mut bytes) {
                out.extend_from_slice(&frame.encode());
                if let Some(seen) = &seen {
                    let _ = seen.send(frame);
                }
            }
        }
        if to.write_all(&out).await.is_err() {
            return;
        }
    }
}

const BUFFER: usize = 1024 * 1024;
