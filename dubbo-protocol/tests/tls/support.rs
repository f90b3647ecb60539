//! Two sides whose files a test names, and a peer that is none of ours.

use std::{net::SocketAddr, path::Path, sync::Arc};

use dubbo_core::{
    call::Stub,
    codegen::Proto,
    extension::Extensions,
    protocol::{Exporter, Protocol},
    provider::Service,
    request::Request,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Status,
    tls::TlsFiles,
    url::Url,
};
use dubbo_protocol as _;
use dubbo_test::{certificates::Installed, soon};
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

/// Triple with these files, as an instance of its own has it.
pub(crate) fn triple(files: TlsFiles) -> Arc<dyn Protocol> {
    let extensions = Extensions::linked().expect("no name is there twice");
    extensions.share(files);
    let url = Url::new("tri", "127.0.0.1");
    extensions.create("tri", &url).expect("it is linked")
}

/// Certificates are asked for and shown.
pub(crate) fn mutual(installed: &Installed) -> TlsFiles {
    let mut files = TlsFiles::none();
    files.ca_cert = Some(installed.ca());
    files.cert = Some(installed.cert());
    files.key = Some(installed.key());
    files
}

/// A certificate is shown and none is asked for.
pub(crate) fn one_way(installed: &Installed) -> TlsFiles {
    let mut files = mutual(installed);
    files.ca_cert = None;
    files
}

/// One that serves a greeter on a free port.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    _protocol: Arc<dyn Protocol>,
    _exporter: Box<dyn Exporter>,
}

impl Provider {
    pub(crate) async fn new(files: TlsFiles) -> Self {
        let protocol = triple(files);
        let url = Url::new("tri", "127.0.0.1")
            .with_port(0)
            .with_path("greet.Greeter");
        let service = Service::builder(greeter(), "Greeter")
            .unary::<Proto<String>, Proto<String>, _, _>(0, |request: Request<String>| async move {
                Ok(format!("hello {}", request.message()).into())
            })
            .build();
        let invoker = service.into_invoker(url.clone());
        let exporter = protocol.export(&url, greeter(), invoker).await;
        let exporter = exporter.expect("it is exported");
        let port = exporter.url().port().expect("a bound port");
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            _protocol: protocol,
            _exporter: exporter,
        }
    }
}

/// A stub for the greeter at `address`; another `query` is another connection.
pub(crate) async fn stub(protocol: &dyn Protocol, address: SocketAddr, query: &str) -> Stub {
    let url = format!("tri://{address}/greet.Greeter?{query}");
    let url: Url = url.parse().expect("a good URL");
    let invoker = protocol.refer(&url, greeter()).await.expect("good files");
    Stub::new(invoker, url.service_key(), greeter())
}

pub(crate) async fn greet(stub: &Stub) -> Result<String, Status> {
    let call = stub.unary::<Proto<String>, Proto<String>>(0, Request::new("x".to_owned()));
    let reply = soon("an answer", call).await?;
    Ok(reply.into_message())
}

/// The message of a call that must fail for want of a connection.
pub(crate) async fn refusal(stub: &Stub) -> String {
    let status = greet(stub).await.expect_err("it is refused");
    status.message().to_owned()
}

/// Shakes hands as a client that offers `alpn`, trusts the authorities in `ca` and shows `own`.
pub(crate) async fn shake_hands(
    address: SocketAddr,
    ca: &Path,
    own: Option<&Installed>,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut authorities = RootCertStore::empty();
    for authority in CertificateDer::pem_file_iter(ca).expect("it is there") {
        authorities
            .add(authority.expect("PEM"))
            .expect("an authority");
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the usual ones")
        .with_root_certificates(authorities);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let chain = CertificateDer::pem_file_iter(own.cert()).expect("it is there");
            let chain = chain.collect::<Result<_, _>>().expect("PEM");
            let key = PrivateKeyDer::from_pem_file(own.key()).expect("a key");
            builder
                .with_client_auth_cert(chain, key)
                .expect("they belong together")
        }
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let socket = TcpStream::connect(address).await.expect("it listens");
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let connector = TlsConnector::from(Arc::new(config));
    soon("a handshake", connector.connect(name, socket)).await
}

/// The certificate that a server has shown.
pub(crate) fn shown(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    let shown = stream.get_ref().1.peer_certificates();
    shown.expect("servers show one")[0].to_vec()
}

/// The certificate in a file.
pub(crate) fn certificate(path: &Path) -> Vec<u8> {
    CertificateDer::from_pem_file(path).expect("PEM").to_vec()
}

fn greeter() -> Arc<ServiceDescriptor> {
    let methods = vec![MethodDescriptor::new("Greet", CallKind::Unary)];
    Arc::new(ServiceDescriptor::new("greet.Greeter", methods))
}
