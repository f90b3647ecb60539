//! Peers that do not speak TLS where nothing else is served.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use super::{Dialect, preface::listen_to};

/// Tells a caller of HTTP/1, such as `curl http://`, what it did wrong, and says what is to be said about any peer. Others
/// would take an answer that is not encrypted for nonsense.
pub(super) async fn refuse<T: AsyncRead + AsyncWrite + Unpin>(
    io: T,
    silence: Duration,
    patience: Duration,
) -> io::Error {
    let spoken = match listen_to(io, silence, patience).await {
        Ok((dialect, io)) => {
            if dialect == Dialect::Http1 {
                // Who hangs up before it has read the answer misses nothing that it wants to know.
                let _ = timeout(LINGER, answer(io)).await;
            }
            format!("it speaks {dialect} without TLS")
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            "it does not speak TLS".to_owned()
        }
        Err(error) => return error,
    };
    let text = format!("{spoken}, and this port serves nothing else");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

async fn answer<T: AsyncRead + AsyncWrite + Unpin>(mut io: T) -> io::Result<()> {
    io.write_all(ANSWER).await?;
    io.shutdown().await?;
    // Closing with its request unread would reset the connection before the answer is read.
    tokio::io::copy(&mut io.take(MAX_UNREAD), &mut tokio::io::sink()).await?;
    Ok(())
}

const ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    connection: close\r\n\
    content-length: 46\r\n\
    content-type: text/plain; charset=utf-8\r\n\
    \r\n\
    only TLS is spoken on this port: use https://\n";

/// How long a caller may take to read it.
const LINGER: Duration = Duration::from_secs(1);
const MAX_UNREAD: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_caller_of_http1_reads_what_it_did_wrong_and_others_read_nothing() {
        for (said, about, is_answered) in [
            (
                &b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"[..],
                "HTTP/1 without TLS",
                true,
            ),
            (
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "HTTP/2 without TLS",
                false,
            ),
            (b"\xda\xbb\xc2\0", "dubbo without TLS", false),
            (b"help\r\n", "it does not speak TLS", false),
        ] {
            let (mut near, far) = tokio::io::duplex(1024);
            near.write_all(said).await.expect("room");
            near.shutdown().await.expect("open");
            let error = refuse(far, LINGER, LINGER).await;
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
            assert!(error.to_string().contains(about), "{error}");
            let mut heard = String::new();
            near.read_to_string(&mut heard).await.expect("text");
            assert_eq!(!heard.is_empty(), is_answered, "{heard}");
            if let Some((head, body)) = heard.split_once("\r\n\r\n") {
                assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
                let length = format!("content-length: {}", body.len());
                assert!(head.contains(&length), "{heard}");
            }
        }
    }
}
