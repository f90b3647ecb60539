//! A client of one HTTP server, on one connection that is kept: a collector or a gateway.

use std::{error::Error as StdError, fmt, fs, io, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Uri, header::HOST, uri::PathAndQuery};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Mutex,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use crate::config::observe::Endpoint;

/// One server.
pub(crate) struct Client {
    endpoint: Endpoint,
    version: Version,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    connection: Mutex<Option<Connection>>,
}

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    #[cfg_attr(
        not(feature = "otel"),
        expect(dead_code, reason = "only collectors are spoken to by gRPC")
    )]
    Http2,
}

enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// An answer: all of it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// The headers of the answer and its trailers: gRPC says how it went in either.
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "it is for gRPC"))]
    pub(crate) told: HeaderMap,
}

impl Client {
    /// Connects with the first request. A server that is spoken to by TLS is trusted by the authorities in `authorities`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or it is TLS and there is none.
    pub(crate) fn new(
        endpoint: Endpoint,
        version: Version,
        authorities: Option<&Path>,
    ) -> Result<Self, String> {
        let tls = match (endpoint.tls, authorities) {
            (false, _) => None,
            (true, None) => {
                return Err("there is no `tls_config.ca-cert-file` to trust it by".to_owned());
            }
            (true, Some(path)) => Some(tls(&endpoint, version, path)?),
        };
        Ok(Self {
            endpoint,
            version,
            tls,
            connection: Mutex::new(None),
        })
    }

    /// Sends a request for `path`, which stands after that of the endpoint. One that meets a connection which has been
    /// closed meanwhile is sent on a new one.
    ///
    /// # Errors
    ///
    /// There is no connection or no answer in `patience`.
    ///
    /// # Cancel safety
    ///
    /// The request may have been sent when the future is dropped.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
        patience: Duration,
    ) -> Result<Answer, SendError> {
        let asked = timeout(patience, self.ask(path, headers, body)).await;
        let asked = asked.unwrap_or_else(|_| {
            let text = format!("no answer within {} ms", patience.as_millis());
            Err(io::Error::new(io::ErrorKind::TimedOut, text).into())
        });
        asked.map_err(|why| SendError {
            to: self.endpoint.authority.clone(),
            why,
        })
    }

    async fn ask(&self, path: &str, headers: &HeaderMap, body: Bytes) -> Result<Answer, Why> {
        let mut kept = self.connection.lock().await;
        // It comes back when the answer is there.
        if let Some(mut connection) = kept.take() {
            let request = self.request(path, headers, body.clone())?;
            if let Ok(answer) = connection.send(request).await {
                *kept = Some(connection);
                return Ok(answer);
            }
        }
        let mut connection = self.connect().await?;
        let answer = connection.send(self.request(path, headers, body)?).await?;
        *kept = Some(connection);
        Ok(answer)
    }

    fn request(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, Why> {
        let path = format!("{}{path}", self.endpoint.base);
        let authority = &*self.endpoint.authority;
        let uri = match self.version {
            Version::Http1 => Uri::from(path.parse::<PathAndQuery>()?),
            Version::Http2 => {
                let scheme = if self.endpoint.tls { "https" } else { "http" };
                Uri::builder()
                    .scheme(scheme)
                    .authority(authority)
                    .path_and_query(path)
                    .build()?
            }
        };
        let mut request = Request::post(uri).body(Full::new(body))?;
        *request.headers_mut() = headers.clone();
        if self.version == Version::Http1 {
            request.headers_mut().insert(HOST, authority.parse()?);
        }
        Ok(request)
    }

    async fn connect(&self) -> Result<Connection, Why> {
        let io = TcpStream::connect(&*self.endpoint.authority).await?;
        io.set_nodelay(true)?;
        match &self.tls {
            None => self.shake_hands(io).await,
            Some((connector, name)) => {
                let io = connector.connect(name.clone(), io).await?;
                self.shake_hands(io).await
            }
        }
    }

    async fn shake_hands<S>(&self, io: S) -> Result<Connection, Why>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = TokioIo::new(io);
        Ok(match self.version {
            Version::Http1 => {
                let (handle, connection) = http1::handshake(io).await?;
                // detached: a connection ends with its handle, or with the runtime.
                tokio::spawn(connection);
                Connection::Http1(handle)
            }
            Version::Http2 => {
                let (handle, connection) = http2::handshake(TokioExecutor::new(), io).await?;
                // detached: likewise.
                tokio::spawn(connection);
                Connection::Http2(handle)
            }
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.endpoint).finish()
    }
}

impl Connection {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Answer, Why> {
        let answer: Response<_> = match self {
            Self::Http1(handle) => {
                handle.ready().await?;
                handle.send_request(request).await?
            }
            Self::Http2(handle) => {
                handle.ready().await?;
                handle.send_request(request).await?
            }
        };
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await?;
        let mut told = parts.headers;
        told.extend(body.trailers().cloned().unwrap_or_default());
        Ok(Answer {
            status: parts.status,
            body: body.to_bytes(),
            told,
        })
    }
}

/// Why something could not be sent.
#[derive(Debug, thiserror::Error)]
#[error("sending to {to} failed: {why}")]
pub(crate) struct SendError {
    to: String,
    why: Why,
}

type Why = Box<dyn StdError + Send + Sync>;

fn tls(
    endpoint: &Endpoint,
    version: Version,
    authorities: &Path,
) -> Result<(TlsConnector, ServerName<'static>), String> {
    let bad = |why: &dyn fmt::Display| format!("{}: {why}", authorities.display());
    let text = fs::read(authorities).map_err(|error| bad(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| bad(&error))?;
        roots.add(certificate).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"there is no certificate in it"));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(&error))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    let protocol: &[u8] = match version {
        Version::Http1 => b"http/1.1",
        Version::Http2 => b"h2",
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    let host = endpoint
        .authority
        .rsplit_once(':')
        .map_or("", |(host, _)| host);
    let host = host.trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host).map_err(|error| bad(&error))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// Answers say little. What is longer is no collector's.
const LARGEST_ANSWER: usize = 64 * 1024;
