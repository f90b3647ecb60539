//! Connections beyond what there may be: they are told, and closed.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use crate::net::Dialect;

/// Tells a peer that speaks `dialect` that there is no room for it, in its own words: a caller of gRPC takes the GOAWAY for
/// nothing done, and may call elsewhere or again.
pub(super) async fn turn_away<T: AsyncRead + AsyncWrite + Unpin>(dialect: Dialect, io: T) {
    let answer: &[u8] = match dialect {
        Dialect::Http2 => HTTP2,
        _ => HTTP1,
    };
    if let Ok(Err(error)) = timeout(LINGER, say(answer, io)).await {
        tracing::debug!(%error, "a connection that there is no room for is gone");
    }
}

async fn say<T: AsyncRead + AsyncWrite + Unpin>(answer: &[u8], mut io: T) -> io::Result<()> {
    io.write_all(answer).await?;
    io.shutdown().await?;
    // Closing with what it said unread would reset the connection before the answer is read.
    tokio::io::copy(&mut io.take(MAX_UNREAD), &mut tokio::io::sink()).await?;
    Ok(())
}

/// Empty SETTINGS, and GOAWAY with `ENHANCE_YOUR_CALM` after no stream (RFC 9113 §6.5, §6.8).
const HTTP2: &[u8] = b"\0\0\0\x04\0\0\0\0\0\
    \0\0\x1c\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0btoo_many_connections";

const HTTP1: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    connection: close\r\n\
    content-length: 102\r\n\
    content-type: application/json\r\n\
    retry-after: 1\r\n\
    \r\n\
    {\"code\":\"unavailable\",\"message\":\"the server has as many connections as its `max-connections` lets it\"}";

/// How long a peer may take to read it.
const LINGER: Duration = Duration::from_secs(1);
const MAX_UNREAD: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    async fn heard(dialect: Dialect) -> Vec<u8> {
        let (mut near, far) = tokio::io::duplex(1024);
        near.write_all(b"whatever it has to say")
            .await
            .expect("room");
        near.shutdown().await.expect("open");
        turn_away(dialect, far).await;
        let mut heard = Vec::new();
        near.read_to_end(&mut heard).await.expect("in memory");
        heard
    }

    #[tokio::test]
    async fn lengths_are_those_of_what_is_said() {
        let text = String::from_utf8(heard(Dialect::Http1).await).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        let length = format!("content-length: {}", body.len());
        assert!(head.contains(&length), "{head}; {}", body.len());
        let frames = heard(Dialect::Http2).await;
        let go_away = &frames[9..];
        assert_eq!(go_away.len() - 9, usize::from(go_away[2]), "{frames:?}");
        assert!(go_away.ends_with(b"too_many_connections"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_not_waited_for() {
        let (near, far) = tokio::io::duplex(1);
        turn_away(Dialect::Http2, far).await;
        drop(near);
    }
}
