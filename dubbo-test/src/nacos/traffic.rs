//! What was said, for tests to look at.

use serde_json::Value;
use tokio::time::Instant;

use super::{key::ConnectionId, wire::Payload};

/// One message on a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// When it was read, or given to the connection to be sent.
    pub at: Instant,
    /// On which connection.
    pub connection: ConnectionId,
    /// Who said it.
    pub sender: Sender,
    /// Its type, such as `SubscribeServiceRequest`.
    pub kind: String,
    /// Its JSON.
    pub body: Value,
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Requests, and acknowledgements of pushes.
    Client,
    /// Answers and pushes.
    Server,
}

impl Message {
    pub(super) fn new(
        at: Instant,
        connection: ConnectionId,
        sender: Sender,
        payload: &Payload,
    ) -> Self {
        Self {
            at,
            connection,
            sender,
            kind: payload.kind().to_owned(),
            body: payload.body(),
        }
    }
}
