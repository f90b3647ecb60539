//! Header blocks that go on and on (CVE-2024-27316): no stream is opened until a block ends, so nothing counts them.

use std::net::SocketAddr;

use super::{Blocks, Heard, Wire};
use crate::peer::h2::{Frame, kind};

/// Begins a block and continues it with `count` frames of `len` bytes, none of which is the last. What the server said.
///
/// The bytes are those of a field whose value is longer than all of them.
pub async fn run(address: SocketAddr, path: &str, count: usize, len: usize) -> Heard {
    let mut wire = Wire::http2(address, &[]).await;
    let block = [&Blocks::new(path).block()[..], ENDLESS_FIELD].concat();
    let mut open = wire
        .send(Frame::new(kind::HEADERS, 0, 1, block).encode())
        .await;
    let more = Frame::new(kind::CONTINUATION, 0, 1, vec![b'x'; len]).encode();
    for _ in 0..count {
        if !open {
            break;
        }
        open = wire.send(&more).await;
    }
    let said = |heard: &Heard| heard.go_away.is_some();
    wire.hear("the end of an endless header block", said)
        .await
        .clone()
}

/// A field `x` whose value has 2^27 bytes and 127 more, none of them here.
const ENDLESS_FIELD: &[u8] = b"\x00\x01x\x7f\x80\x80\x80\x40";
