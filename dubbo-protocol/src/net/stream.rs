//! The bytes of one connection, whatever carries them.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::TlsStream;

use super::tls;

/// A connection to or from a peer.
///
/// What is written may stay in a buffer until it is flushed. The end of the bytes is the end, whether or not TLS was told
/// so before: every protocol here says how long its messages are, and finds out itself when one is cut off.
#[derive(Debug)]
pub(crate) enum Stream {
    /// As it is.
    Tcp(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
    /// Within a test.
    #[cfg(test)]
    Memory(tokio::io::DuplexStream),
}

impl Stream {
    /// Whether it is encrypted.
    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

/// Calls the same method of what carries the bytes. One that fails to write may have been told why.
macro_rules! carrier {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self.get_mut() {
            Self::Tcp(io) => Pin::new(io).$method($($argument),*),
            Self::Tls(io) => Pin::new(&mut **io)
                .$method($($argument),*)
                .map_err(|error| tls::last_words(io).unwrap_or(error)),
            #[cfg(test)]
            Self::Memory(io) => Pin::new(io).$method($($argument),*),
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buf).map(|read| match read {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
                read => read.map_err(tls::explain),
            }),
            #[cfg(test)]
            Self::Memory(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        carrier!(self.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        carrier!(self.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        carrier!(self.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        carrier!(self.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
            #[cfg(test)]
            Self::Memory(io) => io.is_write_vectored(),
        }
    }
}
