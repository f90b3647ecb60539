//! Nacos refuses an instance whose metadata is too long (`docs/spec/metadata.md` §1.6).

use std::cmp::Reverse;

use dubbo_core::text_map::TextMap;

use super::keys;

/// Leaves out what an instance can do without until `metadata` fits, and tells what that was: what is no key of Dubbo, be it
/// a label or a customizer's, longest first, then the timestamp, then the revision of what is consumed. What is needed is
/// never touched, fit or not.
pub(super) fn fit(metadata: &mut TextMap) -> Fit {
    let mut surplus = length(metadata).saturating_sub(LIMIT);
    let mut optional: Vec<_> = metadata
        .iter()
        .filter_map(|(key, value)| {
            let rank = match key {
                key if keys::OWN.contains(&key) || NEEDED.contains(&key) => return None,
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
    Fit { left_out, surplus }
}

/// What it took to make metadata short enough.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// Keys.
    left_out: Vec<String>,
    /// By how much it is still too long.
    surplus: usize,
}

impl Fit {
    /// What to say about it, if anything.
    pub(super) fn complaint(&self) -> Option<String> {
        let mut text = match (&*self.left_out, self.surplus) {
            ([], 0) => return None,
            _ => format!(
                "the metadata of the instance is longer than the {LIMIT} characters that Nacos takes"
            ),
        };
        if !self.left_out.is_empty() {
            text = format!("{text}; left out: {}", self.left_out.join(", "));
        }
        if self.surplus > 0 {
            text = format!(
                "{text}; it is still {} too long, but all the rest is needed",
                self.surplus
            );
        }
        Some(text)
    }
}

/// The length as Nacos counts it: Java's characters of keys and values.
fn length(metadata: &TextMap) -> usize {
    metadata
        .iter()
        .map(|(key, value)| units(key) + units(value))
        .sum()
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What Nacos takes by default; one more is refused.
const LIMIT: usize = 1024;

/// Without these and the framework's [own](keys::OWN) an instance is called wrongly.
const NEEDED: [&str; 5] = [
    keys::ENVIRONMENT,
    keys::HEARTBEAT_TIMEOUT,
    keys::IPV6,
    keys::TAG,
    keys::WEIGHT,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(values: &[(&str, usize)]) -> TextMap {
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
            // Each rank by itself: what is of the next one stays as long as that is enough.
            (
                &[("dubbo.tag", 1001), ("mine", 100), ("timestamp", 23)],
                &["mine"],
            ),
            (
                &[
                    ("dubbo.tag", 881),
                    ("timestamp", 23),
                    ("dubbo.subscribed-services.revision", 134),
                ],
                &["timestamp"],
            ),
            (
                &[
                    ("dubbo.tag", 891),
                    ("dubbo.subscribed-services.revision", 134),
                ],
                &["dubbo.subscribed-services.revision"],
            ),
            (&[("dubbo.tag", 2001), ("timestamp", 11)], &["timestamp"]),
            (&[("dubbo.tag", 2001)], &[]),
        ] {
            let mut metadata = metadata(values);
            assert_eq!(fit(&mut metadata).left_out, want, "{values:?}");
            assert!(metadata.contains_key("dubbo.tag"));
        }
    }

    #[test]
    fn what_is_needed_is_never_shortened() {
        for key in keys::OWN.into_iter().chain(NEEDED) {
            let mut metadata = metadata(&[(key, 2000), ("label", 10)]);
            let before = metadata[key].to_owned();
            assert_eq!(fit(&mut metadata).left_out, ["label"], "{key}");
            assert_eq!(metadata[key], before, "{key}");
        }
    }

    #[test]
    fn it_is_said_what_is_missing_and_what_is_too_long_nevertheless() {
        for (values, want) in [
            (&[("dubbo.tag", 1023)][..], None),
            (&[("dubbo.tag", 1001), ("a", 101)], Some("; left out: a")),
            (
                &[("dubbo.tag", 1101), ("a", 11), ("timestamp", 23)],
                Some(
                    "; left out: a, timestamp; it is still 77 too long, but all the rest is needed",
                ),
            ),
            (
                &[("dubbo.tag", 1027)],
                Some("; it is still 3 too long, but all the rest is needed"),
            ),
        ] {
            let complaint = fit(&mut metadata(values)).complaint();
            let want = want.map(|more| {
                format!("the metadata of the instance is longer than the 1024 characters that Nacos takes{more}")
            });
            assert_eq!(complaint, want);
        }
    }
}
