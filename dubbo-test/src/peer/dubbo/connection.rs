//! Connections that a test reads and writes.

use std::{fmt, net::SocketAddr};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::Frame;
use crate::soon;

/// A provider whose every word is a test's.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on a free port of the loopback interface.
    pub async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        Self { listener, address }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection.
    pub async fn accept(&self) -> Connection {
        let (io, _) = soon("a connection", self.listener.accept())
            .await
            .expect("a connection");
        Connection::over(io)
    }
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// One end of a connection. Dropping it closes it.
pub struct Connection {
    io: Box<dyn Io>,
    unread: Vec<u8>,
}

impl Connection {
    /// Connects to a provider.
    pub async fn connect(address: SocketAddr) -> Self {
        let io = soon("a connection", TcpStream::connect(address)).await;
        Self::over(io.expect("somebody listens"))
    }

    /// Speaks over `io`.
    pub fn over(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self {
            io: Box::new(io),
            unread: Vec::new(),
        }
    }

    /// Sends a frame.
    pub async fn send(&mut self, frame: Frame) {
        self.send_bytes(&frame.encode()).await;
    }

    /// Sends bytes, whatever they are.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let sent = soon("the peer to read", self.io.write_all(bytes)).await;
        sent.expect("the connection is open");
        self.io.flush().await.expect("the connection is open");
    }

    /// The next frame, whatever it is.
    pub async fn frame(&mut self) -> Frame {
        let frame = soon("a frame", self.frame_or_end()).await;
        frame.expect("the peer closed the connection instead of sending a frame")
    }

    /// The next frame; `None` at the end. However long it takes.
    pub async fn frame_or_end(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = Frame::take(&mut self.unread) {
                return Some(frame);
            }
            match self.io.read_buf(&mut self.unread).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next call. Heartbeats before it are answered.
    pub async fn call(&mut self) -> Frame {
        loop {
            let frame = self.frame().await;
            if frame.is_call() {
                return frame;
            }
            if frame.is_heartbeat() {
                self.send(Frame::answer(&frame, 20, *b"N")).await;
            }
        }
    }

    /// Answers every frame with those that `script` makes of it, until the peer closes the connection.
    pub async fn answer_all(mut self, mut script: impl FnMut(&Frame) -> Vec<Frame>) {
        while let Some(frame) = self.frame_or_end().await {
            let answers = script(&frame);
            let bytes: Vec<u8> = answers.iter().flat_map(Frame::encode).collect();
            if self.io.write_all(&bytes).await.is_err() {
                return;
            }
        }
    }

    /// Waits until the peer has closed the connection. What it sends before is dropped.
    pub async fn closed(&mut self) {
        let rest = async { while self.frame_or_end().await.is_some() {} };
        soon("the peer to close the connection", rest).await;
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}
