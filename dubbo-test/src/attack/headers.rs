//! Headers that are too large, or too many.

use std::net::SocketAddr;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::{Blocks, Heard, Wire};
use crate::peer::h2::{Frame, kind};

/// Sends `count` fields of no use, each with a name of its own and an empty value. What the server said.
pub async fn many(address: SocketAddr, path: &str, count: usize) -> Heard {
    let mut fields = BytesMut::new();
    for n in 0..count {
        let name = format!("x{n}");
        fields.put_slice(&[0, u8::try_from(name.len()).expect("short")]);
        fields.put_slice(name.as_bytes());
        fields.put_u8(0);
    }
    send(address, path, fields.freeze()).await
}

/// Sends `count` fields with values of `len` bytes, for which HPACK takes one byte each after the first: the table that it
/// has for them makes much of little.
pub async fn repeated(address: SocketAddr, path: &str, count: usize, len: u8) -> Heard {
    let mut fields = BytesMut::from(&b"\x40\x01x"[..]);
    fields.put_u8(len);
    fields.put_bytes(b'y', usize::from(len));
    fields.put_bytes(LAST_REMEMBERED, count - 1);
    send(address, path, fields.freeze()).await
}

/// Sends a block with `fields` in as many frames as it takes, and waits for what comes of it.
async fn send(address: SocketAddr, path: &str, fields: Bytes) -> Heard {
    let mut wire = Wire::http2(address, &[]).await;
    let block = [&Blocks::new(path).block()[..], &fields].concat();
    let mut pieces = block.chunks(FRAME).peekable();
    let mut kind = kind::HEADERS;
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        let mut flags = u8::from(last) * END_HEADERS;
        if kind == kind::HEADERS {
            flags |= END_STREAM;
        }
        if !wire
            .send(Frame::new(kind, flags, 1, piece.to_vec()).encode())
            .await
        {
            break;
        }
        kind = kind::CONTINUATION;
    }
    let said =
        |heard: &Heard| heard.ended > 0 || heard.go_away.is_some() || !heard.resets.is_empty();
    wire.hear("an answer to headers", said).await.clone()
}

/// What fits into one frame is counted as headers, and what does not as frames.
const FRAME: usize = 256 << 10;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The last entry of HPACK's table.
const LAST_REMEMBERED: u8 = 0xbe;
