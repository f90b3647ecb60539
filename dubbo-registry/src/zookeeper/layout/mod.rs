//! Which nodes there are and what they are called (`docs/spec/registry.md` §2; what etcd has too is in [`crate::tree`]).

mod instances;

#[cfg(test)]
mod tests;

pub(super) use instances::Instances;

/// Whether the name of a node says all that there is to know of it: it is an encoded URL. Its data may be anything, such
/// as the address of a Java process.
pub(super) fn says_all(name: &str) -> bool {
    let is_encoded = |at: usize| {
        let rest = &name.as_bytes()[at..];
        rest.len() >= MARK.len() && rest[..MARK.len()].eq_ignore_ascii_case(MARK.as_bytes())
    };
    name.match_indices('%').any(|(at, _)| is_encoded(at))
}

/// `://`.
const MARK: &str = "%3A%2F%2F";
