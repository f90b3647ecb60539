//! Text to URL and back.

use std::borrow::Cow;

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};

use super::Parts;
use crate::text_map::TextMap;

/// Why a text is not a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a URL: {reason}")]
pub struct UrlParseError {
    text: String,
    reason: String,
}

pub(super) fn parse(text: &str) -> Result<Parts, UrlParseError> {
    read(text.trim()).map_err(|reason| UrlParseError {
        text: without_password(text),
        reason,
    })
}

/// Encodes a whole URL for a registry: what Java's `URLEncoder` and Go's `QueryEscape` both read.
pub(super) fn encode_component(text: &str) -> String {
    utf8_percent_encode(text, WHOLE).to_string()
}

/// Undoes [`encode_component`] and both of its models: `+` is a space to them.
pub(super) fn decode_component(text: &str) -> Result<String, UrlParseError> {
    decode(&text.replace('+', " ")).map_err(|reason| UrlParseError {
        text: text.to_owned(),
        reason,
    })
}

/// Escapes what would end a parameter's value.
pub(super) fn escape_value(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, VALUE).into()
}

/// Escapes what would end a parameter's key, a user name or a password.
pub(super) fn escape_name(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, NAME).into()
}

/// An IPv6 host in brackets, any other as it is.
pub(super) fn bracketed(host: &str) -> Cow<'_, str> {
    if host.contains(':') {
        Cow::Owned(format!("[{host}]"))
    } else {
        Cow::Borrowed(host)
    }
}

fn read(text: &str) -> Result<Parts, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let (rest, query) = text.split_once('?').unwrap_or((text, ""));
    let (protocol, rest) = match rest.split_once("://") {
        Some(("", _)) => return Err("it has no protocol before `://`".to_owned()),
        Some(parts) => parts,
        None => ("", rest),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, addresses) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (username, password) = user.split_once(':').unwrap_or((user, ""));

    if path.contains(char::is_whitespace) {
        return Err(format!("its path {path:?} has a space"));
    }
    let mut params = read_params(query)?;
    let mut addresses = addresses
        .split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty());
    let (host, port) = read_address(addresses.next().ok_or("it has no host")?)?;
    let backups = addresses.collect::<Vec<_>>().join(",");
    if !backups.is_empty() {
        params.insert("backup", backups);
    }
    let user = (decode(username)?, decode(password)?);
    let is_none = user.0.is_empty() && user.1.is_empty();
    Ok(Parts {
        protocol: protocol.into(),
        user: (!is_none).then(|| Box::new(user)),
        host: host.into(),
        port,
        path: path.into(),
        params,
    })
}

fn read_params(query: &str) -> Result<TextMap, String> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(key)?, decode(value)?))
        })
        .collect()
}

fn read_address(text: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("`[` without `]`")?;
        let port = rest.strip_prefix(':');
        if port.is_none() && !rest.is_empty() {
            return Err(format!("{rest:?} after `]`, where only a port may be"));
        }
        (host, port)
    } else {
        match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if host.is_empty() {
        return Err("it has no host".to_owned());
    }
    if host.contains(|c: char| c.is_whitespace() || c == '[' || c == ']') {
        return Err(format!("{host:?} is no host"));
    }
    let port = port
        .map(|port| {
            port.parse()
                .map_err(|_| format!("port {port:?} is not a number up to 65535"))
        })
        .transpose()?;
    Ok((host, port))
}

fn decode(text: &str) -> Result<String, String> {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('%') {
        let hex = bytes
            .get(at + 1..at + 3)
            .unwrap_or_else(|| &bytes[at + 1..]);
        if hex.len() < 2 || !hex.iter().all(u8::is_ascii_hexdigit) {
            return Err(format!("`%{}` is no escape", String::from_utf8_lossy(hex)));
        }
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(format!("`{text}` is not UTF-8 once unescaped")),
    }
}

fn without_password(text: &str) -> String {
    let Some((before, after)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    let scheme_end = before.find("://").map_or(0, |at| at + 3);
    match before[scheme_end..].find(':') {
        Some(at) => format!("{}:***@{after}", &before[..scheme_end + at]),
        None => text.to_owned(),
    }
}

/// Go writes `*` and Java `~` in another way than each other: both are escaped, and both sides read that.
const WHOLE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

const VALUE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b';')
    .add(b'@')
    .add(b'?');

const NAME: &AsciiSet = &VALUE.add(b'/').add(b':').add(b'=');
