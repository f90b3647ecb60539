//! Reaching a peer: the one place that opens sockets.

use std::io;

use async_trait::async_trait;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// Bytes to and from a peer.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Opens a way to `host:port`.
#[async_trait]
pub(crate) trait Connector: Send + Sync + 'static {
    /// Connects once. The caller bounds the time.
    async fn connect(&self, address: &str) -> io::Result<Box<dyn Transport>>;
}

/// Plain TCP; every address that the host's name has is tried in turn.
#[derive(Debug)]
pub(crate) struct Tcp;

#[async_trait]
impl Connector for Tcp {
    async fn connect(&self, address: &str) -> io::Result<Box<dyn Transport>> {
        let stream = TcpStream::connect(address).await?;
        // Small frames are answers that someone waits for.
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}
