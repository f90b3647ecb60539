//! TLS as `dubbo.tls_config` sets it (`docs/spec/config.md` §7). rustls is named here and in `net::stream`, nowhere else.
//!
//! A configuration is made from the files, and again when they change; every handshake asks for the newest one. What has
//! shaken hands before goes on as it is.

mod explain;
mod files;
mod reload;

use std::{fmt, io, sync::Arc};

use dubbo_core::{protocol::ProtocolError, tls::TlsFiles};
use socket2::SockRef;
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{
    TlsAcceptor, TlsConnector, TlsStream,
    rustls::{
        ClientConfig, ServerConfig,
        crypto::{CryptoProvider, ring},
        pki_types::ServerName,
        server::WebPkiClientVerifier,
    },
};

pub(super) use self::explain::explain;
use self::{files::Own, reload::Reloading};
use super::{Dialect, Stream};

/// How a port makes its connections secure.
pub(super) struct ServerTls(Arc<Reloading<ServerConfigs>>);

impl ServerTls {
    /// Reads `files`, if they are to secure servers.
    ///
    /// # Errors
    ///
    /// One of them cannot be used. The error names it and its key.
    pub(super) fn load(files: &Arc<TlsFiles>) -> Result<Option<Self>, ProtocolError> {
        if !files.secures_servers() {
            return Ok(None);
        }
        let configs = Reloading::load("server", files, ServerConfigs::read)?;
        Ok(Some(Self(configs)))
    }

    /// Reads the files again whenever they change, until it is dropped.
    pub(super) fn follow(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.follow()
    }

    /// Shakes hands with a client; `negotiates` is whether it may choose a dialect in that. The caller bounds the time.
    ///
    /// # Errors
    ///
    /// In words that an operator understands.
    pub(super) async fn accept(&self, io: TcpStream, negotiates: bool) -> io::Result<Stream> {
        let configs = self.0.current();
        let config = if negotiates {
            &configs.negotiating
        } else {
            &configs.plain
        };
        let accepted = TlsAcceptor::from(Arc::clone(config)).accept(io).await;
        accepted
            .map(|stream| Stream::Tls(Box::new(stream.into())))
            .map_err(explain::explain_handshake)
    }
}

/// With the names of the dialects that peers negotiate, and without.
struct ServerConfigs {
    negotiating: Arc<ServerConfig>,
    plain: Arc<ServerConfig>,
}

impl ServerConfigs {
    fn read(files: &TlsFiles) -> Result<Self, ProtocolError> {
        let (certificates, key, refused) = Own::read(files)?.expect(SET).into_parts();
        let provider = provider();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect(VERSIONS);
        let builder = match files::authorities(files)? {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(authorities.into(), provider);
                let verifier = verifier
                    .build()
                    .expect("invariant: a file of authorities has at least one");
                builder.with_client_cert_verifier(verifier)
            }
        };
        let plain = builder
            .with_single_cert(certificates, key)
            .map_err(refused)?;
        let mut negotiating = plain.clone();
        negotiating.alpn_protocols = [Dialect::Http2, Dialect::Http1]
            .into_iter()
            .filter_map(Dialect::alpn)
            .map(<[u8]>::to_vec)
            .collect();
        Ok(Self {
            negotiating: Arc::new(negotiating),
            plain: Arc::new(plain),
        })
    }
}

/// How a client makes its connections secure.
pub(super) struct ClientTls {
    config: Arc<Reloading<Arc<ClientConfig>>>,
    /// The name of every server, unless it is the host of its address.
    server: Option<ServerName<'static>>,
    /// Reads the files again when they change.
    _following: JoinSet<()>,
}

impl ClientTls {
    /// Reads `files`, if they are to secure clients, for one that speaks `dialect`, and again whenever they change, on the
    /// runtime that this is called on.
    ///
    /// # Errors
    ///
    /// One of them cannot be used, or the name of the server. The error names it and its key.
    pub(super) fn load(
        files: &Arc<TlsFiles>,
        dialect: Dialect,
    ) -> Result<Option<Self>, ProtocolError> {
        if !files.secures_clients() {
            return Ok(None);
        }
        let server = files.server_name.as_deref().map(|name| {
            ServerName::try_from(name.to_owned()).map_err(|_| ProtocolError::Setting {
                setting: files::SERVER_NAME.to_owned(),
                reason: format!("`{name}` is neither a DNS name nor an IP address"),
            })
        });
        let server = server.transpose()?;
        let config = Reloading::load("client", files, move |files| client_config(files, dialect))?;
        let mut following = JoinSet::new();
        following.spawn(config.follow());
        Ok(Some(Self {
            config,
            server,
            _following: following,
        }))
    }

    /// Shakes hands with the server at `address`, a `host:port`. The caller bounds the time.
    ///
    /// # Errors
    ///
    /// In words that an operator understands.
    pub(super) async fn connect(&self, address: &str, io: TcpStream) -> io::Result<Stream> {
        let server = match &self.server {
            Some(server) => server.clone(),
            None => host(address)?,
        };
        let connector = TlsConnector::from(Arc::clone(&*self.config.current()));
        let connected = connector.connect(server, io).await;
        connected
            .map(|stream| Stream::Tls(Box::new(stream.into())))
            .map_err(explain::explain_handshake)
    }
}

fn client_config(files: &TlsFiles, dialect: Dialect) -> Result<Arc<ClientConfig>, ProtocolError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect(VERSIONS)
        .with_root_certificates(files::authorities(files)?.expect(SET));
    let mut config = match Own::read(files)?.map(Own::into_parts) {
        None => builder.with_no_client_auth(),
        Some((certificates, key, refused)) => builder
            .with_client_auth_cert(certificates, key)
            .map_err(refused)?,
    };
    config.alpn_protocols = dialect.alpn().map(<[u8]>::to_vec).into_iter().collect();
    Ok(Arc::new(config))
}

/// What a server said before it ended a connection: after a handshake of TLS 1.3 it may still refuse the client's
/// certificate, and the client, who is writing by then, would learn only that it cannot.
pub(super) fn last_words(stream: &mut TlsStream<TcpStream>) -> Option<io::Error> {
    let TlsStream::Client(stream) = stream else {
        return None;
    };
    let (io, session) = stream.get_mut();
    // tokio would read only after its next look at the socket.
    session.read_tls(&mut &*SockRef::from(&*io)).ok()?;
    let error = session.process_new_packets().err()?;
    Some(explain(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Says nothing of the keys in it.
impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

/// Says nothing of the keys in it.
impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").finish_non_exhaustive()
    }
}

/// The host of `address` as the name of a server.
fn host(address: &str) -> io::Result<ServerName<'static>> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_owned()).map_err(|_| {
        let text = format!(
            "`{host}` cannot be the name in a certificate; set `{}`",
            files::SERVER_NAME
        );
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

/// Named each time, because a default of the process would be somebody else's choice.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

const VERSIONS: &str = "invariant: ring has suites for the usual versions of TLS";
const SET: &str = "invariant: it was looked for what is set before";
