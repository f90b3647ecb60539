//! Certificates for tests of TLS: an authority and what it issues, as PEM files in a folder of their own.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// An authority. Its files, and those of all that it issued, are deleted with it.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
    issued: AtomicUsize,
}

/// A certificate and its private key.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The file of the certificate.
    pub cert: PathBuf,
    /// The file of the key, PKCS#8.
    pub key: PathBuf,
}

impl Authority {
    /// One that no other trusts.
    pub fn new() -> Self {
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let folder = format!("dubbo-test-certificates-{}-{number}", process::id());
        let folder = env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("the folder for temporary files is there");
        let mut params = CertificateParams::default();
        let name = format!("authority {number}");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("it is complete");
        write(&folder.join("ca.pem"), "CERTIFICATE", issuer.der());
        Self {
            folder,
            issuer,
            issued: AtomicUsize::new(0),
        }
    }

    /// The file of its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// Its own certificate and key, for a server that would be its own authority.
    pub fn own(&self) -> Issued {
        let key = self.folder.join("ca.key");
        write(&key, "PRIVATE KEY", self.issuer.key().serialized_der());
        Issued {
            cert: self.file(),
            key,
        }
    }

    /// A certificate for `names`, DNS names and IP addresses, for servers and clients.
    pub fn issue(&self, names: &[&str]) -> Issued {
        self.sign(&params(names))
    }

    /// The same, no longer valid.
    pub fn issue_expired(&self, names: &[&str]) -> Issued {
        let mut params = params(names);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Issued {
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let issued = Issued {
            cert: self.folder.join(format!("{number}.pem")),
            key: self.folder.join(format!("{number}.key")),
        };
        let key = key();
        let cert = params.signed_by(&key, &self.issuer);
        let cert = cert.expect("it is complete");
        write(&issued.cert, "CERTIFICATE", cert.der());
        write(&issued.key, "PRIVATE KEY", key.serialized_der());
        issued
    }
}

/// The files of one program, which are replaced while it runs as operators do it: each as a whole. They are deleted with it.
#[derive(Debug)]
pub struct Installed(PathBuf);

impl Installed {
    /// The certificate and key of `own`, and the authorities that it trusts.
    pub fn new(trusted: &[&Authority], own: &Issued) -> Self {
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let folder = format!("dubbo-test-installed-{}-{number}", process::id());
        let folder = env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("the folder for temporary files is there");
        let installed = Self(folder);
        installed.trust(trusted);
        installed.show(own);
        installed
    }

    /// The file of the authorities.
    pub fn ca(&self) -> PathBuf {
        self.0.join("ca.pem")
    }

    /// The file of the certificate.
    pub fn cert(&self) -> PathBuf {
        self.0.join("own.pem")
    }

    /// The file of the key.
    pub fn key(&self) -> PathBuf {
        self.0.join("own.key")
    }

    /// Trusts these from now on.
    pub fn trust(&self, authorities: &[&Authority]) {
        let files = authorities.iter().map(|authority| read(&authority.file()));
        self.put(&self.ca(), &files.collect::<Vec<_>>().concat());
    }

    /// Shows this certificate from now on.
    pub fn show(&self, own: &Issued) {
        self.put(&self.cert(), &read(&own.cert));
        self.put(&self.key(), &read(&own.key));
    }

    /// Replaces one file.
    pub fn put(&self, file: &Path, content: &[u8]) {
        let beside = self.0.join("new");
        fs::write(&beside, content).expect("there is room");
        fs::rename(&beside, file).expect("it is in the same folder");
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // Left behind it harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // Left behind it harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes a file of PEM with one section.
pub fn write(path: &Path, label: &str, der: &[u8]) {
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    fs::write(path, text).expect("the folder is there");
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).expect("they are names");
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("it is there")
}

fn key() -> KeyPair {
    KeyPair::generate().expect("there is randomness")
}

static AUTHORITIES: AtomicUsize = AtomicUsize::new(0);
