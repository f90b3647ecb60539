//! More streams than are allowed, all at once.

use std::net::SocketAddr;

use super::{Blocks, Heard, Wire};
use crate::peer::h2::{Frame, kind};

/// Opens `count` streams without waiting for anything, and ends none. What the server said by the time that it had seen all
/// of them; `taken` is how many it can have open.
pub async fn run(address: SocketAddr, path: &str, count: usize, taken: usize) -> Heard {
    let mut wire = Wire::http2(address, &[]).await;
    let mut blocks = Blocks::new(path);
    let mut bytes = Vec::new();
    for stream in (1..).step_by(2).take(count) {
        let open = Frame::new(kind::HEADERS, END_HEADERS, stream, blocks.block());
        bytes.extend_from_slice(&open.encode());
    }
    wire.send(&bytes).await;
    let refused = |heard: &Heard| {
        heard.resets.values().sum::<usize>() >= count - taken || heard.go_away.is_some()
    };
    wire.hear("the refusal of streams", refused).await.clone()
}

const END_HEADERS: u8 = 4;
