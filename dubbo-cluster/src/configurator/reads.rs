//! Who reads which option, and when: what has to be made anew when a rule changes it.

use dubbo_core::url::Url;

/// Whether what was made with `old` is what would be made with `new`: they differ at most in what is read anew whenever a
/// rule changes it.
pub(crate) fn are_made_alike(old: &Url, new: &Url) -> bool {
    let read = |url: &Url| {
        let params = url.params().filter(|(key, _)| !is_read_anew(key));
        let params = params.map(|(key, value)| (key.to_owned(), value.to_owned()));
        params.collect::<Vec<_>>()
    };
    old == new || read(old) == read(new)
}

fn is_read_anew(key: &str) -> bool {
    OF_NODES.contains(&key) || is_of_reference(key)
}

/// Whether `key` is an option of calls, for all methods or for one.
pub(crate) fn is_of_reference(key: &str) -> bool {
    let of_method = key
        .strip_prefix("methods.")
        .and_then(|key| key.rsplit_once('.'));
    let key = of_method.map_or(key, |(_, key)| key);
    OF_REFERENCES.contains(&key)
}

/// Read where a provider is chosen.
const OF_NODES: [&str; 4] = ["disabled", "dubbo.tag", "warmup", "weight"];

/// Read where clusters are joined.
const OF_REFERENCES: [&str; 5] = ["cluster", "loadbalance", "retries", "sticky", "timeout"];
