//! Certificates that come in messages, as the files that a configuration names.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use dubbo::config::TlsConfig;

use crate::suite::TlsCreds;

/// A folder of certificates; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Files(PathBuf);

impl Files {
    /// An empty folder of its own.
    pub(crate) fn new() -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("conformance-{}-{number}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// TLS with `own` as the own certificate that trusts those of `authority`.
    pub(crate) fn tls(&self, own: Option<&TlsCreds>, authority: &[u8]) -> io::Result<TlsConfig> {
        let mut tls = TlsConfig::new();
        if let Some(own) = own {
            tls = tls
                .tls_cert_file(self.write("cert.pem", &own.cert)?)
                .tls_key_file(self.write("key.pem", &own.key)?);
        }
        if !authority.is_empty() {
            tls = tls.ca_cert_file(self.write("ca.pem", authority)?);
        }
        Ok(tls)
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<String> {
        let path: &Path = &self.0;
        let path = path.join(name);
        fs::write(&path, content)?;
        Ok(path.to_string_lossy().into_owned())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What is left of it is in the folder for what is temporary.
        let _ = fs::remove_dir_all(&self.0);
    }
}
