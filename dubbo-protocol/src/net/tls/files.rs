//! What is in the files of `dubbo.tls_config`. Every error names the key and the file.

use std::{fmt, fs, path::Path};

use dubbo_core::{protocol::ProtocolError, tls::TlsFiles};
use tokio_rustls::rustls::{
    Error, RootCertStore,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};

/// The own certificate, the next one after it, and the private key, if both files are set.
pub(super) fn own_certificate(
    files: &TlsFiles,
) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, ProtocolError> {
    let (Some(cert), Some(key)) = (files.cert.as_deref(), files.key.as_deref()) else {
        return Ok(None);
    };
    let text = read(KEY, key)?;
    let key_der = PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound if contains(&text, b"ENCRYPTED") => bad(
            KEY,
            Some(key),
            "the private key in it is encrypted, which is not supported; store it without a password",
        ),
        pem::Error::NoItemsFound => bad(KEY, Some(key), "there is no private key in it"),
        error => bad(KEY, Some(key), format!("it is not PEM: {error}")),
    })?;
    Ok(Some((certificates(CERT, cert)?, key_der)))
}

/// The authorities that certificates of peers must come from, if their file is set.
pub(super) fn authorities(files: &TlsFiles) -> Result<Option<RootCertStore>, ProtocolError> {
    let Some(path) = files.ca_cert.as_deref() else {
        return Ok(None);
    };
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(CA, path)? {
        authorities
            .add(certificate)
            .map_err(|error| bad(CA, Some(path), format!("a certificate in it: {error}")))?;
    }
    Ok(Some(authorities))
}

/// What is wrong with the file of a key.
pub(super) fn bad(key: &str, path: Option<&Path>, reason: impl fmt::Display) -> ProtocolError {
    let path = path.unwrap_or(Path::new("")).display();
    ProtocolError::Setting {
        setting: key.to_owned(),
        reason: format!("{path}: {reason}"),
    }
}

/// What is wrong with a certificate and its private key.
pub(super) fn bad_pair(files: &TlsFiles, error: &Error) -> ProtocolError {
    let cert = files.cert.as_deref().unwrap_or(Path::new("")).display();
    match error {
        Error::InconsistentKeys(_) => bad(
            KEY,
            files.key.as_deref(),
            format!("it is not the key of the certificate in {cert} (`{CERT}`)"),
        ),
        Error::InvalidCertificate(_) => bad(CERT, files.cert.as_deref(), error),
        _ => bad(KEY, files.key.as_deref(), error),
    }
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, ProtocolError> {
    let text = read(key, path)?;
    let certificates = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| bad(key, Some(path), format!("it is not PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(bad(key, Some(path), "there is no certificate in it"));
    }
    Ok(certificates)
}

fn read(key: &str, path: &Path) -> Result<Vec<u8>, ProtocolError> {
    let size = fs::metadata(path).map_err(|error| bad(key, Some(path), error))?;
    if size.len() > MAX_SIZE {
        return Err(bad(
            key,
            Some(path),
            format!("it is larger than {MAX_SIZE} bytes"),
        ));
    }
    fs::read(path).map_err(|error| bad(key, Some(path), error))
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

pub(super) const CA: &str = "dubbo.tls_config.ca-cert-file";
pub(super) const CERT: &str = "dubbo.tls_config.tls-cert-file";
pub(super) const KEY: &str = "dubbo.tls_config.tls-key-file";
pub(super) const SERVER_NAME: &str = "dubbo.tls_config.tls-server-name";

/// All the authorities of the world take a quarter of that.
const MAX_SIZE: u64 = 1 << 20;
