//! Paths as keys: what is below a path is a range of keys.

use bytes::Bytes;

use super::messages::KeyValue;

/// The key of `path`.
pub(super) fn key(path: &str) -> Bytes {
    Bytes::copy_from_slice(path.as_bytes())
}

/// The first key below `path`, and the first that no longer is.
pub(super) fn below(path: &str) -> (Bytes, Bytes) {
    let path = path.strip_suffix('/').unwrap_or(path);
    (key(&format!("{path}/")), below_end(path.as_bytes()))
}

/// The first key that is no longer below `path`: `0` comes right after `/`.
pub(super) fn below_end(path: &[u8]) -> Bytes {
    [path, b"0"].concat().into()
}

/// The key that comes right after `key`.
pub(super) fn after(key: &[u8]) -> Bytes {
    [key, b"\0"].concat().into()
}

/// What the key of `item` has after `first`. One that is no text is nobody's.
pub(super) fn name_of<'i>(item: &'i KeyValue, first: &[u8]) -> Option<&'i str> {
    let name = item.key.strip_prefix(first)?;
    std::str::from_utf8(name)
        .ok()
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_a_path_is_what_has_a_slash_after_it() {
        let (first, end) = below("/a");
        assert_eq!(below("/a/"), (first.clone(), end.clone()));
        for (key, want) in [
            ("/a", false),
            ("/a.b", false),
            ("/a.b/c", false),
            ("/a/", true),
            ("/a/b", true),
            ("/a/~/c", true),
            ("/a0", false),
            ("/ab/c", false),
        ] {
            let is_in = first <= key.as_bytes() && key.as_bytes() < end;
            assert_eq!(is_in, want, "{key}");
        }
        let (first, end) = below("/");
        assert_eq!((&*first, &*end), (&b"/"[..], &b"0"[..]));
    }

    #[test]
    fn a_name_is_what_is_below() {
        let (first, _) = below("/a");
        let name = |key: &'static [u8]| {
            let item = KeyValue {
                key: Bytes::from_static(key),
                ..KeyValue::default()
            };
            name_of(&item, &first).map(str::to_owned)
        };
        assert_eq!(name(b"/a/b").as_deref(), Some("b"));
        assert_eq!(name(b"/a/b/c").as_deref(), Some("b/c"));
        for other in [&b"/a/"[..], b"/a", b"/b/c", b"/a/\xff", b""] {
            assert_eq!(name(other), None, "{other:?}");
        }
    }
}
