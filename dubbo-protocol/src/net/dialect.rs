//! What connections speak, as their first bytes show.

use std::{fmt, time::Duration};

/// A way to speak that some protocol serves. Several have room on one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// HTTP/1, which begins with a method in capital letters.
    Http1,
    /// HTTP/2 with prior knowledge, which begins with its preface.
    Http2,
    /// The classic protocol, which begins with its magic number.
    Dubbo,
}

impl Dialect {
    /// All of them.
    pub(super) const ALL: [Self; Self::COUNT] = [Self::Http1, Self::Http2, Self::Dubbo];

    /// How many there are. [`index`](Self::index) is below it.
    pub(super) const COUNT: usize = 3;

    /// A place of its own in a table.
    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// How long a peer that may speak it can have nothing to say, when one that has begun to speak has `patience`.
    pub(super) fn silence(self, patience: Duration) -> Duration {
        match self {
            // They speak as soon as they have connected.
            Self::Http1 | Self::Http2 => patience,
            // A consumer without calls says nothing until its first heartbeat, and dubbo servers put up with three
            // intervals of 60 s without one (`docs/spec/dubbo-protocol.md` §7.1).
            Self::Dubbo => Duration::from_mins(3),
        }
    }

    /// The names that TLS has for it, if peers negotiate it there.
    pub(super) fn alpn(self) -> Option<&'static [u8]> {
        match self {
            Self::Http1 => Some(b"http/1.1"),
            Self::Http2 => Some(b"h2"),
            Self::Dubbo => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1",
            Self::Http2 => "HTTP/2",
            Self::Dubbo => "dubbo",
        })
    }
}

/// What the first bytes of a connection say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Known(Dialect),
    /// A handshake of TLS.
    Tls,
    /// Nothing that is known here.
    Other,
    /// It takes more of them to know.
    Undecided,
}

/// Looks at the first bytes of a connection. [`LOOK`] of them always decide.
pub(super) fn recognise(seen: &[u8]) -> Spoken {
    if seen == HTTP2 {
        return Spoken::Known(Dialect::Http2);
    }
    if seen.starts_with(DUBBO) {
        return Spoken::Known(Dialect::Dubbo);
    }
    if seen.first() == Some(&TLS) {
        return Spoken::Tls;
    }
    if HTTP2.starts_with(seen) || DUBBO.starts_with(seen) {
        return Spoken::Undecided;
    }
    let letters = seen.iter().take_while(|b| b.is_ascii_uppercase()).count();
    match seen.get(letters) {
        None if letters <= LONGEST_METHOD => Spoken::Undecided,
        Some(b' ') if letters > 0 && letters <= LONGEST_METHOD => Spoken::Known(Dialect::Http1),
        _ => Spoken::Other,
    }
}

/// How many bytes it takes at most to know what a peer speaks.
pub(super) const LOOK: usize = HTTP2.len();

/// How long a peer that has begun to speak may leave open what, unless whoever serves it says otherwise.
pub(super) const UNDECIDED: Duration = Duration::from_secs(10);

/// RFC 9113 §3.4.
const HTTP2: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// `docs/spec/dubbo-protocol.md` §1.
const DUBBO: &[u8; 2] = b"\xda\xbb";

/// The type of a record with a handshake message, RFC 8446 §5.1.
pub(super) const TLS: u8 = 0x16;

/// `OPTIONS` and `CONNECT`.
const LONGEST_METHOD: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_is_spoken() {
        let known = Spoken::Known;
        for (seen, want) in [
            (&b""[..], Spoken::Undecided),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r", Spoken::Undecided),
            (HTTP2, known(Dialect::Http2)),
            (b"PRI * HTTP/1.1", known(Dialect::Http1)),
            (b"GET / HTTP/1.1\r\n", known(Dialect::Http1)),
            (b"OPTIONS / HTTP/1.1\r\n", known(Dialect::Http1)),
            (b"PUT ", known(Dialect::Http1)),
            (b"PUT", Spoken::Undecided),
            (b"\xda", Spoken::Undecided),
            (b"\xda\xbb", known(Dialect::Dubbo)),
            (b"\xda\xbb\xc2\x00", known(Dialect::Dubbo)),
            (b"\xda\xbc", Spoken::Other),
            (b"\x16", Spoken::Tls),
            (b"\x16\x03\x01\x02", Spoken::Tls),
            // What people and tools say to the port of a Java provider.
            (b"ls\r\n", Spoken::Other),
            (b"status -l\r\n", Spoken::Other),
            (b"\r\n", Spoken::Other),
            (b"\xff\xfb\x01", Spoken::Other),
            (b" GET / HTTP/1.1", Spoken::Other),
            (b"HELLOTHERE", Spoken::Other),
        ] {
            assert_eq!(recognise(seen), want, "{seen:?}");
        }
    }

    #[test]
    fn enough_bytes_always_decide() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let mut seen = *HTTP2;
                seen[..2].copy_from_slice(&[first, second]);
                assert_ne!(recognise(&seen), Spoken::Undecided, "{seen:?}");
            }
        }
        assert_eq!(LOOK, HTTP2.len());
    }
}
