//! What a new connection speaks, seen from its first bytes.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// What came of waiting for a connection's first bytes.
#[derive(Debug)]
pub(crate) enum Opened<T> {
    /// HTTP/1, which begins with a method in capital letters.
    Http1(T),
    /// HTTP/2 with prior knowledge: its preface, which is still to be read.
    Http2(Preface<T>),
}

/// Reads just enough of `io` to know what it speaks.
///
/// # Errors
///
/// It speaks nothing known, has closed, or said too little for [`DEADLINE`].
pub(crate) async fn open<T: AsyncRead + Unpin>(mut io: T) -> io::Result<Opened<T>> {
    let recognise = async {
        let mut seen = [0; HTTP2.len()];
        let mut have = 0;
        loop {
            let more = io.read(&mut seen[have..]).await?;
            if more == 0 {
                let text = format!("closed after {have} bytes of the HTTP/2 preface");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
            have += more;
            match recognise(&seen[..have]) {
                Spoken::Http1 => return Ok(false),
                Spoken::Http2 => return Ok(true),
                Spoken::Other => {
                    let text = format!("neither HTTP/2 nor HTTP/1: {:?}", &seen[..have]);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                Spoken::Undecided => {}
            }
        }
    };
    let is_http2 = tokio::time::timeout(DEADLINE, recognise)
        .await
        .map_err(|_| {
            let text = format!("no HTTP/2 preface within {DEADLINE:?}");
            io::Error::new(io::ErrorKind::TimedOut, text)
        })??;
    Ok(if is_http2 {
        Opened::Http2(Preface { unread: HTTP2, io })
    } else {
        Opened::Http1(io)
    })
}

enum Spoken {
    Http1,
    Http2,
    Other,
    Undecided,
}

fn recognise(seen: &[u8]) -> Spoken {
    if seen == HTTP2 {
        return Spoken::Http2;
    }
    if HTTP2.starts_with(seen) {
        return Spoken::Undecided;
    }
    let letters = seen.iter().take_while(|b| b.is_ascii_uppercase()).count();
    match seen.get(letters) {
        None if letters <= LONGEST_METHOD => Spoken::Undecided,
        Some(b' ') if letters > 0 && letters <= LONGEST_METHOD => Spoken::Http1,
        _ => Spoken::Other,
    }
}

/// A connection whose HTTP/2 preface has been seen and is given to the next reader again.
#[derive(Debug)]
pub(crate) struct Preface<T> {
    unread: &'static [u8],
    io: T,
}

impl<T: AsyncRead + Unpin> AsyncRead for Preface<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unread.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        let (now, later) = self.unread.split_at(self.unread.len().min(buf.remaining()));
        buf.put_slice(now);
        self.unread = later;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Preface<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// A peer that connects and says nothing holds a socket for this long.
const DEADLINE: Duration = Duration::from_secs(10);

/// `OPTIONS` and `CONNECT`.
const LONGEST_METHOD: usize = 7;

/// RFC 9113 §3.4.
const HTTP2: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt as _, time::Instant};

    use super::*;

    async fn opened(bytes: &[u8]) -> io::Result<Opened<tokio::io::DuplexStream>> {
        let (mut near, far) = tokio::io::duplex(64);
        near.write_all(bytes).await?;
        drop(near);
        open(far).await
    }

    #[tokio::test]
    async fn what_is_spoken_shows_in_the_first_bytes() {
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"OPTIONS / HTTP/1.1\r\n",
            b"PUT /",
            b"PRI * HTTP/1.1",
        ] {
            let got = opened(bytes).await.expect("HTTP/1");
            assert!(matches!(got, Opened::Http1(_)), "{bytes:?}");
        }
        for (bytes, want) in [
            (&b"\x16\x03\x01\x02"[..], io::ErrorKind::InvalidData),
            (b"HELLOTHERE", io::ErrorKind::InvalidData),
            (b"\xda\xbb\xc2\x00", io::ErrorKind::InvalidData),
            (b"PRI * HTTP/2.0", io::ErrorKind::UnexpectedEof),
            (b"", io::ErrorKind::UnexpectedEof),
        ] {
            let error = opened(bytes).await.expect_err("refused");
            assert_eq!(error.kind(), want, "{bytes:?}: {error}");
        }
    }

    #[tokio::test]
    async fn the_preface_is_read_again_by_whoever_comes_next() {
        let (mut near, far) = tokio::io::duplex(8);
        let sent = [&HTTP2[..], b"after"].concat();
        let writer = async {
            near.write_all(&sent).await.expect("read");
            near.shutdown().await.expect("open");
        };
        let reader = async {
            let Opened::Http2(mut io) = open(far).await.expect("HTTP/2") else {
                panic!("taken for HTTP/1");
            };
            let mut all = Vec::new();
            io.read_to_end(&mut all).await.expect("open");
            assert_eq!(all, sent);
        };
        tokio::join!(writer, reader);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_given_up_on() {
        let (mut near, far) = tokio::io::duplex(64);
        near.write_all(&HTTP2[..10]).await.expect("room");
        let start = Instant::now();
        let error = open(far).await.expect_err("nothing more comes");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), DEADLINE);
    }
}
