//! Messages that are larger than they may be, or say so.

use std::net::SocketAddr;

use bytes::{BufMut as _, BytesMut};

use super::{Answer, Caller};

/// Says that a message of `len` bytes comes, sends none of it, and does not end the request. The answer.
pub async fn promised(address: SocketAddr, path: &str, len: u32) -> Answer {
    let caller = Caller::connect(address).await;
    let mut opened = caller.open(path, &[]).await.expect("the server listens");
    let prefix = [&[0][..], &len.to_be_bytes()].concat();
    let sent = opened.body.send_data(prefix.into(), false);
    sent.expect("the stream is open");
    opened.answer().await.expect("the server answers a promise")
}

/// Sends a whole message of `len` bytes. The answer.
pub async fn sent(address: SocketAddr, path: &str, len: usize) -> Answer {
    let caller = Caller::connect(address).await;
    let mut message = BytesMut::zeroed(5 + len);
    let prefix = u32::try_from(len).expect("it is smaller");
    (&mut message[1..5]).put_u32(prefix);
    let answer = caller.call(path, &[], message).await;
    answer.expect("the server answers a large message")
}
