//! The first bytes of a connection: looked at here, and read again by whoever serves it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf},
    time::{Instant, timeout_at},
};

use super::{
    dialect::{Dialect, LOOK, Spoken, recognise},
    open::Entered,
};

/// Reads just enough of `io` to know what it speaks, and gives it back with that still to be read.
///
/// # Errors
///
/// It speaks nothing known, has closed, said nothing for `silence`, or too little for `patience`.
///
/// # Cancel safety
///
/// Dropping the future drops `io`.
pub(super) async fn listen_to<T: AsyncRead + Unpin>(
    mut io: T,
    silence: Duration,
    patience: Duration,
) -> io::Result<(Dialect, Preface<T>)> {
    let mut seen = [0; LOOK];
    let mut have = 0;
    let mut allowed = silence;
    let mut until = Instant::now() + allowed;
    loop {
        let more = timeout_at(until, io.read(&mut seen[have..]))
            .await
            .map_err(|_| {
                let text = format!(
                    "it said {have} bytes within {allowed:?}, which does not tell what it speaks"
                );
                io::Error::new(io::ErrorKind::TimedOut, text)
            })??;
        if more == 0 {
            let text = format!("closed after {have} bytes, before it was clear what it speaks");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        if have == 0 {
            allowed = patience;
            until = Instant::now() + allowed;
        }
        have += more;
        let text = match recognise(&seen[..have]) {
            Spoken::Known(dialect) => {
                let (from, to) = (0, have);
                let preface = Preface {
                    seen,
                    from,
                    to,
                    io,
                    entered: None,
                };
                return Ok((dialect, preface));
            }
            Spoken::Undecided => continue,
            Spoken::Tls => {
                let text =
                    "it speaks TLS, and this port does not: see `dubbo.tls_config.tls-cert-file`";
                return Err(io::Error::new(SPEAKS_TLS, text));
            }
            Spoken::Other => format!(
                "it speaks nothing that is known here: \"{}\"",
                seen[..have].escape_ascii()
            ),
        };
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
}

/// The kind of the error when a peer speaks TLS.
pub(super) const SPEAKS_TLS: io::ErrorKind = io::ErrorKind::Unsupported;

/// A connection whose first bytes have been seen and are given to the next reader again.
#[derive(Debug)]
pub(crate) struct Preface<T> {
    seen: [u8; LOOK],
    /// Where in `seen` the unread bytes begin and end.
    from: usize,
    to: usize,
    io: T,
    /// Ends with the connection.
    entered: Option<Entered>,
}

impl<T> Preface<T> {
    /// The same, listed among those that are open.
    pub(super) fn entered(mut self, entered: Entered) -> Self {
        self.entered = Some(entered);
        self
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Preface<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.from == self.to {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        let to = self.to.min(self.from + buf.remaining());
        buf.put_slice(&self.seen[self.from..to]);
        self.from = to;
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

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::{super::dialect::UNDECIDED, *};

    async fn heard(bytes: &[u8]) -> io::Result<(Dialect, Preface<tokio::io::DuplexStream>)> {
        let (mut near, far) = tokio::io::duplex(64);
        near.write_all(bytes).await?;
        drop(near);
        listen_to(far, UNDECIDED, UNDECIDED).await
    }

    #[tokio::test]
    async fn what_cannot_be_served_is_refused() {
        for (bytes, want, about) in [
            (&b"\x16\x03\x01\x02"[..], SPEAKS_TLS, "TLS"),
            (b"help\r\n", io::ErrorKind::InvalidData, "\"help\\r\\n\""),
            (b"PRI * HTTP/2.0", io::ErrorKind::UnexpectedEof, "14 bytes"),
            (b"\xda", io::ErrorKind::UnexpectedEof, "1 bytes"),
            (b"", io::ErrorKind::UnexpectedEof, "0 bytes"),
        ] {
            let error = heard(bytes).await.expect_err("refused");
            assert_eq!(error.kind(), want, "{bytes:?}: {error}");
            assert!(error.to_string().contains(about), "{bytes:?}: {error}");
        }
    }

    #[tokio::test]
    async fn what_was_seen_is_read_again_by_whoever_comes_next() {
        let http2 = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nafter"[..];
        let dubbo = &b"\xda\xbb\xe2\0\0\0\0\0\0\0\0\x01\0\0\0\x01N and the next frame"[..];
        for (sent, want) in [
            (http2, Dialect::Http2),
            (dubbo, Dialect::Dubbo),
            (b"GET /", Dialect::Http1),
        ] {
            let (mut near, far) = tokio::io::duplex(8);
            let writer = async {
                near.write_all(sent).await.expect("read");
                near.shutdown().await.expect("open");
            };
            let reader = async {
                let (dialect, mut io) = listen_to(far, UNDECIDED, UNDECIDED).await.expect("known");
                assert_eq!(dialect, want);
                let mut all = vec![io.read_u8().await.expect("some")];
                io.read_to_end(&mut all).await.expect("open");
                assert_eq!(all, sent);
            };
            tokio::join!(writer, reader);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_may_be_silent_for_a_while_and_undecided_for_a_shorter_one() {
        let silence = Duration::from_mins(3);
        for (said, want) in [(&b""[..], silence), (b"PRI *", UNDECIDED)] {
            let (mut near, far) = tokio::io::duplex(64);
            near.write_all(said).await.expect("room");
            let start = Instant::now();
            let error = listen_to(far, silence, UNDECIDED)
                .await
                .expect_err("no more comes");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(start.elapsed(), want);
        }
    }
}
