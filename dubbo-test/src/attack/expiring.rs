//! Calls that are given up as soon as they are sent.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::time::timeout;

use super::Caller;

/// How calls ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// Answered in time.
    pub answered: usize,
    /// Answered with the code for too late.
    pub expired: usize,
    /// Given up by the caller.
    pub given_up: usize,
}

/// Makes `count` calls of `path` with `request` on one connection, 50 at a time, each with `patience` as its `grpc-timeout`
/// and given up after that.
///
/// # Panics
///
/// A call ends in any other way.
pub async fn run(
    address: SocketAddr,
    path: &str,
    count: usize,
    request: Bytes,
    patience: Duration,
) -> Ends {
    let caller = Caller::connect(address).await;
    let value = format!("{}u", patience.as_micros());
    let calls = stream::iter(0..count).map(async |_| {
        let headers = [("grpc-timeout", value.as_str())];
        timeout(patience, caller.call(path, &headers, request.clone())).await
    });
    let mut ends = Ends::default();
    let mut calls = std::pin::pin!(calls.buffer_unordered(AT_ONCE));
    while let Some(call) = calls.next().await {
        match call {
            Err(_) => ends.given_up += 1,
            Ok(Ok(answer)) => match answer.code() {
                Some(0) => ends.answered += 1,
                Some(DEADLINE_EXCEEDED) => ends.expired += 1,
                code => panic!("a call ended with {code:?}: {}", answer.message()),
            },
            Ok(Err(error)) => panic!("a call broke: {error}"),
        }
    }
    ends
}

const AT_ONCE: usize = 50;
const DEADLINE_EXCEEDED: u32 = 4;
