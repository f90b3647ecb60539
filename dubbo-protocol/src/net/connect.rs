//! Reaching a peer: the one place that opens sockets to others.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use dubbo_core::{protocol::ProtocolError, tls::TlsFiles};
use tokio::net::TcpStream;

use super::{Dialect, Stream, tls::ClientTls};

/// Opens connections to peers.
#[async_trait]
pub(crate) trait Connector: Send + Sync + 'static {
    /// Gets ready to connect, when something is referred to: whether connections will be secure.
    ///
    /// # Errors
    ///
    /// Settings that could only fail every attempt, such as a file without a certificate.
    fn prepare(&self) -> Result<bool, ProtocolError>;

    /// Connects once to `address`, a `host:port`, and shakes hands if connections are secure. The caller bounds the time.
    ///
    /// # Errors
    ///
    /// The text says why, and not where.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the socket.
    async fn connect(&self, address: &str) -> io::Result<Stream>;
}

/// What may be wrong when a connection ended before the peer said a word in the protocol that this side speaks.
/// `is_secure` is whether TLS was spoken.
pub(crate) fn hint_unheard(is_secure: bool) -> &'static str {
    if is_secure {
        "the peer may serve another protocol; if it demands a certificate, see `dubbo.tls_config.tls-cert-file`"
    } else {
        "the peer may serve another protocol; if it demands TLS, set `dubbo.tls_config.ca-cert-file`"
    }
}

/// TCP, secured if the instance's settings say so. Every address that the host's name has is tried in turn.
#[derive(Debug)]
pub(crate) struct Dialer {
    files: Arc<TlsFiles>,
    dialect: Dialect,
    /// Made when it is first needed. A failure is no answer for ever: the file may be there later.
    tls: OnceLock<Option<ClientTls>>,
}

impl Dialer {
    pub(super) fn new(files: Arc<TlsFiles>, dialect: Dialect) -> Self {
        Self {
            files,
            dialect,
            tls: OnceLock::new(),
        }
    }

    fn tls(&self) -> Result<Option<&ClientTls>, ProtocolError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.as_ref());
        }
        let tls = ClientTls::load(&self.files, self.dialect)?;
        Ok(self.tls.get_or_init(|| tls).as_ref())
    }
}

#[async_trait]
impl Connector for Dialer {
    fn prepare(&self) -> Result<bool, ProtocolError> {
        self.tls().map(|tls| tls.is_some())
    }

    async fn connect(&self, address: &str) -> io::Result<Stream> {
        let tls = self.tls().map_err(io::Error::other)?;
        let stream = TcpStream::connect(address).await?;
        // Small frames are answers that someone waits for.
        stream.set_nodelay(true)?;
        match tls {
            None => Ok(Stream::Tcp(stream)),
            Some(tls) => tls.connect(address, stream).await,
        }
    }
}
