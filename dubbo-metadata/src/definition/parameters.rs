//! Which parameters of a URL are told to everybody who can read a metadata report.

use std::collections::BTreeMap;

use bytes::Bytes;
use dubbo_core::url::Url;

use super::model::json;

/// What is stored about a consumer: the parameters of its URL as a JSON object, except for the paths of files, for what
/// looks like a secret, and for those called one of `secrets`.
pub fn consumer_parameters<S: AsRef<str>>(consumer: &Url, secrets: &[S]) -> Bytes {
    json(&told(consumer, secrets))
}

/// The parameters of `url`, without those that are empty, hidden, secret, or the path of a file.
pub(super) fn told<S: AsRef<str>>(url: &Url, secrets: &[S]) -> BTreeMap<String, String> {
    let params = url.params();
    let told = params
        .filter(|(key, value)| !value.is_empty() && !is_private(key) && !is_one_of(key, secrets));
    told.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Whether nobody but those who call each other is to know of the parameter. Plugins name theirs as they like, so whatever
/// looks like a secret is one.
fn is_private(key: &str) -> bool {
    // `access-key-id`, `accessKeyId` and `access.key.id` are one name.
    let letters = key.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    key.starts_with('.') || PRIVATE.iter().any(|word| letters.contains(word))
}

/// Whether the parameter is called so, or is that of a method.
fn is_one_of<S: AsRef<str>>(key: &str, secrets: &[S]) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    secrets
        .iter()
        .map(AsRef::as_ref)
        .any(|secret| secret.eq_ignore_ascii_case(key) || secret.eq_ignore_ascii_case(last))
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
