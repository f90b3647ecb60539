//! A connection on which every frame is written by hand.

use std::{io, net::SocketAddr};

use bytes::BytesMut;
use dubbo_test::{
    peer::h2::{Frame, PREFACE, Server, kind},
    soon,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// One end of it.
pub(crate) struct Wire {
    socket: TcpStream,
    came: BytesMut,
}

impl Wire {
    /// As a client.
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let mut socket = TcpStream::connect(address).await.expect("it listens");
        socket.write_all(PREFACE).await.expect("open");
        Self {
            socket,
            came: BytesMut::new(),
        }
    }

    /// As a server.
    pub(crate) async fn accept(server: &Server) -> Self {
        let mut socket = server.accept_raw().await;
        let mut preface = vec![0; PREFACE.len()];
        socket.read_exact(&mut preface).await.expect("a preface");
        assert_eq!(preface, PREFACE);
        Self {
            socket,
            came: BytesMut::new(),
        }
    }

    pub(crate) async fn write(&mut self, frame: &Frame) {
        self.socket.write_all(&frame.encode()).await.expect("open");
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    ///
    /// The other side broke the connection off.
    pub(crate) async fn read(&mut self) -> io::Result<Option<Frame>> {
        soon("a frame or the end", async {
            loop {
                if let Some(frame) = Frame::decode(&mut self.came) {
                    return Ok(Some(frame));
                }
                if self.socket.read_buf(&mut self.came).await? == 0 {
                    return Ok(None);
                }
            }
        })
        .await
    }

    /// Says that nothing more will be sent.
    pub(crate) async fn finish(&mut self) {
        let _ = self.socket.shutdown().await;
    }
}

/// SETTINGS with these names and values.
pub(crate) fn settings(settings: &[(String, u32)]) -> Frame {
    let settings = settings.iter().map(|(name, value)| {
        let id = NAMES.iter().position(|other| other == name).expect(name) + 1;
        (u16::try_from(id).expect("small"), *value)
    });
    Frame::settings(&settings.collect::<Vec<_>>())
}

/// The value of `ENABLE_PUSH` in SETTINGS.
pub(crate) fn push(frame: &Frame) -> Option<u32> {
    assert_eq!(frame.kind, kind::SETTINGS);
    let mut entries = frame.payload.chunks_exact(6);
    let entry = entries.find(|entry| entry.starts_with(&[0, 2]))?;
    Some(u32::from_be_bytes(
        entry[2..].try_into().expect("four bytes"),
    ))
}

/// By their numbers, from 1 on.
const NAMES: [&str; 9] = [
    "HEADER_TABLE_SIZE",
    "ENABLE_PUSH",
    "MAX_CONCURRENT_STREAMS",
    "INITIAL_WINDOW_SIZE",
    "MAX_FRAME_SIZE",
    "MAX_HEADER_LIST_SIZE",
    "7",
    "ENABLE_CONNECT_PROTOCOL",
    "NO_RFC7540_PRIORITIES",
];
