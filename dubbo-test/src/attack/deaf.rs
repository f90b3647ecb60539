//! Callers that ask for much and take none of it.

use std::net::SocketAddr;

use super::{Blocks, Heard, Wire};
use crate::peer::h2::{Frame, kind};

/// Makes `count` calls of `path`, each with `request`, gives no room for any answer, and goes on to acknowledge whatever has
/// to be. What the server said by the time that it had answered all of them as far as it could.
///
/// The connection is open for as long as the returned one.
pub async fn without_window(
    address: SocketAddr,
    path: &str,
    count: usize,
    request: &[u8],
) -> (Wire, Heard) {
    let mut wire = Wire::http2(address, &[(INITIAL_WINDOW_SIZE, 0)]).await;
    wire.send(calls(path, count, request)).await;
    let answered = |heard: &Heard| heard.blocks >= count || heard.go_away.is_some();
    let heard = wire
        .hear("answers that nobody takes", answered)
        .await
        .clone();
    (wire, heard)
}

/// Makes `count` calls of `path`, each with `request`, and reads nothing at all from the connection: how many of the bytes the
/// server took.
pub async fn without_reading(
    address: SocketAddr,
    path: &str,
    count: usize,
    request: &[u8],
) -> (Wire, usize) {
    let mut wire = Wire::http2_deaf(address, &[(INITIAL_WINDOW_SIZE, LARGEST)]).await;
    let sent = wire.send_deaf(&calls(path, count, request)).await;
    (wire, sent)
}

fn calls(path: &str, count: usize, request: &[u8]) -> Vec<u8> {
    let mut blocks = Blocks::new(path);
    let mut bytes = Vec::new();
    for stream in (1..).step_by(2).take(count) {
        let open = Frame::new(kind::HEADERS, END_HEADERS, stream, blocks.block());
        bytes.extend_from_slice(&open.encode());
        bytes.extend_from_slice(&Frame::data(stream, request.to_vec(), true).encode());
    }
    bytes
}

const END_HEADERS: u8 = 4;
const INITIAL_WINDOW_SIZE: u16 = 4;
const LARGEST: u32 = (1 << 31) - 1;
