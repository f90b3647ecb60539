//! Names of nodes, and what live peers made.

mod golden;

use super::*;

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
