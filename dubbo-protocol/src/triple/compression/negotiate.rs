//! Who sends what: the settings of both sides, and what a peer says that it takes.

use dubbo_core::url::{Key, Url, UrlError, UrlValue};
use http::{HeaderMap, HeaderName};

use super::{super::limits::Size, Compression};

/// How one side of a call compresses what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packing {
    pub(crate) compression: Compression,
    /// Shorter messages are sent as they are.
    pub(crate) min_size: usize,
}

impl Packing {
    /// What the reference at `url` sends: `compression.send`, a name, and `compression.min-size`.
    ///
    /// # Errors
    ///
    /// A parameter that cannot be used. Several names cannot: nobody has said which of them the provider takes.
    pub(crate) fn of_calls(url: &Url) -> Result<Option<Self>, UrlError> {
        let min_size = url.get(&CALLS_MIN_SIZE)?.0;
        let Some(compression) = url.get(&CALLS_SEND)?.0 else {
            return Ok(None);
        };
        Ok(Some(Self {
            compression,
            min_size,
        }))
    }

    /// `message` compressed, when that is worth it.
    pub(crate) fn pack(self, message: &[u8]) -> Option<Vec<u8>> {
        if message.len() < self.min_size {
            return None;
        }
        self.compression.compress(message)
    }

    /// The whole `body` of a request, unless it is too short.
    pub(crate) fn pack_whole(self, body: &[u8]) -> Option<Vec<u8>> {
        if body.len() < self.min_size {
            return None;
        }
        self.compression.compress_whole(body)
    }
}

/// What a server compresses for those who take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offers {
    /// The best first.
    send: Vec<Compression>,
    min_size: usize,
}

impl Offers {
    /// What the server at `url` sends: `.compression.send`, a list of names, and `.compression.min-size`.
    ///
    /// # Errors
    ///
    /// A parameter that cannot be used.
    pub(crate) fn of_server(url: &Url) -> Result<Self, UrlError> {
        Ok(Self {
            send: url.get(&SERVER_SEND)?.0,
            min_size: url.get(&SERVER_MIN_SIZE)?.0,
        })
    }

    /// Whether anybody gets anything compressed.
    pub(crate) fn sends_any(&self) -> bool {
        !self.send.is_empty()
    }

    /// The parameters that say so, for who reads.
    pub(crate) fn told(&self) -> [(&'static str, String); 2] {
        let names: Vec<_> = self.send.iter().map(|one| one.name()).collect();
        let names = if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(",")
        };
        [
            (SERVER_SEND.name, names),
            (SERVER_MIN_SIZE.name, self.min_size.to_string()),
        ]
    }

    /// How to answer a caller who says in the header `name` what it takes: what it wants most, and of equals the best;
    /// `None` for nothing of ours.
    pub(crate) fn choose(&self, headers: &HeaderMap, name: &HeaderName) -> Option<Packing> {
        if self.send.is_empty() {
            return None;
        }
        // Of equals the last is the greatest.
        let all = self.send.iter().rev().copied();
        let wanted = all.filter_map(|compression| {
            let weight = weight(headers, name, compression);
            (weight > 0).then_some((weight, compression))
        });
        let (_, compression) = wanted.max_by_key(|(weight, _)| *weight)?;
        Some(Packing {
            compression,
            min_size: self.min_size,
        })
    }
}

/// How much a peer wants `compression`, in thousandths. 0 is not at all, and so is a weight that is none.
fn weight(headers: &HeaderMap, name: &HeaderName, compression: Compression) -> u16 {
    let mut others = 0;
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    for item in values.flat_map(|value| value.split(',')) {
        let (coding, parameter) = item.split_once(';').unwrap_or((item, "q=1"));
        let coding = coding.trim();
        if coding.eq_ignore_ascii_case(compression.name()) {
            return thousandths(parameter);
        }
        if coding == "*" {
            others = thousandths(parameter);
        }
    }
    others
}

/// The weight in `q=0.5` (RFC 9110 §12.4.2).
fn thousandths(parameter: &str) -> u16 {
    let Some((name, number)) = parameter.split_once('=') else {
        return 0;
    };
    let number = number.trim();
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !name.trim().eq_ignore_ascii_case("q") || !digits {
        return 0;
    }
    match (whole, format!("{part:0<3}").parse()) {
        ("0", Ok(part)) => part,
        ("1", Ok(0)) => 1_000,
        _ => 0,
    }
}

/// One name, or none.
struct One(Option<Compression>);

impl UrlValue for One {
    fn parse(text: &str) -> Result<Self, String> {
        let List(names) = List::parse(text)?;
        match names[..] {
            [] => Ok(Self(None)),
            [one] => Ok(Self(Some(one))),
            _ => Err(
                "a reference sends one compression: nobody has told it which of several the provider takes"
                    .to_owned(),
            ),
        }
    }
}

/// Names with commas between.
struct List(Vec<Compression>);

impl UrlValue for List {
    fn parse(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim);
        let names = names.filter(|name| !name.is_empty()).map(str::parse);
        let names: Result<_, super::UnknownCompression> = names.collect();
        names.map(Self).map_err(|error| error.to_string())
    }
}

const CALLS_SEND: Key<One> = Key {
    name: "compression.send",
    default: || One(None),
};

const CALLS_MIN_SIZE: Key<Size> = Key {
    name: "compression.min-size",
    default: || MIN_SIZE,
};

// No consumer needs to know: the server goes by what it asks for.
const SERVER_SEND: Key<List> = Key {
    name: ".compression.send",
    default: || List(Vec::new()),
};

const SERVER_MIN_SIZE: Key<Size> = Key {
    name: ".compression.min-size",
    default: || MIN_SIZE,
};

/// Less fits into one packet anyway.
const MIN_SIZE: Size = Size(1 << 10);

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header::ACCEPT_ENCODING};

    use super::*;
    use Compression::{Deflate, Gzip, Zstd};

    fn url(query: &str) -> Url {
        format!("tri://h:1/x.Y?{query}").parse().expect(query)
    }

    fn chosen(send: &[Compression], accepted: &[&str]) -> Option<Compression> {
        let offers = Offers {
            send: send.to_vec(),
            min_size: 7,
        };
        let mut headers = HeaderMap::new();
        for value in accepted {
            let value = HeaderValue::from_str(value).expect("a value");
            headers.append(ACCEPT_ENCODING, value);
        }
        let packing = offers.choose(&headers, &ACCEPT_ENCODING)?;
        assert_eq!(packing.min_size, 7);
        Some(packing.compression)
    }

    #[test]
    fn never_is_a_compression_chosen_that_was_not_offered_or_not_switched_on() {
        for (send, accepted, want) in [
            (&[][..], &["gzip,deflate,zstd"][..], None),
            (&[Gzip], &[], None),
            (&[Gzip], &[""], None),
            (&[Gzip], &["identity"], None),
            (&[Gzip], &["zstd, deflate"], None),
            (&[Zstd], &["gzip,zstd,identity"], Some(Zstd)),
            (&[Zstd], &["gzip,identity"], None),
            (&[Zstd, Gzip], &["gzip,deflate,zstd"], Some(Zstd)),
            (&[Gzip, Zstd], &["zstd,gzip"], Some(Gzip)),
            (&[Gzip, Zstd], &["deflate", "zstd"], Some(Zstd)),
            (&[Gzip], &["GZIP"], Some(Gzip)),
            (&[Gzip], &["gzipped"], None),
            (&[Gzip], &["bzip2,gzip,snappy"], Some(Gzip)),
        ] {
            assert_eq!(chosen(send, accepted), want, "{send:?} for {accepted:?}");
        }
    }

    #[test]
    fn weights_count_before_our_own_order() {
        for (accepted, want) in [
            ("gzip;q=0.5, zstd;q=0.8", Some(Zstd)),
            ("gzip; q=0.8 ,zstd ; Q=0.5", Some(Gzip)),
            ("zstd;q=0.5, gzip;q=0.5", Some(Gzip)),
            ("gzip;q=0, deflate", Some(Deflate)),
            ("gzip;q=0.000, *;q=0.1", Some(Zstd)),
            ("*", Some(Gzip)),
            ("*;q=0", None),
            ("gzip;q=1.000, zstd;q=0.999", Some(Gzip)),
            // What is no weight is no offer.
            ("gzip;q=2", None),
            ("gzip;q=1.1", None),
            ("gzip;q=0.1234", None),
            ("gzip;q=-1", None),
            ("gzip;q=0.+1", None),
            ("gzip;q", None),
            ("gzip;level=1", None),
        ] {
            let got = chosen(&[Gzip, Zstd, Deflate], &[accepted]);
            assert_eq!(got, want, "{accepted:?}");
        }
    }

    #[test]
    fn every_parameter_is_read() {
        assert_eq!(Packing::of_calls(&url("")), Ok(None));
        assert_eq!(Packing::of_calls(&url("compression.send=")), Ok(None));
        for (query, min_size) in [
            ("compression.send=zstd", 1_024),
            ("compression.send=zstd&compression.min-size=2kb", 2_000),
        ] {
            let packing = Packing {
                compression: Zstd,
                min_size,
            };
            assert_eq!(Packing::of_calls(&url(query)), Ok(Some(packing)));
        }

        let offers = |query| Offers::of_server(&url(query)).map(|o| (o.send, o.min_size));
        assert_eq!(offers(""), Ok((vec![], 1_024)));
        let both = ".compression.send=zstd, gzip&.compression.min-size=0";
        assert_eq!(offers(both), Ok((vec![Zstd, Gzip], 0)));
        // The other side's.
        assert_eq!(offers("compression.send=gzip"), Ok((vec![], 1_024)));
    }

    #[test]
    fn values_that_cannot_be_used_are_refused_by_name() {
        for (query, part) in [
            ("compression.send=br", "\"br\" is not known here"),
            ("compression.send=gzip,zstd", "one compression"),
            ("compression.min-size=much", "much"),
        ] {
            let error = Packing::of_calls(&url(query)).expect_err(query);
            assert!(query.starts_with(&error.key), "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
        for query in [".compression.send=lz4,gzip", ".compression.min-size=-1"] {
            let error = Offers::of_server(&url(query)).expect_err(query);
            assert!(query.starts_with(&error.key), "{error}");
        }
    }

    #[test]
    fn short_messages_and_those_that_would_grow_are_sent_as_they_are() {
        let packing = Packing {
            compression: Gzip,
            min_size: 100,
        };
        assert!(packing.pack(&[0; 100]).is_some());
        assert!(packing.pack(&[0; 99]).is_none());
        let always = Packing {
            min_size: 0,
            ..packing
        };
        assert!(always.pack(&[0; 99]).is_some());
        assert!(always.pack(&[0; 2]).is_none());
        assert!(always.pack(b"").is_none());
    }
}
