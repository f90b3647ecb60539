//! Trees of paths, and what was found in those of live peers.

pub(crate) mod recorded;

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
