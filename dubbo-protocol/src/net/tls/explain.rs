//! Errors of TLS in words that an operator can act on.

use std::{fmt::Write as _, io};

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

use super::files::{CA, CERT, KEY, SERVER_NAME};

/// Says what an error of the handshake means. Whoever reads it knows which peer it is about.
pub(super) fn explain_handshake(error: io::Error) -> io::Error {
    let cut = matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
    );
    if cut && tls(&error).is_none() {
        let text = format!("the peer ended the handshake of TLS; it may serve no TLS ({error})");
        return io::Error::new(error.kind(), text);
    }
    explain(error)
}

/// Says what `error` means, if it is one of TLS.
pub(in super::super) fn explain(error: io::Error) -> io::Error {
    let text = match tls(&error) {
        None => return error,
        Some(Error::InvalidCertificate(why)) => {
            format!("the peer's certificate is refused: {}", of_certificate(why))
        }
        Some(Error::AlertReceived(alert)) => of_alert(*alert),
        Some(Error::InvalidMessage(_)) => {
            format!("the peer does not speak TLS, or breaks it: {error}")
        }
        Some(Error::NoCertificatesPresented) => {
            format!("the peer shows no certificate, and `{CA}` demands one")
        }
        Some(other) => format!("TLS failed: {other}"),
    };
    io::Error::new(error.kind(), text)
}

fn tls(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// What is wrong with a certificate: the peer's, or the one from this side.
pub(super) fn of_certificate(why: &CertificateError) -> String {
    let mut text = String::new();
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
            "it is not for `{}` but for {}; `{SERVER_NAME}` can say which name it is to be for",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::Other(why) if why.to_string() == AUTHORITY => text.write_str(
            "it is that of an authority (`CA:TRUE`), which cannot be a peer's own; have the authority issue one",
        ),
        CertificateError::Other(why) if why.to_string() == VERSION => text.write_str(
            "it is of X.509 version 1 or 2, and must be of version 3; issue it with extensions, such as `subjectAltName`",
        ),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = (time.as_secs().saturating_sub(not_after.as_secs())) / DAY;
            write!(text, "it expired {days} days ago")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let seconds = not_before.as_secs().saturating_sub(time.as_secs());
            write!(
                text,
                "it is not valid before {seconds} s from now; is this machine's clock right?"
            )
        }
        why => write!(text, "{why}"),
    };
    text
}

/// `a, b` of what rustls writes `DnsName("a")` and `IpAddress(b)`.
fn names(presented: &[String]) -> String {
    if presented.is_empty() {
        return "no name at all".to_owned();
    }
    let bare = presented.iter().map(|name| {
        let within = name.split_once('(').map_or(&**name, |(_, within)| within);
        format!("`{}`", within.trim_end_matches(')').trim_matches('"'))
    });
    bare.collect::<Vec<_>>().join(", ")
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
        AlertDescription::NoApplicationProtocol => {
            "the peer speaks other protocols within TLS than were offered to it".to_owned()
        }
        other => format!("the peer ended the handshake of TLS: {other:?}"),
    }
}

/// What rustls has no names for.
const AUTHORITY: &str = "CaUsedAsEndEntity";
const VERSION: &str = "UnsupportedCertVersion";

/// In seconds.
const DAY: u64 = 24 * 60 * 60;
