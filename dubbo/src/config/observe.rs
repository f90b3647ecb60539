//! Where telemetry is sent to, as the configuration writes it.

use http::uri::{Authority, PathAndQuery, Uri};

/// A server that telemetry is sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) tls: bool,
    /// `host:port`.
    pub(crate) authority: String,
    /// What stands before each path there, without a slash at its end.
    pub(crate) base: String,
}

impl Endpoint {
    /// Reads `http://host:port/base` or `https://…`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn of_url(url: &str) -> Result<Self, String> {
        let uri: Uri = url.trim().parse().map_err(|error| format!("{error}"))?;
        let (tls, port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err("it begins neither with `http://` nor with `https://`".to_owned()),
        };
        let authority = uri.authority().ok_or("it has no host")?;
        if uri.query().is_some() {
            return Err("it has a query".to_owned());
        }
        let base = uri.path_and_query().map_or("", PathAndQuery::path);
        Ok(Self {
            tls,
            authority: with_port(authority, port)?,
            base: base.trim_end_matches('/').to_owned(),
        })
    }

    /// Reads `host:port`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn of_authority(text: &str, tls: bool) -> Result<Self, String> {
        if text.contains("://") {
            return Err("it is a URL".to_owned());
        }
        let authority: Authority = text.trim().parse().map_err(|error| format!("{error}"))?;
        if authority.port_u16().is_none() {
            return Err("it has no port".to_owned());
        }
        Ok(Self {
            tls,
            authority: with_port(&authority, 0)?,
            base: String::new(),
        })
    }
}

fn with_port(authority: &Authority, port: u16) -> Result<String, String> {
    if authority.as_str().contains('@') {
        return Err("who logs in does not belong there".to_owned());
    }
    let port = authority.port_u16().unwrap_or(port);
    match authority.host() {
        "" => Err("it has no host".to_owned()),
        host => Ok(format!("{host}:{port}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_with_its_port_and_path_or_refused_with_the_reason() {
        for (url, want) in [
            ("http://h", Ok((false, "h:80", ""))),
            ("https://h/", Ok((true, "h:443", ""))),
            ("http://h:9091/push/", Ok((false, "h:9091", "/push"))),
            ("http://[::1]:9091", Ok((false, "[::1]:9091", ""))),
            ("h:9091", Err("neither with")),
            ("ftp://h", Err("neither with")),
            ("http://a:b@h", Err("logs in")),
            ("http://h?a=b", Err("query")),
            ("", Err("")),
        ] {
            check(url, Endpoint::of_url(url), want);
        }
        for (text, want) in [
            ("h:4317", Ok((true, "h:4317", ""))),
            ("[::1]:4317", Ok((true, "[::1]:4317", ""))),
            ("h", Err("no port")),
            ("http://h:4317", Err("URL")),
            (":4317", Err("")),
            ("", Err("")),
        ] {
            check(text, Endpoint::of_authority(text, true), want);
        }
    }

    fn check(text: &str, got: Result<Endpoint, String>, want: Result<(bool, &str, &str), &str>) {
        match (got, want) {
            (Ok(got), Ok(want)) => {
                assert_eq!((got.tls, &*got.authority, &*got.base), want, "{text}");
            }
            (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        }
    }
}
