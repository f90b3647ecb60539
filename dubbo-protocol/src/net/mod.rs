//! Sockets: listening on ports and connecting to peers, secured if so set, and seeing what is spoken. Protocols are
//! elsewhere.
//!
//! A protocol has one [`Network`], made from the context that it is made in:
//!
//! - **To serve** it [listens](Network::listen) on a port for the [`Dialect`]s that it speaks. Protocols of one instance
//!   that name the same address share the port: the first bytes of a connection tell whose it is. It gets every such
//!   connection as an [`Accepted`], whose stream still has those bytes to be read; TLS is done by then.
//! - **To call** it makes a [`Dialer`] for the dialect that it speaks, [prepares](Connector::prepare) it when something is
//!   referred to, and [connects](Connector::connect) with it.
//!
//! [`Stream`] is what both get: an enum, so that reading costs no more than on a socket. Its buffers need flushing.

mod accept;
mod connect;
mod dialect;
mod open;
mod plain;
mod port;
mod preface;
mod stream;
mod tls;
mod undecided;

use std::{fmt, sync::Arc};

use dubbo_core::{extension::ExtensionContext, protocol::ProtocolError, tls::TlsFiles};

pub use self::open::{Connection, connections};
use self::port::Ports;
pub(crate) use self::{
    accept::{Trouble, accept_until},
    connect::{Connector, Dialer, hint_unheard},
    dialect::Dialect,
    port::{Accepted, Listening},
    preface::Preface,
    stream::Stream,
};

/// The ports and the TLS settings of one instance. Clones are the same.
///
/// The default has ports of its own and no TLS.
#[derive(Clone, Default)]
pub(crate) struct Network {
    ports: Arc<Ports>,
    tls: Arc<TlsFiles>,
}

impl Network {
    /// What all protocols of the instance share that `cx` is of.
    pub(crate) fn of(cx: &ExtensionContext<'_>) -> Self {
        Self {
            ports: cx.shared(),
            tls: cx.shared(),
        }
    }

    /// Takes connections in at `host` and `port` that speak one of `dialects`, and hands them to `take`, until the handle
    /// is closed or dropped. Port 0 is a free one of its own; another that is open for other dialects already is shared.
    ///
    /// `take` runs on the task that found out: it spawns what serves the connection, and waits for nothing.
    ///
    /// # Errors
    ///
    /// The address cannot be bound, one of the dialects is taken there, or the files of TLS cannot be used.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing open.
    pub(crate) async fn listen(
        &self,
        host: &str,
        port: u16,
        dialects: &'static [Dialect],
        take: impl Fn(Accepted) + Send + Sync + 'static,
    ) -> Result<Listening, ProtocolError> {
        self.ports
            .open(host, port, &self.tls, dialects, Arc::new(take))
            .await
    }

    /// What connects to peers that speak `dialect`.
    pub(crate) fn dialer(&self, dialect: Dialect) -> Dialer {
        Dialer::new(Arc::clone(&self.tls), dialect)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
