//! Requests that begin and never end.

use std::net::SocketAddr;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::io::AsyncWriteExt as _;

use super::{Answer, Caller, Wire};
use crate::soon;

/// Opens `count` calls on one connection, sends `part` of each request and nothing more. The answers that the server gave
/// without any more of them, in the order in which they came.
///
/// # Panics
///
/// A stream is not answered at all, but reset.
pub async fn http2(address: SocketAddr, path: &str, count: usize, part: &[u8]) -> Vec<Answer> {
    let caller = Caller::connect(address).await;
    let answers = FuturesUnordered::new();
    for _ in 0..count {
        let mut opened = caller.open(path, &[]).await.expect("the server listens");
        let sent = opened.body.send_data(part.to_vec().into(), false);
        sent.expect("the stream is open");
        answers.push(opened.answer());
    }
    answers
        .map(|answer| answer.expect("the server answers what is not complete"))
        .collect()
        .await
}

/// Sends `head` and `part` over HTTP/1 and nothing more: what the server says until it hangs up.
pub async fn http1(address: SocketAddr, head: &str, part: &[u8]) -> String {
    let mut socket = Wire::connect(address).await.into_socket();
    let request = [head.as_bytes(), part].concat();
    socket.write_all(&request).await.expect("it is open");
    let mut answer = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut socket, &mut answer);
    // A reset is an end, too.
    let _ = soon("the end of a slow request", read).await;
    String::from_utf8_lossy(&answer).into_owned()
}
