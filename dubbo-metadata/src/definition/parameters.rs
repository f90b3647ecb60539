//! Which parameters of a URL are told to everybody who can read a metadata report.

use std::collections::BTreeMap;

use bytes::Bytes;
use dubbo_core::url::Url;

use super::model::json;

/// What is stored about a consumer: the parameters of its URL as a JSON object, except for secrets and the paths of files.
pub fn consumer_parameters(consumer: &Url) -> Bytes {
    json(&told(consumer))
}

/// The parameters of `url`, without those that are empty, hidden, secret, or the path of a file.
pub(super) fn told(url: &Url) -> BTreeMap<String, String> {
    let params = url.params();
    let told = params.filter(|(key, value)| !value.is_empty() && !is_private(key));
    told.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Whether nobody but those who call each other is to know of the parameter. Plugins name theirs as they like, so whatever
/// looks like a secret is one.
fn is_private(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    // `access-key-id`, `accessKeyId` and `access.key.id` are one name.
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    key.starts_with('.') || PRIVATE.iter().any(|word| letters.contains(word))
}

const PRIVATE: [&str; 11] = [
    "accesskey",
    "apikey",
    "certfile",
    "chainpath",
    "collectionpath",
    "credential",
    "keyfile",
    "passw",
    "privatekey",
    "secret",
    "token",
];
