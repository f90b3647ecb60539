//! Which origins a pattern is for.

/// The origins of pages that may use the services of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::triple::server) enum Pattern {
    /// Every page there is.
    Any,
    /// Those of one place, or of all that are below it.
    Of {
        /// As it was written; a page without a place of its own says `null`.
        text: String,
        /// Any, when only a host was written.
        scheme: Option<String>,
        host: String,
        /// Those below `host`, and not itself.
        below: bool,
        /// Any, when only a host was written.
        port: Option<u16>,
    },
}

impl Pattern {
    /// Reads `*`, `https://shop.example.com`, `https://*.example.com:8443`, `*.example.com` or `localhost:3000`.
    ///
    /// # Errors
    ///
    /// What is wrong with another text.
    pub(in crate::triple::server) fn read(text: &str) -> Result<Self, &'static str> {
        if text == "*" {
            return Ok(Self::Any);
        }
        // An address of a page ends so; an origin has no path.
        let text = text.strip_suffix('/').unwrap_or(text);
        let (scheme, place) = match text.split_once("://") {
            Some((scheme, place)) => (Some(scheme), place),
            None => (None, text),
        };
        let (below, place) = match place.strip_prefix("*.") {
            Some(place) => (true, place),
            None => (false, place),
        };
        if place.contains('*') {
            return Err(
                "has a `*` where none can be: write `*` for every page, or `https://*.example.com`",
            );
        }
        let place = Place::read(place).ok_or("is no origin, such as `https://shop.example.com`")?;
        if scheme.is_some_and(|scheme| !is_scheme(scheme)) {
            return Err("has no scheme that pages come by, such as `https`");
        }
        let scheme = scheme.map(str::to_ascii_lowercase);
        Ok(Self::Of {
            text: text.to_owned(),
            port: place
                .port
                .or_else(|| scheme.as_deref().and_then(usual_port)),
            scheme,
            host: place.host,
            below,
        })
    }

    /// Whether a page from `origin` is one of those.
    pub(in crate::triple::server) fn has(&self, origin: &str) -> bool {
        let Self::Of {
            text,
            scheme,
            host,
            below,
            port,
        } = self
        else {
            return true;
        };
        if text == origin {
            return true;
        }
        let Some((of, place)) = parse(origin) else {
            return false;
        };
        let in_place = if *below {
            let rest = place.host.strip_suffix(host.as_str());
            rest.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            place.host == *host
        };
        in_place
            && scheme.as_ref().is_none_or(|scheme| *scheme == of)
            && (port.is_none() || *port == place.port)
    }
}

/// Whether a page from `origin` asks the server that it came from, which is known to its callers as `authority`.
pub(in crate::triple::server) fn is_same(origin: &str, authority: &str) -> bool {
    parse(origin).is_some_and(|(scheme, place)| {
        Place::read(authority).is_some_and(|server| {
            server.host == place.host && server.port.or_else(|| usual_port(&scheme)) == place.port
        })
    })
}

/// The scheme and the place of an origin, with the port that it means.
fn parse(origin: &str) -> Option<(String, Place)> {
    let (scheme, place) = origin.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let mut place = Place::read(place)?;
    place.port = place.port.or_else(|| usual_port(&scheme));
    Some((scheme, place))
}

/// A host and a port.
struct Place {
    /// In lower case.
    host: String,
    port: Option<u16>,
}

impl Place {
    fn read(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an address in brackets are its own.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let sound = if let Some(address) = bare {
            address.parse::<std::net::Ipv6Addr>().is_ok()
        } else {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !host.is_empty() && host.bytes().all(plain) && !host.starts_with('.')
        };
        sound.then(|| Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

fn is_scheme(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(plain)
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_for_origins() {
        for (pattern, yes, no) in [
            ("*", &["https://a.example.com", "null"][..], &[][..]),
            (
                "https://example.com",
                &[
                    "https://example.com",
                    "https://example.com:443",
                    "https://EXAMPLE.com",
                ],
                &[
                    "http://example.com",
                    "https://example.com:8443",
                    "https://a.example.com",
                    "https://example.com.evil.test",
                    "null",
                    "",
                ],
            ),
            (
                "https://*.example.com",
                &["https://a.example.com", "https://a.b.example.com:443"],
                &[
                    "https://example.com",
                    "https://.example.com",
                    "http://a.example.com",
                    "https://a.example.com:444",
                    "https://badexample.com",
                    "https://a.example.com.evil.test",
                ],
            ),
            (
                "http://localhost:3000/",
                &["http://localhost:3000"],
                &["http://localhost", "http://localhost:3001"],
            ),
            (
                "example.com",
                &["http://example.com", "https://example.com:8443"],
                &["http://a.example.com", "example.com:80"],
            ),
            (
                "*.example.com",
                &["http://a.example.com:1", "ftp://b.example.com"],
                &["http://example.com"],
            ),
            (
                "localhost:3000",
                &["http://localhost:3000", "https://localhost:3000"],
                &["http://localhost"],
            ),
            (
                "http://[::1]:3000",
                &["http://[::1]:3000"],
                &["http://[::1]", "http://[::2]:3000"],
            ),
            ("null", &["null"], &["https://a.b"]),
        ] {
            let read = Pattern::read(pattern).expect(pattern);
            for (origins, want) in [(yes, true), (no, false)] {
                for origin in origins {
                    assert_eq!(read.has(origin), want, "{pattern}: {origin}");
                }
            }
        }
    }

    #[test]
    fn what_no_origin_can_be_is_refused() {
        for pattern in [
            "",
            "/",
            "https://",
            "https://*",
            "https://a.*.example.com",
            "*example.com",
            "*.",
            "https://*.:80",
            "https://example.com/shop",
            "https://example.com:port",
            "https://example.com:65536",
            "https://user@example.com",
            "://example.com",
            "ht tp://example.com",
            "a b",
            "a,b",
            "http://[::x]",
        ] {
            assert!(Pattern::read(pattern).is_err(), "{pattern:?}");
        }
    }

    #[test]
    fn a_page_may_always_ask_the_server_it_came_from() {
        for (origin, authority, want) in [
            ("http://127.0.0.1:50051", "127.0.0.1:50051", true),
            ("https://Shop.example", "shop.example", true),
            ("https://shop.example", "shop.example:443", true),
            ("https://shop.example", "shop.example:80", false),
            ("https://shop.example", "other.example", false),
            ("null", "null", false),
            ("", "", false),
        ] {
            assert_eq!(is_same(origin, authority), want, "{origin} at {authority}");
        }
    }
}
