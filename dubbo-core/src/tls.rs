//! Which files make connections secure. What is in them, and how it is used, is each protocol's matter.

use std::path::PathBuf;

/// The settings of `dubbo.tls_config` (`docs/spec/config.md` §7), for both roles of an instance.
///
/// A plugin gets them with [`ExtensionContext::shared`](crate::extension::ExtensionContext::shared): they are not in URLs,
/// because those are published. They name files, which are read when a service is exported or referred to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// `ca-cert-file`: PEM, the authorities that the certificates of peers must come from. With it, clients use TLS, and a
    /// server that does so too asks for the certificates of its clients.
    pub ca_cert: Option<PathBuf>,
    /// `tls-cert-file`: PEM, the own certificate and those between it and its authority. With it and a key, servers use TLS,
    /// and clients that do so too show it to servers that ask.
    pub cert: Option<PathBuf>,
    /// `tls-key-file`: PEM, the private key of the own certificate.
    pub key: Option<PathBuf>,
    /// `tls-server-name`: the name that a client asks for and that the server's certificate must be of. By default the host
    /// of its address.
    pub server_name: Option<String>,
}

impl TlsFiles {
    /// No files: no TLS.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether servers use TLS.
    pub fn secures_servers(&self) -> bool {
        self.cert.is_some() && self.key.is_some()
    }

    /// Whether clients use TLS.
    pub fn secures_clients(&self) -> bool {
        self.ca_cert.is_some()
    }
}
