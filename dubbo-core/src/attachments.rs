// Long because it is one type, with the tests of all that is peculiar to names on the wire.

//! What travels beside a message: Dubbo's attachments, gRPC's metadata.
//!
//! Keys keep the case they were set with, because Dubbo's maps are case-sensitive and HTTP's are not; look-up ignores
//! ASCII case. An inbound header block is kept as it came and read in place, so a call whose attachments nobody looks
//! at pays nothing for them.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header::GetAll};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// A multimap of attachment names to values.
///
/// On Triple a name goes out in lower case; a binary value goes out in base64 under its name with `-bin` added
/// (`docs/spec/triple.md` §4).
#[derive(Debug, Clone, Default)]
pub struct Attachments {
    own: Vec<(Cow<'static, str>, AttachmentValue)>,
    wire: Option<Arc<HeaderMap>>,
}

/// One value of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachmentValue {
    /// Arbitrary bytes.
    Binary(Bytes),
    /// Text; any characters but controls go over every protocol.
    Text(Cow<'static, str>),
}

impl Attachments {
    /// None.
    pub const fn new() -> Self {
        Self {
            own: Vec::new(),
            wire: None,
        }
    }

    /// Takes a received header block. Names that belong to the protocol are hidden ([`is_reserved`]), and
    /// `tri-header-convert` gives back the spelling that a Java peer started from.
    pub fn from_headers(headers: HeaderMap) -> Self {
        Self {
            own: Vec::new(),
            wire: (!headers.is_empty()).then(|| Arc::new(headers)),
        }
    }

    /// The first text under `name`, in any case; `None` for binary values and for bytes that are not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.wire_texts(name).next().or_else(|| {
            self.own.iter().find_map(|(key, value)| match value {
                AttachmentValue::Text(text) if key.eq_ignore_ascii_case(name) => {
                    Some(text.as_ref())
                }
                _ => None,
            })
        })
    }

    /// Every text under `name`, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let own = self
            .own
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .filter_map(|(_, value)| match value {
                AttachmentValue::Text(text) => Some(text.as_ref()),
                AttachmentValue::Binary(_) => None,
            });
        self.wire_texts(name).chain(own)
    }

    /// The first bytes under `name`; the `-bin` that Triple adds to the name is not part of it.
    ///
    /// Base64 is read with and without padding; of several values joined by commas it is the first.
    pub fn get_bin(&self, name: &str) -> Option<Bytes> {
        let own = self.own.iter().find_map(|(key, value)| match value {
            AttachmentValue::Binary(bytes) if same_name(key, name) => Some(bytes.clone()),
            _ => None,
        });
        own.or_else(|| {
            let field = binary_field(name);
            let wire = self.wire.as_ref().filter(|_| !is_reserved(&field))?;
            let value = wire.get(&*field)?;
            let first = value.as_bytes().split(|&byte| byte == b',').next()?;
            Some(BASE64.decode(first).ok()?.into())
        })
    }

    /// Whether there is anything under `name`, text or bytes; `name` with and without `-bin` is one.
    pub fn contains(&self, name: &str) -> bool {
        self.own.iter().any(|(key, _)| same_name(key, name))
            || self.wire_names(name).next().is_some()
    }

    /// Sets `name` to `value` alone: what [`remove`](Self::remove) would drop is dropped.
    pub fn insert(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) {
        let name = name.into();
        self.remove(&name);
        self.own.push((name, value.into()));
    }

    /// Adds `value` to what is under `name`.
    pub fn append(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) {
        self.own.push((name.into(), value.into()));
    }

    /// Drops everything under `name`, text and bytes, with and without `-bin`; whether there was anything.
    pub fn remove(&mut self, name: &str) -> bool {
        let mut found = false;
        self.retain(|key| {
            let same = same_name(key, name);
            found |= same;
            !same
        });
        found
    }

    /// Drops everything whose name `keep` is false for; it gets each name in the case it has, without `-bin`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.own.retain(|(name, _)| keep(plain_name(name)));
        let Some(wire) = &mut self.wire else { return };
        let dropped: Vec<HeaderName> = wire
            .keys()
            .filter(|name| !is_reserved(name.as_str()) && !keep(plain_name(name.as_str())))
            .cloned()
            .collect();
        if dropped.is_empty() {
            return;
        }
        let wire = Arc::make_mut(wire);
        for name in &dropped {
            wire.remove(name);
        }
    }

    /// Drops everything whose name `gone` is true for: as [`retain`](Self::retain), for a question that takes nothing to be
    /// asked again, so that nothing has to be set aside.
    pub fn remove_where(&mut self, gone: impl Fn(&str) -> bool) {
        self.own.retain(|(name, _)| !gone(plain_name(name)));
        let Some(wire) = &mut self.wire else { return };
        let is_gone =
            |name: &&HeaderName| !is_reserved(name.as_str()) && gone(plain_name(name.as_str()));
        while let Some(name) = wire.keys().find(is_gone).cloned() {
            Arc::make_mut(wire).remove(name);
        }
    }

    /// Adds everything in `other`.
    pub fn extend(&mut self, other: &Self) {
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        self.own.extend(other.own.iter().cloned());
        match (&mut self.wire, &other.wire) {
            (Some(mine), Some(theirs)) => {
                let mine = Arc::make_mut(mine);
                for (name, value) in theirs.iter() {
                    mine.append(name.clone(), value.clone());
                }
            }
            (None, Some(theirs)) => self.wire = Some(Arc::clone(theirs)),
            (_, None) => {}
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.wire_iter().next().is_none()
    }

    /// Every name and value: what came from the wire first, then what was added here.
    ///
    /// Wire values that are neither UTF-8 nor base64 under a `-bin` name are given as raw bytes.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, AttachmentValue)> + '_ {
        let spellings = self.original_spellings();
        let own = self
            .own
            .iter()
            .map(|(name, value)| (Cow::Borrowed(name.as_ref()), value.clone()));
        let wire = self.wire_iter().map(move |(name, value)| {
            let (name, value) = read_wire(name.as_str(), value);
            match spellings.get(name) {
                Some(original) => (Cow::Owned(original.clone()), value),
                None => (Cow::Borrowed(name), value),
            }
        });
        wire.chain(own)
    }

    /// Writes everything to `headers` under Triple's rules; reserved names are left out.
    ///
    /// # Errors
    ///
    /// A name or value that HTTP cannot carry.
    pub fn write_to(&self, headers: &mut HeaderMap) -> Result<(), AttachmentError> {
        for (name, value) in self.wire_iter() {
            headers.append(name.clone(), value.clone());
        }
        for (name, value) in &self.own {
            let (field, value) = match value {
                AttachmentValue::Text(text) => (
                    Cow::Borrowed(&**name),
                    HeaderValue::from_bytes(text.as_bytes()),
                ),
                AttachmentValue::Binary(bytes) => {
                    let encoded = BASE64.encode(bytes);
                    let value = HeaderValue::from_maybe_shared(Bytes::from(encoded));
                    (binary_field(name), value)
                }
            };
            if is_reserved(&field) {
                tracing::warn!(name = %name, "attachment left out: the name belongs to the protocol");
                continue;
            }
            let field = wire_name(&field)?;
            let value = value.map_err(|_| AttachmentError::Value(field.to_string()))?;
            headers.append(field, value);
        }
        Ok(())
    }

    /// Writes `tri-header-convert` to `headers` if a name has upper case: a Java peer gives its application the name as it
    /// was set (`docs/spec/triple.md` §4.3). Names that an earlier call wrote there stay.
    pub fn write_spellings_to(&self, headers: &mut HeaderMap) {
        let cased = |name: &str| name.bytes().any(|byte| byte.is_ascii_uppercase());
        let own = self.own.iter().filter(|(name, _)| cased(name));
        let mut spellings: BTreeMap<String, String> = own
            .map(|(name, _)| (name.to_ascii_lowercase(), name.clone().into_owned()))
            .collect();
        spellings.extend(self.original_spellings());
        if spellings.is_empty() {
            return;
        }
        spellings.extend(read_spellings(headers));
        let json = serde_json::to_string(&spellings).unwrap_or_default();
        let encoded = utf8_percent_encode(&json, NON_ALPHANUMERIC).to_string();
        if let Ok(value) = HeaderValue::try_from(encoded) {
            headers.insert(TRI_HEADER_CONVERT, value);
        }
    }

    fn wire_iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.wire
            .iter()
            .flat_map(|headers| headers.iter())
            .filter(|(name, _)| !is_reserved(name.as_str()))
    }

    fn wire_values(&self, name: &str) -> Option<GetAll<'_, HeaderValue>> {
        let headers = self.wire.as_ref().filter(|_| !is_reserved(name))?;
        Some(headers.get_all(name))
    }

    fn wire_texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.wire_values(name).into_iter().flatten();
        values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
    }

    /// The fields that carry what is under `name`.
    fn wire_names(&self, name: &str) -> impl Iterator<Item = &HeaderName> {
        let names = self.wire.iter().flat_map(|headers| headers.keys());
        names.filter(move |field| same_name(field.as_str(), name) && !is_reserved(field.as_str()))
    }

    fn original_spellings(&self) -> BTreeMap<String, String> {
        self.wire.as_deref().map(read_spellings).unwrap_or_default()
    }
}

impl<K, V> Extend<(K, V)> for Attachments
where
    K: Into<Cow<'static, str>>,
    V: Into<AttachmentValue>,
{
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        for (name, value) in iter {
            self.append(name, value);
        }
    }
}

impl<K, V> FromIterator<(K, V)> for Attachments
where
    K: Into<Cow<'static, str>>,
    V: Into<AttachmentValue>,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let mut all = Self::new();
        Extend::extend(&mut all, iter);
        all
    }
}

impl From<&'static str> for AttachmentValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for AttachmentValue {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Bytes> for AttachmentValue {
    fn from(bytes: Bytes) -> Self {
        Self::Binary(bytes)
    }
}

/// An attachment that HTTP cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachmentError {
    /// The name is no HTTP field name.
    #[error("attachment name {0:?} is not a valid HTTP field name")]
    Name(String),
    /// The value has a control character, such as a line break. Send such values as bytes.
    #[error("the value of attachment `{0}` has a control character; send it as bytes instead")]
    Value(String),
}

/// Whether `name` belongs to HTTP, gRPC or Triple, and so is never an attachment, with and without `-bin`.
///
/// `docs/spec/triple.md` §3 and §4. `user-agent`, `interface`, `timeout`, `retries` and `token` are not reserved: peers
/// send them as attachments and applications read them.
pub fn is_reserved(name: &str) -> bool {
    let is_listed = |name: &str| {
        let mut reserved = RESERVED.iter();
        reserved.any(|reserved| reserved.eq_ignore_ascii_case(name))
    };
    is_listed(name) || without_suffix(name).is_some_and(is_listed)
}

/// `name` without the `-bin` that Triple adds to that of a binary value. One that would be another such name, or none, stays
/// whole: what an attachment is called is also what it is found by.
fn plain_name(name: &str) -> &str {
    let plain = without_suffix(name).filter(|plain| !plain.is_empty());
    plain
        .filter(|plain| without_suffix(plain).is_none())
        .unwrap_or(name)
}

/// What carries the bytes that are called `name`, with or without `-bin`.
fn binary_field(name: &str) -> Cow<'_, str> {
    match without_suffix(name) {
        Some(_) => Cow::Borrowed(name),
        None => Cow::Owned(format!("{name}{BINARY_SUFFIX}")),
    }
}

fn without_suffix(name: &str) -> Option<&str> {
    let (plain, suffix) = name.split_at_checked(name.len().checked_sub(SUFFIX_LEN)?)?;
    suffix.eq_ignore_ascii_case(BINARY_SUFFIX).then_some(plain)
}

fn same_name(one: &str, other: &str) -> bool {
    // Most names differ in their lengths.
    matches!(one.len().abs_diff(other.len()), 0 | SUFFIX_LEN)
        && plain_name(one).eq_ignore_ascii_case(plain_name(other))
}

fn wire_name(name: &str) -> Result<HeaderName, AttachmentError> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| AttachmentError::Name(name.to_owned()))
}

/// `lower -> Original` from `tri-header-convert`: percent-encoded JSON. Another name is no spelling: it would give a peer a
/// way around the names that belong to the protocol.
fn read_spellings(headers: &HeaderMap) -> BTreeMap<String, String> {
    let Some(value) = headers.get(TRI_HEADER_CONVERT) else {
        return BTreeMap::new();
    };
    let json: Vec<u8> = percent_decode(value.as_bytes()).collect();
    let mut spellings: BTreeMap<String, String> = serde_json::from_slice(&json).unwrap_or_default();
    spellings.retain(|lower, original| original.eq_ignore_ascii_case(lower));
    spellings
}

fn read_wire<'a>(name: &'a str, value: &HeaderValue) -> (&'a str, AttachmentValue) {
    let raw = value.as_bytes();
    if name.ends_with(BINARY_SUFFIX)
        && let Ok(bytes) = BASE64.decode(raw)
    {
        return (plain_name(name), AttachmentValue::Binary(bytes.into()));
    }
    let value = match std::str::from_utf8(raw) {
        Ok(text) => AttachmentValue::Text(Cow::Owned(text.to_owned())),
        Err(_) => AttachmentValue::Binary(Bytes::copy_from_slice(raw)),
    };
    (name, value)
}

const BINARY_SUFFIX: &str = "-bin";
const SUFFIX_LEN: usize = BINARY_SUFFIX.len();
const TRI_HEADER_CONVERT: HeaderName = HeaderName::from_static("tri-header-convert");

/// Written without padding, read with and without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const RESERVED: [&str; 29] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-message",
    "grpc-retry-pushback-ms",
    "grpc-status",
    "grpc-status-details-bin",
    "grpc-timeout",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "tri-exception-code",
    "tri-header-convert",
    "tri-service-group",
    "tri-service-timeout",
    "tri-service-version",
    "triple-protocol-version",
    "triple-timeout-ms",
    "upgrade",
    "alt-svc",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn received(headers: &[(&'static str, &'static str)]) -> Attachments {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect(value);
            map.append(HeaderName::from_static(name), value);
        }
        Attachments::from_headers(map)
    }

    #[test]
    fn another_name_is_no_spelling_of_one() {
        let all = received(&[
            ("camel", "1"),
            ("user", "2"),
            (
                "tri-header-convert",
                "%7B%22camel%22%3A%22Camel%22%2C%22user%22%3A%22grpc-status%22%7D",
            ),
        ]);
        let names: Vec<_> = all.iter().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["Camel", "user"]);
    }

    #[test]
    fn lookup_ignores_case_and_repeated_values_keep_their_order() {
        let mut all = received(&[("multi", "b"), ("multi", "c")]);
        all.append("Multi", "a");
        assert_eq!(all.all("MULTI").collect::<Vec<_>>(), ["b", "c", "a"]);
        assert_eq!(all.get("multi"), Some("b"));
        all.insert("multi", "d");
        assert_eq!(all.all("multi").collect::<Vec<_>>(), ["d"]);
        assert!(all.remove("mULTI") && all.is_empty());
    }

    #[test]
    fn protocol_headers_are_not_attachments() {
        let all = received(&[("te", "trailers"), ("grpc-timeout", "1S"), ("token", "t")]);
        assert_eq!(all.get("grpc-timeout"), None);
        assert!(!all.contains("te"));
        let names: Vec<_> = all.iter().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["token"]);

        let mut out = HeaderMap::new();
        Attachments::from_iter([("grpc-status", "0"), ("k", "v")])
            .write_to(&mut out)
            .expect("valid");
        assert_eq!(out.len(), 1, "{out:?}");
    }

    #[test]
    fn a_java_peers_spelling_is_restored() {
        let all = received(&[
            ("userid", "7"),
            ("tri-header-convert", "%7B%22userid%22%3A%22userId%22%7D"),
        ]);
        let (name, value) = all.iter().next().expect("one");
        assert_eq!(name, "userId");
        assert_eq!(value, AttachmentValue::Text("7".into()));
        assert_eq!(all.get("userId"), Some("7"));
        assert_eq!(
            received(&[("a", "b"), ("tri-header-convert", "%7B")]).get("a"),
            Some("b")
        );
    }

    #[test]
    fn the_spelling_of_names_goes_along_for_java_peers() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("userId", "7"), ("TraceId", "x"), ("plain", "y")] {
            Attachments::from_iter([(name, value)]).write_spellings_to(&mut headers);
        }
        let values: Vec<_> = headers.get_all(TRI_HEADER_CONVERT).iter().collect();
        assert_eq!(values.len(), 1, "a repeated reserved name ends a Java call");
        headers.insert("userid", HeaderValue::from_static("7"));
        let back = Attachments::from_headers(headers.clone());
        let names: Vec<_> = back.iter().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["userId"]);
        let mut forwarded = HeaderMap::new();
        back.write_spellings_to(&mut forwarded);
        assert_eq!(forwarded[TRI_HEADER_CONVERT], headers[TRI_HEADER_CONVERT]);

        let mut none = HeaderMap::new();
        Attachments::from_iter([("plain", "y")]).write_spellings_to(&mut none);
        assert!(none.is_empty());
    }

    #[test]
    fn text_of_any_language_and_bytes_survive_the_wire() {
        let bytes = Bytes::from_static(&[0, 1, 0xfe, 0xff]);
        let mut sent = Attachments::new();
        sent.insert("City", "Zürich 中 😀");
        sent.insert("blob", bytes.clone());
        sent.insert("retries", "");
        let mut headers = HeaderMap::new();
        sent.write_to(&mut headers).expect("valid");
        assert_eq!(headers["blob-bin"], "AAH+/w");

        let back = Attachments::from_headers(headers);
        assert_eq!(back.get("city"), Some("Zürich 中 😀"));
        assert_eq!(back.get_bin("blob"), Some(bytes.clone()));
        assert_eq!(back.get_bin("blob-bin"), Some(bytes));
        assert_eq!(back.get("retries"), Some(""));
    }

    #[test]
    fn bytes_are_found_replaced_and_dropped_by_their_name_with_and_without_bin() {
        for name in ["blob", "blob-bin", "Blob", "BLOB-Bin"] {
            let mut all = received(&[("blob-bin", "AAE"), ("blob", "text"), ("bl", "x")]);
            assert!(all.contains(name), "{name}");
            all.insert(name, Bytes::from_static(&[2]));
            assert_eq!(all.get_bin(name).as_deref(), Some(&[2][..]), "{name}");
            let mut headers = HeaderMap::new();
            all.write_to(&mut headers).expect("valid");
            let mut sent: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_bytes()))
                .collect();
            sent.sort_unstable();
            assert_eq!(sent, [("bl", &b"x"[..]), ("blob-bin", b"Ag")], "{name}");

            assert!(all.remove("blob") && !all.contains(name), "{name}");
            assert!(!all.remove(name), "{name}");
        }
        let mut reserved = received(&[("grpc-status-details-bin", "AAE")]);
        assert!(!reserved.contains("grpc-status-details"));
        assert!(!reserved.remove("grpc-status-details"));
    }

    #[test]
    fn bytes_are_found_copied_and_dropped_by_the_name_that_they_are_given_with() {
        for field in [
            "x",
            "x-bin",
            "x-bin-bin",
            "x-bin-bin-bin",
            "-bin",
            "-bin-bin",
            "bin",
        ] {
            for value in ["AAE", "no base64"] {
                let mut all = received(&[(field, value)]);
                let (name, given) = all.iter().next().expect(field);
                let name = name.into_owned();
                assert!(all.contains(&name), "{field} {value}: {name}");
                if let AttachmentValue::Binary(bytes) = &given {
                    assert_eq!(all.get_bin(&name).as_ref(), Some(bytes), "{field}: {name}");
                }
                let mut headers = HeaderMap::new();
                let copy = Attachments::from_iter([(name.clone(), given)]);
                copy.write_to(&mut headers).expect("it came from headers");
                assert_eq!(headers[field], value, "{name}");
                assert!(all.remove(&name) && all.is_empty(), "{field}: {name}");
            }
        }
    }

    #[test]
    fn bytes_are_no_way_around_the_names_of_the_protocol() {
        for reserved in RESERVED {
            for name in [reserved.to_owned(), format!("{reserved}-bin")] {
                let mut headers = HeaderMap::new();
                headers.insert(
                    wire_name(&name).expect(&name),
                    HeaderValue::from_static("AAE"),
                );
                let all = Attachments::from_headers(headers);
                assert!(all.is_empty() && !all.contains(&name), "{name}");
                assert_eq!(all.get_bin(&name), None, "{name}");
                assert_eq!(all.get_bin(plain_name(&name)), None, "{name}");
                for name in [name.clone(), plain_name(&name).to_owned()] {
                    let own = Attachments::from_iter([(name.clone(), Bytes::from_static(&[1]))]);
                    let mut headers = HeaderMap::new();
                    own.write_to(&mut headers).expect("left out");
                    assert!(headers.is_empty(), "{name}: {headers:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_kept_is_told_by_names_as_they_are_spelled_without_bin() {
        let mut all = received(&[("blob-bin", "AAE"), ("a", "1"), ("te", "x")]);
        all.append("Path", "2");
        all.append("b-bin", Bytes::from_static(&[2]));
        let before = all.clone();
        let mut seen = Vec::new();
        all.retain(|name| {
            seen.push(name.to_owned());
            !matches!(name, "blob" | "Path")
        });
        seen.sort_unstable();
        assert_eq!(seen, ["Path", "a", "b", "blob"]);
        assert!(all.contains("a") && all.contains("b"));
        assert!(!all.contains("blob") && !all.contains("path"));
        assert!(before.contains("blob"), "a copy has its own");
    }

    #[test]
    fn what_is_removed_by_a_question_is_what_is_not_kept_by_its_opposite() {
        let mut all = received(&[("blob-bin", "AAE"), ("a", "1"), ("te", "x"), ("token", "t")]);
        all.append("Path", "2");
        let gone = |name: &str| matches!(name, "blob" | "Path" | "token" | "te");
        let mut kept = all.clone();
        kept.retain(|name| !gone(name));
        all.remove_where(gone);
        let names = |all: &Attachments| {
            all.iter()
                .map(|(name, _)| name.into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&all), ["a"]);
        assert_eq!(names(&all), names(&kept));
    }

    #[test]
    fn base64_is_read_padded_unpadded_and_joined() {
        for text in ["AAE", "AAE=", "AAE,AAEC"] {
            let all = received(&[("x-bin", text)]);
            assert_eq!(all.get_bin("x").as_deref(), Some(&[0, 1][..]), "{text}");
        }
        assert_eq!(received(&[("x-bin", "!")]).get_bin("x"), None);
    }

    #[test]
    fn what_http_cannot_carry_is_refused_by_name() {
        let refused = |name: &'static str, value: &'static str| {
            Attachments::from_iter([(name, value)])
                .write_to(&mut HeaderMap::new())
                .expect_err("refused")
        };
        assert_eq!(refused("bad", "a\nb"), AttachmentError::Value("bad".into()));
        assert_eq!(refused("b d", "x"), AttachmentError::Name("b d".into()));
        assert_eq!(refused("", "x"), AttachmentError::Name(String::new()));
    }
}
