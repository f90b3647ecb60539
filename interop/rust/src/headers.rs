//! Attachments as lines, the way every peer prints them.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use dubbo::{AttachmentValue, Attachments};

/// `name: value` each, names in lower case and sorted; binary values as they travel, in base64 under a `-bin` name.
pub(crate) fn lines(attachments: &Attachments) -> Vec<String> {
    pairs(attachments)
        .into_iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect()
}

/// The same as pairs.
pub(crate) fn pairs(attachments: &Attachments) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = attachments
        .iter()
        .map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            match value {
                AttachmentValue::Text(text) => (name, text.into_owned()),
                AttachmentValue::Binary(bytes) => {
                    (format!("{name}{BINARY}"), STANDARD_NO_PAD.encode(bytes))
                }
                other => (name, format!("{other:?}")),
            }
        })
        .collect();
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    pairs
}

/// What travels as `name: value`, as an attachment.
pub(crate) fn parse(name: &str, value: &str) -> (String, AttachmentValue) {
    if let Some(plain) = name.strip_suffix(BINARY)
        && let Ok(bytes) = STANDARD_NO_PAD.decode(value)
    {
        return (plain.to_owned(), AttachmentValue::Binary(bytes.into()));
    }
    (name.to_owned(), value.to_owned().into())
}

const BINARY: &str = "-bin";
