//! Compressed messages (`docs/spec/triple.md` §8): which compressions there are, how much of them is borne, and who sends
//! which.

mod compress;
mod decompress;
mod negotiate;

use std::{fmt, str::FromStr};

use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) use self::{
    decompress::DecompressError,
    negotiate::{Offers, Packing},
};

/// A way to compress messages. All of them are read wherever a message may be compressed; what is sent is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// `deflate`: zlib's format (RFC 1950), which is what HTTP and gRPC mean by that name.
    Deflate,
    /// `gzip` (RFC 1952), the one that every Triple peer knows.
    Gzip,
    /// `zstd` (RFC 8878).
    Zstd,
}

impl Compression {
    /// All of them, in the order in which peers that take the first they know should see them.
    pub const ALL: [Self; 3] = [Self::Gzip, Self::Deflate, Self::Zstd];

    /// What a peer is told that it may use.
    pub(crate) const OFFER: HeaderValue = HeaderValue::from_static("gzip,deflate,zstd");

    /// Its name in headers and in YAML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// The value of the header that announces it.
    pub(crate) fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    /// What the header `name` announces for the messages after it; `None` for none.
    ///
    /// # Errors
    ///
    /// A name that is not known here.
    pub(crate) fn announced(
        headers: &HeaderMap,
        name: &HeaderName,
    ) -> Result<Option<Self>, UnknownCompression> {
        let Some(value) = headers.get(name) else {
            return Ok(None);
        };
        Self::read(value.as_bytes())
    }

    /// The compression that is called `name`; `None` for none.
    ///
    /// # Errors
    ///
    /// A name that is not known here.
    pub(crate) fn read(name: &[u8]) -> Result<Option<Self>, UnknownCompression> {
        let name = name.trim_ascii();
        if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
            return Ok(None);
        }
        String::from_utf8_lossy(name).parse().map(Some)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(text: &str) -> Result<Self, UnknownCompression> {
        let known = Self::ALL.into_iter();
        let mut named = known.filter(|compression| text.eq_ignore_ascii_case(compression.name()));
        named
            .next()
            .ok_or_else(|| UnknownCompression(text.to_owned()))
    }
}

/// A name that is none of [`Compression`]'s.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the compression {0:?} is not known here; use one of gzip, deflate and zstd, or identity")]
pub struct UnknownCompression(String);

impl UnknownCompression {
    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_ENCODING;

    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for compression in Compression::ALL {
            assert_eq!(compression.to_string().parse(), Ok(compression));
            let upper = compression.name().to_ascii_uppercase();
            assert_eq!(upper.parse(), Ok(compression));
        }
        let all = Compression::ALL.map(Compression::name).join(",");
        assert_eq!(Compression::OFFER, all);
        assert!("identity".parse::<Compression>().is_err());
    }

    #[test]
    fn what_is_announced_is_known_or_named() {
        let announced = |value: &'static str| {
            let header = (CONTENT_ENCODING, HeaderValue::from_static(value));
            Compression::announced(&HeaderMap::from_iter([header]), &CONTENT_ENCODING)
        };
        for (given, want) in [
            ("gzip", Some(Compression::Gzip)),
            ("Deflate", Some(Compression::Deflate)),
            (" zstd ", Some(Compression::Zstd)),
            ("identity", None),
            ("", None),
        ] {
            assert_eq!(announced(given), Ok(want), "{given:?}");
        }
        let error = announced("gzip, br").expect_err("two of them");
        assert!(error.to_string().contains("\"gzip, br\""), "{error}");
        let none = Compression::announced(&HeaderMap::new(), &CONTENT_ENCODING);
        assert_eq!(none, Ok(None));
    }
}
