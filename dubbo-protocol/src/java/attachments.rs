//! Attachments as the map that ends a body of the `dubbo` protocol (`docs/spec/dubbo-protocol.md` §6).

use std::borrow::Cow;

use dubbo_core::attachments::{AttachmentValue, Attachments};
use dubbo_hessian2::{DecodeError, Decoder, EncodeError, Encoder, Kind};

/// Writes an untyped map: text as strings, bytes as binary, and several values under one name as a list. The entries of
/// the protocol come first; they stand in for attachments of those names.
pub(crate) fn write_attachments_with(
    protocol: &[(&str, &str)],
    attachments: &Attachments,
    encoder: &mut Encoder,
) -> Result<(), EncodeError> {
    let is_protocols = |name: &str| {
        protocol
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(name))
    };
    let all: Vec<_> = attachments
        .iter()
        .filter(|(name, _)| !is_protocols(name))
        .collect();
    encoder.begin_map(None);
    for (name, value) in protocol {
        encoder.str(name);
        encoder.str(value);
    }
    for (index, (name, _)) in all.iter().enumerate() {
        let same = |(other, _): &&(Cow<'_, str>, AttachmentValue)| name.eq_ignore_ascii_case(other);
        if all[..index].iter().any(|one| same(&one)) {
            continue;
        }
        encoder.str(name);
        let values = all[index..].iter().filter(same);
        let count = values.clone().count();
        if count > 1 {
            encoder.begin_list(None, count);
        }
        for (_, value) in values {
            write_value(value, encoder)?;
        }
    }
    encoder.end_map();
    Ok(())
}

/// Reads any form of a map; null, an empty string and the end of the input are no attachments.
///
/// Numbers and booleans become text, lists several values, null an empty text. What has no text, a map or an object, is
/// left out, and the log says so once.
pub(crate) fn read_attachments(decoder: &mut Decoder<'_>) -> Result<Attachments, DecodeError> {
    let mut reading = Reading::default();
    if decoder.is_at_end() || decoder.null()? {
        return Ok(reading.attachments);
    }
    if decoder.peek()? == Kind::String {
        let text = decoder.str()?;
        return if text.is_empty() {
            Ok(reading.attachments)
        } else {
            Err(DecodeError::custom(format!(
                "attachments are a map, and here is the text {:?}",
                shortened(&text)
            )))
        };
    }
    decoder.read_map(
        || (),
        |(), decoder| {
            let name = match scalar(decoder)? {
                Some(AttachmentValue::Text(name)) => name.into_owned(),
                _ => return decoder.skip(),
            };
            reading.entry(&name, decoder)
        },
    )?;
    if !reading.left_out.is_empty() {
        tracing::warn!(
            names = reading.left_out.join(", "),
            "attachments left out: only text, numbers, bytes and lists of them can be read"
        );
    }
    Ok(reading.attachments)
}

#[derive(Default)]
struct Reading {
    attachments: Attachments,
    left_out: Vec<String>,
    values: usize,
    bytes: usize,
}

impl Reading {
    fn entry(&mut self, name: &str, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        self.count(name.len())?;
        if decoder.peek()? != Kind::List {
            return self.value(name, decoder);
        }
        decoder.read_list(|_| (), |(), decoder| self.value(name, decoder))
    }

    fn value(&mut self, name: &str, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let value = if decoder.null()? {
            Some("".into())
        } else {
            scalar(decoder)?
        };
        match value {
            Some(value) => {
                self.count(match &value {
                    AttachmentValue::Binary(bytes) => bytes.len(),
                    AttachmentValue::Text(text) => text.len(),
                    _ => 0,
                })?;
                self.values += 1;
                self.attachments.append(name.to_owned(), value);
            }
            None if self.left_out.iter().any(|known| known == name) => {}
            None => self.left_out.push(name.to_owned()),
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.bytes += bytes;
        if self.values >= MAX_VALUES || self.bytes > MAX_BYTES {
            return Err(DecodeError::custom(format!(
                "more than {MAX_VALUES} attachments, or than {MAX_BYTES} bytes of them"
            )));
        }
        Ok(())
    }
}

/// What has a text or is bytes; `None` for everything else, which is skipped.
fn scalar(decoder: &mut Decoder<'_>) -> Result<Option<AttachmentValue>, DecodeError> {
    Ok(Some(match decoder.peek()? {
        Kind::Bool => decoder.bool()?.to_string().into(),
        Kind::Int | Kind::Long => decoder.long()?.to_string().into(),
        // `1.0`, as Java prints it.
        Kind::Double => format!("{:?}", decoder.double()?).into(),
        Kind::String => decoder.string()?.into(),
        Kind::Bytes => AttachmentValue::Binary(decoder.bytes()?.into_owned().into()),
        _ => {
            decoder.skip()?;
            return Ok(None);
        }
    }))
}

fn write_value(value: &AttachmentValue, encoder: &mut Encoder) -> Result<(), EncodeError> {
    match value {
        AttachmentValue::Text(text) => encoder.str(text),
        AttachmentValue::Binary(bytes) => encoder.bytes(bytes),
        other => {
            return Err(EncodeError::custom(format!(
                "an attachment cannot be written: {other:?}"
            )));
        }
    }
    Ok(())
}

fn shortened(text: &str) -> &str {
    text.char_indices()
        .nth(40)
        .map_or(text, |(end, _)| &text[..end])
}

/// `docs/spec/dubbo-protocol.md` §9.3.
const MAX_VALUES: usize = 1024;
const MAX_BYTES: usize = 64 * 1024;
