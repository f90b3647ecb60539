use dubbo_core::{tls::TlsFiles, yaml::Section};

use super::settings;

settings! {
    /// `dubbo.tls_config`: TLS for the servers and the clients of this program, whatever the protocol
    /// (`docs/spec/config.md` §7).
    ///
    /// With a certificate and its key, servers use TLS and nothing else. With a `ca-cert-file`, clients do, and servers that
    /// use TLS ask their clients for a certificate: with all three files it is mutual TLS, for what the program serves and
    /// for what it calls. The files are PEM, relative to the directory in which the program runs and not to the
    /// configuration, and are read when a service is exported or referred to.
    ///
    /// A certificate needs its server's names or addresses as `subjectAltName`, and must not be that of an authority
    /// (`CA:TRUE`), as those of a plain `openssl req -x509` are. One that is its own authority is `CA:FALSE`, and is the
    /// `ca-cert-file` of the other side.
    pub struct TlsConfig {
        /// `ca-cert-file`: the authorities that the certificates of peers must come from. Those of the system are never
        /// used.
        ca_cert_file: Option<String>,
        /// `tls-cert-file`: the own certificate, followed by those between it and its authority.
        tls_cert_file: Option<String>,
        /// `tls-key-file`: the private key of the own certificate: PKCS#1, PKCS#8 or SEC1, not encrypted.
        tls_key_file: Option<String>,
        /// `tls-server-name`, by default the host of the address: the name that the certificates of servers must be for.
        tls_server_name: Option<String>,
    }
}

impl TlsConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            ca_cert_file: s.string("ca-cert-file"),
            tls_cert_file: s.string("tls-cert-file"),
            tls_key_file: s.string("tls-key-file"),
            tls_server_name: s.string("tls-server-name"),
        }
    }

    /// The same, as plugins get it. What is empty is not set.
    pub(crate) fn files(&self) -> TlsFiles {
        let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let mut files = TlsFiles::none();
        files.ca_cert = set(&self.ca_cert_file).map(Into::into);
        files.cert = set(&self.tls_cert_file).map(Into::into);
        files.key = set(&self.tls_key_file).map(Into::into);
        files.server_name = set(&self.tls_server_name);
        files
    }
}
