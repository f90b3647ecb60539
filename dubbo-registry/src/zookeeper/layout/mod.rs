//! Which nodes there are and what they are called (`docs/spec/registry.md` §2, §7, §8.1).

mod instances;
mod interfaces;
mod texts;

#[cfg(test)]
mod golden;

use dubbo_core::url::Url;

pub(super) use instances::Instances;
pub(super) use interfaces::Interfaces;
pub(super) use texts::Texts;

/// The path of `name` below `parent`.
pub(super) fn join(parent: &str, name: &str) -> String {
    format!("{}/{name}", parent.strip_suffix('/').unwrap_or(parent))
}

/// Whether the name of a node says all that there is to know of it: it is an encoded URL. Its data may be anything, such
/// as the address of a Java process.
pub(super) fn says_all(name: &str) -> bool {
    let is_encoded = |at: usize| {
        let rest = &name.as_bytes()[at..];
        rest.len() >= MARK.len() && rest[..MARK.len()].eq_ignore_ascii_case(MARK.as_bytes())
    };
    name.match_indices('%').any(|(at, _)| is_encoded(at))
}

/// The node below which everything stands: the parameter `group`, with or without a slash at its beginning.
fn root(url: &Url, default: &str) -> String {
    let group = url.param("group").filter(|group| !group.is_empty());
    absolute(group.unwrap_or(default))
}

/// The path with one slash at its beginning and none at its end; empty for the root itself.
fn absolute(path: &str) -> String {
    match path.trim_matches('/') {
        "" => String::new(),
        path => format!("/{path}"),
    }
}

/// `://`.
const MARK: &str = "%3A%2F%2F";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_has_one_slash_at_its_beginning() {
        for (url, want) in [
            ("zookeeper://h", "/dubbo"),
            ("zookeeper://h?group=", "/dubbo"),
            ("zookeeper://h?group=g1", "/g1"),
            ("zookeeper://h?group=/g1/", "/g1"),
            ("zookeeper://h?group=/a/b", "/a/b"),
            ("zookeeper://h?group=/", ""),
        ] {
            assert_eq!(root(&url.parse().expect(url), "/dubbo"), want, "{url}");
        }
    }

    #[test]
    fn a_url_is_told_from_another_name() {
        for (name, want) in [
            ("tri%3A%2F%2Fh%2Fa.B", true),
            ("tri%3a%2f%2fh", true),
            ("10.0.0.1:1", false),
            ("a%3A%2F", false),
            ("%", false),
            ("é%3A%2F%2Fé", true),
        ] {
            assert_eq!(says_all(name), want, "{name}");
        }
    }
}
