//! Opening a connection of HTTP/1.1.

use std::{pin::Pin, sync::Arc, time::Duration};

use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::RequestBody;
use crate::net::Connector;

/// How the address is reached.
#[derive(Clone)]
pub(super) struct Dial {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) address: Arc<str>,
    /// How long an attempt may take.
    pub(super) timeout: Duration,
}

/// What moves the bytes of a connection until its end.
pub(super) type Moving = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

impl Dial {
    /// Connects once. Whether the peer speaks HTTP shows with its first answer.
    ///
    /// # Errors
    ///
    /// The text says why.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the socket.
    pub(super) async fn connect(&self) -> Result<(SendRequest<RequestBody>, Moving), String> {
        let connected = timeout(self.timeout, self.connector.connect(&self.address)).await;
        let io = connected
            .map_err(|_| format!("no answer within {:?}", self.timeout))?
            .map_err(|error| error.to_string())?;
        let (sender, connection) = Builder::new()
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BLOCK)
            .handshake(TokioIo::new(io))
            .await
            .map_err(|error| error.to_string())?;
        Ok((sender, Box::pin(connection)))
    }
}

/// As many as answers over HTTP/2 have room for, if they are short.
const MAX_HEADERS: usize = 1_024;

/// What the head of an answer may take: room for a status with long details.
const MAX_HEADER_BLOCK: usize = 1024 * 1024;
