//! Requests with bodies for what is not served: whoever answers them has to do something about the bodies.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};

use super::Caller;

/// Makes `count` calls of `/no.Such/Method` with bodies of `len` bytes on one connection, 50 at a time. The gRPC codes that
/// they were answered with, each once.
///
/// # Panics
///
/// One is not answered, within [`PATIENCE`](crate::PATIENCE).
pub async fn run(address: SocketAddr, count: usize, len: usize) -> Vec<Option<u32>> {
    let caller = Caller::connect(address).await;
    let body = Bytes::from(vec![0; len]);
    let calls = stream::iter(0..count).map(async |_| {
        let answer = caller.call("/no.Such/Method", &[], body.clone()).await;
        answer.expect("it is answered").code()
    });
    let mut codes = Vec::new();
    let mut calls = std::pin::pin!(calls.buffer_unordered(AT_ONCE));
    while let Some(code) = calls.next().await {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}

const AT_ONCE: usize = 50;
