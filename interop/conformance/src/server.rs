//! The server under test.

use std::{error::Error, io, time::Duration};

use bytes::Bytes;
use dubbo::{
    Instance,
    config::{Compression, CompressionConfig, ProtocolConfig, ShutdownConfig, TripleConfig},
};
use tokio::io::{stdin, stdout};

use crate::{
    files::Files,
    read,
    service::Service,
    suite::{ConformanceServiceServer, ServerCompatRequest, ServerCompatResponse},
    write,
};

/// Reads from standard input how to serve, tells on standard output where, and serves until it is told to end.
///
/// # Errors
///
/// What it was told cannot be done, or nobody tells.
pub async fn serve() -> Result<(), Box<dyn Error>> {
    let asked: ServerCompatRequest = read(&mut stdin())
        .await?
        .ok_or("standard input has ended and did not say how to serve")?;
    let files = Files::new()?;
    let (instance, certificate) = instance(&asked, &files)?;
    instance.start().await?;
    let exported = instance.exported();
    let url = exported.first().ok_or("nothing is served")?;
    let told = ServerCompatResponse {
        host: LOCAL.to_owned(),
        port: url.port().ok_or("the server has no port")?.into(),
        pem_cert: certificate,
    };
    write(&mut stdout(), &told).await?;
    instance.serve().await?;
    Ok(())
}

/// What serves as `asked`, and with which certificate.
fn instance(
    asked: &ServerCompatRequest,
    files: &Files,
) -> Result<(Instance, Bytes), Box<dyn Error>> {
    // Each caller gets what it offers first, however short the answer is.
    let compression = CompressionConfig::new()
        .send(Compression::ALL.to_vec())
        .min_size(0);
    let mut triple = TripleConfig::new().compression(compression);
    if asked.message_receive_limit > 0 {
        triple = triple.max_server_recv_msg_size(asked.message_receive_limit.into());
    }
    let protocol = ProtocolConfig::tri().ip(LOCAL).port(0).triple(triple);
    // The runner ends the server when it has got its answers.
    let at_once = ShutdownConfig::new()
        .timeout(Duration::from_secs(1))
        .step_timeout(Duration::ZERO)
        .offline_request_window_timeout(Duration::ZERO);
    let mut builder = Instance::builder()
        .application("conformance-server")
        .protocol("tri", protocol)
        .shutdown(at_once)
        .provide(ConformanceServiceServer::new(Service));
    let mut certificate = Bytes::new();
    if asked.use_tls {
        let own = asked.server_creds.as_ref();
        let own = own.ok_or_else(|| io::Error::other("TLS is asked for without a certificate"))?;
        certificate = own.cert.clone();
        builder = builder.tls(files.tls(Some(own), &asked.client_tls_cert)?);
    }
    Ok((builder.build()?, certificate))
}

const LOCAL: &str = "127.0.0.1";
