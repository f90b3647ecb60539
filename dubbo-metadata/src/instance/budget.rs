//! Nacos refuses an instance whose metadata is too long (`docs/spec/metadata.md` §1.6).

use std::{cmp::Reverse, collections::BTreeMap};

use dubbo_core::text_map::TextMap;

use super::keys;

/// Leaves out what an instance can do without until `metadata` fits, and tells the keys of it: what is no key of Dubbo,
/// longest first, then the timestamp, then the revision of what is consumed. What is needed is never touched, fit or not.
pub(super) fn fit(metadata: &mut TextMap) -> Vec<String> {
    let mut surplus = length(metadata).saturating_sub(LIMIT);
    let mut optional: Vec<_> = metadata
        .iter()
        .filter_map(|(key, value)| {
            let rank = match key {
                key if NEEDED.contains(&key) => return None,
                keys::SUBSCRIBED_REVISION => 2,
                keys::TIMESTAMP => 1,
                _ => 0,
            };
            Some((rank, Reverse(units(key) + units(value)), key.to_owned()))
        })
        .collect();
    optional.sort_unstable();

    let mut left_out = Vec::new();
    for (_, Reverse(length), key) in optional {
        if surplus == 0 {
            break;
        }
        surplus = surplus.saturating_sub(length);
        metadata.remove(&key);
        left_out.push(key);
    }
    left_out
}

/// The length as Nacos counts it: Java's characters of keys and values.
pub(super) fn length(metadata: &TextMap) -> usize {
    metadata
        .iter()
        .map(|(key, value)| units(key) + units(value))
        .sum()
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What Nacos takes by default; one more is refused.
pub(super) const LIMIT: usize = 1024;

/// Without these an instance is not found, not understood or called wrongly.
const NEEDED: [&str; 8] = [
    keys::CLUSTER,
    keys::ENDPOINTS,
    keys::ENVIRONMENT,
    keys::META_V,
    keys::METADATA_SERVICE_PARAMS,
    keys::REVISION,
    keys::STORAGE_TYPE,
    keys::TAG,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(values: &[(&str, usize)]) -> BTreeMap<String, String> {
        // Characters beyond the basic plane count two.
        values
            .iter()
            .map(|(key, length)| {
                (
                    (*key).to_owned(),
                    "\u{1f600}".repeat((length - key.len()) / 2),
                )
            })
            .collect()
    }

    #[test]
    fn what_is_optional_goes_in_order_and_only_as_far_as_it_must() {
        for (values, want) in [
            (&[("dubbo.tag", 1023), ("z", 1)][..], &[][..]),
            (&[("dubbo.tag", 1023), ("zo", 2)], &["zo"]),
            (
                &[
                    ("dubbo.tag", 901),
                    ("a", 51),
                    ("b", 101),
                    ("timestamp", 101),
                ],
                &["b", "a"],
            ),
            (
                &[
                    ("dubbo.tag", 1001),
                    ("a", 11),
                    ("timestamp", 13),
                    ("dubbo.subscribed-services.revision", 134),
                ],
                &["a", "timestamp", "dubbo.subscribed-services.revision"],
            ),
            (&[("dubbo.tag", 2001), ("timestamp", 11)], &["timestamp"]),
            (&[("dubbo.tag", 2001)], &[]),
        ] {
            let mut metadata = metadata(values);
            assert_eq!(fit(&mut metadata), want, "{values:?}");
            assert!(metadata.contains_key("dubbo.tag"));
        }
    }
}
