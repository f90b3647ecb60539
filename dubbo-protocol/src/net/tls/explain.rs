//! Errors of TLS in words that an operator can act on.

use std::{fmt::Write as _, io};

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

use super::files::{CA, CERT, KEY, SERVER_NAME};

/// Says what `error` means, if it is one of TLS. Whoever reads it knows which peer it is about.
pub(in super::super) fn explain(error: io::Error) -> io::Error {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    let text = match tls {
        Some(Error::InvalidCertificate(why)) => of_certificate(why),
        Some(Error::AlertReceived(alert)) => of_alert(*alert),
        Some(Error::InvalidMessage(_)) => {
            format!("the peer does not speak TLS, or breaks it: {error}")
        }
        Some(Error::NoCertificatesPresented) => {
            format!("the peer shows no certificate, and `{CA}` demands one")
        }
        Some(other) => format!("TLS failed: {other}"),
        // What tokio-rustls calls the end of the bytes before that of the handshake.
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the peer closed the connection in the handshake of TLS; it may serve no TLS".to_owned()
        }
        None => return error,
    };
    io::Error::new(error.kind(), text)
}

fn of_certificate(why: &CertificateError) -> String {
    let mut text = "the peer's certificate is refused: ".to_owned();
    // Writing to a text does not fail.
    let _ = match why {
        CertificateError::UnknownIssuer => {
            write!(text, "it is from no authority in `{CA}`")
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => write!(
            text,
            "it is not for `{}` but for [{}]; `{SERVER_NAME}` can say which name it is to be for",
            expected.to_str(),
            presented.join(", ")
        ),
        why => write!(text, "{why}"),
    };
    text
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            format!("the peer demands a certificate from this side; set `{CERT}` and `{KEY}`")
        }
        AlertDescription::UnknownCA => {
            "the peer does not know the authority of the certificate from this side".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate => format!(
            "the peer refuses the certificate from this side, or misses one ({alert:?}); see `{CERT}`"
        ),
        AlertDescription::HandshakeFailure => format!(
            "the peer agrees to no handshake of TLS; it may demand a certificate from this side (`{CERT}`)"
        ),
        other => format!("the peer ended the handshake of TLS: {other:?}"),
    }
}
