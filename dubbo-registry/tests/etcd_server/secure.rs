//! Servers behind TLS.

use std::{fmt::Write as _, fs, io, net::SocketAddr, path::Path, sync::Arc};

use dubbo_registry as _;
use dubbo_test::certificates::{Authority, Issued};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::WebPkiClientVerifier,
    },
};

use crate::{
    servers::{Program, consumer, corner, provider, sees, server},
    world::Eyes,
};

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_connection_is_secure_when_the_url_names_an_authority() {
    let (eyes, root) = (Eyes::on(&server()), corner("tls"));
    let authority = Authority::new();
    let front = Front::before(
        &server(),
        &authority,
        &authority.issue(&["127.0.0.1"]),
        false,
    )
    .await;
    let params = params(&root, &[("ca-cert-file", &authority.file())]);
    let registry = Program::new(&front.address(), &params).registry();
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("registers");
    let mut found = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut found, &[1], false).await;
    registry.close().await;
    assert_eq!(eyes.keys(&root).await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn who_has_to_shows_a_certificate_and_asks_for_another_name() {
    let root = corner("mtls");
    let authority = Authority::new();
    let front = Front::before(
        &server(),
        &authority,
        &authority.issue(&["etcd.test"]),
        true,
    )
    .await;
    let own = authority.issue(&["client"]);
    let ca = authority.file();
    let all = [
        ("ca-cert-file", &*ca),
        ("tls-cert-file", &*own.cert),
        ("tls-key-file", &*own.key),
    ];
    let named = format!("{}&tls-server-name=etcd.test", params(&root, &all));
    let registry = Program::new(&front.address(), &named).registry();
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("registers");
    registry.close().await;
    for (params, want) in [
        (params(&root, &all), "not valid for name"),
        (
            format!("{}&tls-server-name=etcd.test", params(&root, &all[..1])),
            "CertificateRequired",
        ),
    ] {
        let registry = Program::new(&front.address(), &params).registry();
        let error = registry
            .lookup(&consumer("x.Y"))
            .await
            .expect_err("not secure");
        assert!(error.to_string().contains(want), "{error}");
        registry.close().await;
    }
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn whom_nobody_vouches_for_is_not_trusted() {
    let root = corner("strange");
    let (ours, theirs) = (Authority::new(), Authority::new());
    let front = Front::before(&server(), &theirs, &theirs.issue(&["127.0.0.1"]), false).await;
    let params = params(&root, &[("ca-cert-file", &ours.file())]);
    let registry = Program::new(&front.address(), &params).registry();
    let error = registry
        .lookup(&consumer("x.Y"))
        .await
        .expect_err("not trusted");
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    registry.close().await;
    // Nor is one that has no TLS at all.
    let registry = Program::new(&server(), &params).registry();
    registry
        .lookup(&consumer("x.Y"))
        .await
        .expect_err("no TLS there");
    registry.close().await;
}

fn params(root: &str, files: &[(&str, &Path)]) -> String {
    let mut params = format!("group={root}&timeout=2s");
    for (key, file) in files {
        write!(params, "&{key}={}", file.display()).expect("a text");
    }
    params
}

/// Speaks TLS to clients, and plainly to a server. Ends when it is dropped.
struct Front {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Front {
    async fn before(server: &str, authority: &Authority, own: &Issued, asks: bool) -> Self {
        let config = config(authority, own, asks);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = server.to_owned();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.expect("accepts");
                let (acceptor, server) = (acceptor.clone(), server.clone());
                connections.spawn(async move {
                    let mut client = acceptor.accept(client).await?;
                    let mut server = TcpStream::connect(server).await?;
                    copy_bidirectional(&mut client, &mut server).await?;
                    io::Result::Ok(())
                });
            }
        });
        Self {
            address,
            _task: task,
        }
    }

    fn address(&self) -> String {
        self.address.to_string()
    }
}

fn config(authority: &Authority, own: &Issued, asks: bool) -> ServerConfig {
    let read = |path: &Path| fs::read(path).expect("is there");
    let chain = CertificateDer::pem_slice_iter(&read(&own.cert)).collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_slice(&read(&own.key)).expect("PEM");
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has them");
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(&read(&authority.file())).expect("PEM");
        roots.add(root).expect("a certificate");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().expect("has roots"))
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder
        .with_single_cert(chain.expect("PEM"), key)
        .expect("they belong together");
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}
