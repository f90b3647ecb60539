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

use super::explain::of_certificate;

/// The own certificate, those between it and its authority, and its private key.
pub(super) struct Own<'f> {
    cert_file: &'f Path,
    key_file: &'f Path,
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl<'f> Own<'f> {
    /// Reads them, if both files are set.
    pub(super) fn read(files: &'f TlsFiles) -> Result<Option<Self>, ProtocolError> {
        let (Some(cert_file), Some(key_file)) = (files.cert.as_deref(), files.key.as_deref())
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            cert_file,
            key_file,
            certificates: certificates(CERT, cert_file)?,
            key: private_key(key_file)?,
        }))
    }

    /// Gives away what is to be used, and what to say if it cannot be.
    pub(super) fn into_parts(
        self,
    ) -> (
        Vec<CertificateDer<'static>>,
        PrivateKeyDer<'static>,
        impl FnOnce(Error) -> ProtocolError + use<'f>,
    ) {
        let (cert_file, key_file) = (self.cert_file, self.key_file);
        let refused = move |error| match error {
            Error::InconsistentKeys(_) => {
                let cert = cert_file.display();
                let reason = format!("it is not the key of the certificate in {cert} (`{CERT}`)");
                bad(KEY, key_file, reason)
            }
            Error::InvalidCertificate(why) => bad(CERT, cert_file, of_certificate(&why)),
            error => bad(KEY, key_file, error),
        };
        (self.certificates, self.key, refused)
    }
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
            .map_err(|error| bad(CA, path, format!("a certificate in it: {error}")))?;
    }
    Ok(Some(authorities))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, ProtocolError> {
    let text = read(KEY, path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound if contains(&text, b"ENCRYPTED") => bad(
            KEY,
            path,
            "the private key in it is encrypted, which is not supported; store it without a password",
        ),
        pem::Error::NoItemsFound => bad(KEY, path, "there is no private key in it"),
        error => bad(KEY, path, format!("it is not PEM: {error}")),
    })
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, ProtocolError> {
    let text = read(key, path)?;
    let certificates = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| bad(key, path, format!("it is not PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(bad(key, path, "there is no certificate in it"));
    }
    Ok(certificates)
}

fn read(key: &str, path: &Path) -> Result<Vec<u8>, ProtocolError> {
    let size = fs::metadata(path).map_err(|error| bad(key, path, error))?;
    if size.len() > MAX_SIZE {
        return Err(bad(
            key,
            path,
            format!("it is larger than {MAX_SIZE} bytes"),
        ));
    }
    fs::read(path).map_err(|error| bad(key, path, error))
}

fn bad(key: &str, path: &Path, reason: impl fmt::Display) -> ProtocolError {
    ProtocolError::Setting {
        setting: key.to_owned(),
        reason: format!("{}: {reason}", path.display()),
    }
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
