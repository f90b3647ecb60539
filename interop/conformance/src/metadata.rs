//! Attachments as the suite's headers, and the other way round.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use dubbo::{AttachmentValue, Attachments};

use crate::suite::Header;

/// `attachments` by their names; binary values as they travel, in base64 under a `-bin` name.
pub(crate) fn headers(attachments: &Attachments) -> Vec<Header> {
    let mut headers: Vec<Header> = Vec::new();
    for (name, value) in attachments.iter() {
        let (name, value) = match value {
            AttachmentValue::Binary(bytes) => {
                (format!("{name}{BINARY}"), STANDARD_NO_PAD.encode(bytes))
            }
            AttachmentValue::Text(text) => (name.into_owned(), text.into_owned()),
            other => (name.into_owned(), format!("{other:?}")),
        };
        match headers.iter_mut().find(|header| header.name == name) {
            Some(header) => header.value.push(value),
            None => headers.push(Header {
                name,
                value: vec![value],
            }),
        }
    }
    headers
}

/// Each value of `headers` with its name, as attachments take it.
pub(crate) fn values(headers: &[Header]) -> impl Iterator<Item = (String, AttachmentValue)> {
    headers.iter().flat_map(|header| {
        let values = header.value.iter();
        values.map(|value| parse(&header.name, value))
    })
}

fn parse(name: &str, value: &str) -> (String, AttachmentValue) {
    if let Some(plain) = name.strip_suffix(BINARY)
        && let Ok(bytes) = STANDARD_NO_PAD.decode(value.trim_end_matches('='))
    {
        return (plain.to_owned(), AttachmentValue::Binary(bytes.into()));
    }
    (name.to_owned(), value.to_owned().into())
}

const BINARY: &str = "-bin";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_bytes_travel_as_base64() {
        let all = [
            ("x-custom", &["foo", "bar"][..]),
            ("x-blob-bin", &["AAH+/w"]),
        ];
        let all = all.map(|(name, values)| Header {
            name: name.to_owned(),
            value: values.iter().map(|&value| value.to_owned()).collect(),
        });
        let attachments: Attachments = values(&all).collect();
        assert_eq!(
            attachments.get_bin("x-blob").as_deref(),
            Some(&[0, 1, 0xfe, 0xff][..])
        );
        assert_eq!(headers(&attachments), all);
    }
}
