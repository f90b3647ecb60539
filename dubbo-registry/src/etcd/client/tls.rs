//! Secure connections, by the files that a registry's URL names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use dubbo_core::{extension::BoxError, url::Url};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// What `dubbo.tls_config` has for clients of services (`docs/spec/config.md` §7), under the same names and with the same
/// meaning. A registry has its own, as it has its own authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tls {
    authorities: PathBuf,
    /// Certificate and key.
    own: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
}

impl Tls {
    /// What `url` says; `None` when it does not ask for TLS.
    pub(super) fn of_url(url: &Url) -> Result<Option<Self>, BoxError> {
        let given = |key| url.param(key).filter(|value: &&str| !value.is_empty());
        let Some(authorities) = given(CA) else {
            return match [CERT, KEY, SERVER_NAME]
                .into_iter()
                .find(|key| given(key).is_some())
            {
                Some(key) => Err(format!(
                    "parameter `{key}` is of no use without `{CA}`, which turns on TLS: \
                     the authorities that the certificates of the members must come from"
                )
                .into()),
                None => Ok(None),
            };
        };
        let own = match (given(CERT), given(KEY)) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (Some(_), None) => return Err(half(CERT, KEY)),
            (None, Some(_)) => return Err(half(KEY, CERT)),
        };
        Ok(Some(Self {
            authorities: authorities.into(),
            own,
            server_name: given(SERVER_NAME).map(str::to_owned),
        }))
    }

    /// Reads the files, as they are now.
    pub(super) fn load(&self) -> Result<ClientTlsConfig, String> {
        let authorities = Certificate::from_pem(read(CA, &self.authorities, "CERTIFICATE")?);
        let mut config = ClientTlsConfig::new().ca_certificate(authorities);
        if let Some((certificate, key)) = &self.own {
            config = config.identity(Identity::from_pem(
                read(CERT, certificate, "CERTIFICATE")?,
                read(KEY, key, "PRIVATE KEY")?,
            ));
        }
        if let Some(name) = &self.server_name {
            config = config.domain_name(name);
        }
        Ok(config)
    }
}

/// The text of a PEM file that has a `what` in it.
fn read(key: &str, path: &Path, what: &str) -> Result<Vec<u8>, String> {
    let bad = |reason: String| format!("the file {} of `{key}`: {reason}", path.display());
    let text = fs::read(path).map_err(|error| bad(error.to_string()))?;
    let mark = format!("{what}-----");
    if !text.windows(mark.len()).any(|part| part == mark.as_bytes()) {
        return Err(bad(format!("it has no {what} in PEM form in it")));
    }
    Ok(text)
}

fn half(given: &str, missing: &str) -> BoxError {
    format!("parameter `{given}` is of no use without `{missing}`").into()
}

const CA: &str = "ca-cert-file";
const CERT: &str = "tls-cert-file";
const KEY: &str = "tls-key-file";
const SERVER_NAME: &str = "tls-server-name";
