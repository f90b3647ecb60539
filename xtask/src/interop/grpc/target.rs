//! The provider that tools ask.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{failure::Failure, process};

use super::super::{build::Program, peer::Peer, ports};

/// Our provider, once as it is and once with TLS.
pub(super) struct Target {
    /// Without TLS, `HOST:PORT`.
    pub(super) plain: String,
    /// With TLS.
    pub(super) secure: String,
    /// The certificate of the one with TLS, its own authority.
    pub(super) cert: PathBuf,
    _peers: [Peer; 2],
}

impl Target {
    /// Starts both.
    pub(super) fn start(provider: &Program) -> Result<Self, Failure> {
        let folder = process::target_dir().join("interop/grpc");
        let [cert, key] = certificate(&folder)?;
        let (plain, secure) = (ports::free()?, ports::free()?);
        let start = |name: &str, port: u16, more: &[String]| {
            let mut args = vec![format!("--tri={port}"), "--until-stdin-ends".to_owned()];
            args.extend_from_slice(more);
            let peer = Peer::start(provider, &args, folder.join(format!("{name}.log")))?;
            peer.await_notice(START_LIMIT, |notice| notice.event == "ready")?;
            Ok::<_, Failure>(peer)
        };
        let tls = [
            format!("--tls-cert={}", cert.display()),
            format!("--tls-key={}", key.display()),
        ];
        Ok(Self {
            _peers: [start("plain", plain, &[])?, start("tls", secure, &tls)?],
            plain: format!("127.0.0.1:{plain}"),
            secure: format!("127.0.0.1:{secure}"),
            cert,
        })
    }
}

/// Makes a certificate and its key for this machine's own address.
fn certificate(folder: &Path) -> Result<[PathBuf; 2], Failure> {
    fs::create_dir_all(folder).map_err(|e| {
        Failure::new(
            format!("cannot make {}: {e}", folder.display()),
            "look at the rights of that path",
        )
    })?;
    let files = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    let mut openssl = process::program("openssl");
    openssl
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=interop", "-addext"])
        .arg("subjectAltName=IP:127.0.0.1")
        .arg("-out")
        .arg(&files[0])
        .arg("-keyout")
        .arg(&files[1]);
    let made = openssl
        .output()
        .map_err(|e| process::not_started(&openssl, &e))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        return Err(Failure::new(
            format!("openssl makes no certificate: {}", said.trim()),
            "install another version of openssl",
        ));
    }
    Ok(files)
}

const START_LIMIT: Duration = Duration::from_secs(30);
