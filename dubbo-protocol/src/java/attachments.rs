//! Attachments as the map that ends a body of the `dubbo` protocol (`docs/spec/dubbo-protocol.md` §6).

use std::borrow::Cow;

use dubbo_core::attachments::{AttachmentValue, Attachments};
use dubbo_hessian2::{DecodeError, Decoder, EncodeError, Encoder, Kind};

/// Writes an untyped map: text as strings, bytes as binary, and several values under one name as a list. The entries of
/// the protocol come first; they stand in for attachments of those names.
///
/// # Errors
///
/// There are more than the other side would read, or one of a form that is not known.
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
    check_size(protocol, &all)?;
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
            let Some(AttachmentValue::Text(name)) = scalar(decoder)? else {
                return decoder.skip();
            };
            reading.entry(name, decoder)
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
    fn entry(
        &mut self,
        name: Cow<'static, str>,
        decoder: &mut Decoder<'_>,
    ) -> Result<(), DecodeError> {
        self.count(name.len())?;
        if decoder.peek()? != Kind::List {
            return self.value(name, decoder);
        }
        decoder.read_list(|_| (), |(), decoder| self.value(name.clone(), decoder))
    }

    fn value(
        &mut self,
        name: Cow<'static, str>,
        decoder: &mut Decoder<'_>,
    ) -> Result<(), DecodeError> {
        let value = if decoder.null()? {
            Some("".into())
        } else {
            scalar(decoder)?
        };
        match value {
            Some(value) => {
                self.count(len(&value))?;
                self.values += 1;
                self.attachments.append(name, value);
            }
            None if self.left_out.iter().any(|known| *known == name) => {}
            None => self.left_out.push(name.into_owned()),
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

/// What the other side would not read is not written.
fn check_size(
    protocol: &[(&str, &str)],
    all: &[(Cow<'_, str>, AttachmentValue)],
) -> Result<(), EncodeError> {
    let count = protocol.len() + all.len();
    let own = protocol
        .iter()
        .map(|(name, value)| name.len() + value.len());
    let others = all.iter().map(|(name, value)| name.len() + len(value));
    let bytes: usize = own.chain(others).sum();
    if count <= MAX_VALUES && bytes <= MAX_BYTES {
        return Ok(());
    }
    let largest = all.iter().max_by_key(|(_, value)| len(value));
    let largest = largest.map_or_else(String::new, |(name, value)| {
        let name = shortened(name);
        format!(
            "; the largest is `{name}` with {} bytes: send it in the message",
            len(value)
        )
    });
    Err(EncodeError::custom(format!(
        "{count} attachments with {bytes} bytes are over the limit of {MAX_VALUES} with {MAX_BYTES}{largest}"
    )))
}

fn len(value: &AttachmentValue) -> usize {
    match value {
        AttachmentValue::Binary(bytes) => bytes.len(),
        AttachmentValue::Text(text) => text.len(),
        _ => 0,
    }
}

fn shortened(text: &str) -> &str {
    text.char_indices()
        .nth(40)
        .map_or(text, |(end, _)| &text[..end])
}

/// `docs/spec/dubbo-protocol.md` §9.3.
const MAX_VALUES: usize = 1024;
const MAX_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use dubbo_hessian2::{Value, from_slice, to_vec};

    use super::*;

    fn written(protocol: &[(&str, &str)], attachments: &Attachments) -> Vec<u8> {
        let mut encoder = Encoder::new();
        write_attachments_with(protocol, attachments, &mut encoder).expect("written");
        encoder.into_bytes()
    }

    fn read(bytes: &[u8]) -> Result<Vec<(String, AttachmentValue)>, String> {
        let read = read_attachments(&mut Decoder::new(bytes)).map_err(|error| error.to_string())?;
        let all = read.iter();
        Ok(all
            .map(|(name, value)| (name.into_owned(), value))
            .collect())
    }

    #[test]
    fn the_map_is_untyped_and_repeated_names_are_one_entry() {
        let mut attachments =
            Attachments::from_iter([("k", "v"), ("Multi", "a"), ("PATH", "mine")]);
        attachments.append("blob", Bytes::from_static(&[0, 255]));
        attachments.append("multi", "b");
        let bytes = written(&[("path", "x.Users")], &attachments);
        assert_eq!(bytes[0], b'H');
        let value: Value = from_slice(&bytes).expect("a map");
        let entries = [
            ("path", "x.Users".into()),
            ("k", "v".into()),
            ("Multi", Value::list(["a".into(), "b".into()])),
            ("blob", Value::from(vec![0_u8, 255])),
        ];
        let want = entries.map(|(name, value)| (name.into(), value));
        assert_eq!(value, Value::map(want));

        let back = read_attachments(&mut Decoder::new(&bytes)).expect("read");
        assert_eq!(back.all("multi").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(back.get_bin("blob").as_deref(), Some(&[0, 255][..]));
    }

    #[test]
    fn every_form_of_a_map_is_read_and_its_values_become_text() {
        let text = |text: &'static str| AttachmentValue::from(text);
        let bytes = AttachmentValue::Binary(Bytes::from_static(&[1]));
        for (value, want) in [
            ("v".into(), vec![text("v")]),
            (true.into(), vec![text("true")]),
            (7.into(), vec![text("7")]),
            ((1_i64 << 40).into(), vec![text("1099511627776")]),
            (1.0.into(), vec![text("1.0")]),
            (Value::Null, vec![text("")]),
            (Value::from(vec![1_u8]), vec![bytes]),
            (
                Value::typed_list(
                    "[object",
                    ["a".into(), Value::Null, 2.into(), Value::list([])],
                ),
                vec![text("a"), text(""), text("2")],
            ),
            (Value::list([]), vec![]),
            (Value::map([("k".into(), "v".into())]), vec![]),
            (Value::object("x.User", [("k", "v".into())]), vec![]),
        ] {
            let entries = [("a".into(), value.clone()), ("z".into(), "end".into())];
            let want: Vec<_> = want
                .into_iter()
                .map(|value| ("a".to_owned(), value))
                .chain([("z".to_owned(), text("end"))])
                .collect();
            for map in [
                Value::map(entries.clone()),
                Value::typed_map("java.util.LinkedHashMap", entries),
            ] {
                let bytes = to_vec(&map).expect("written");
                assert_eq!(read(&bytes).as_ref(), Ok(&want), "{value:?}");
            }
        }
    }

    #[test]
    fn keys_that_are_no_text_are_left_out() {
        let map = Value::map([
            (7.into(), "number".into()),
            (Value::Null, "null".into()),
            (Value::list([]), Value::list([1.into()])),
            ("k".into(), "v".into()),
        ]);
        let read = read(&to_vec(&map).expect("written")).expect("read");
        let names: Vec<_> = read.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["7", "k"], "a number has a text");
    }

    #[test]
    fn what_stands_for_no_attachments_is_none_and_what_does_not_is_an_error() {
        for none in [&b""[..], b"N", b"\x00", b"HZ"] {
            assert_eq!(read(none), Ok(vec![]), "{none:?}");
        }
        for (bytes, part) in [
            (&b"\x03abc"[..], "the text \"abc\""),
            (b"\x91", "expected"),
            (b"H\x01k", "more bytes"),
        ] {
            let error = read(bytes).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn as_much_is_written_as_is_read_and_no_more() {
        let protocol = [("path", "x.Users")];
        let many = |count: usize| (1..count).map(|n| (format!("k{n}"), "v"));
        let text =
            |len: usize| Attachments::from_iter([("big", "v".repeat(len)), ("k", "v".into())]);
        let rest = "pathx.Usersbigkv".len();
        for most in [many(MAX_VALUES).collect(), text(MAX_BYTES - rest)] {
            let bytes = written(&protocol, &most);
            read_attachments(&mut Decoder::new(&bytes)).expect("read");
        }
        for (more, largest) in [
            (many(MAX_VALUES + 1).collect(), "`k"),
            (text(MAX_BYTES - rest + 1), "`big` with 65521 bytes"),
        ] {
            let error = write_attachments_with(&protocol, &more, &mut Encoder::new());
            let error = error.expect_err(largest).to_string();
            assert!(
                error.contains("over the limit of 1024 with 65536"),
                "{error}"
            );
            assert!(
                error.contains(&format!("; the largest is {largest}")),
                "{error}"
            );
        }
    }

    #[test]
    fn what_a_peer_may_send_is_bounded() {
        let many = |count: i32| (0..count).map(|n| (n.to_string().into(), "v".into()));
        assert_eq!(
            read(&to_vec(&Value::map(many(1024))).expect("written")).map(|all| all.len()),
            Ok(1024)
        );
        let list = Value::list((0..1025).map(Value::from));
        for map in [
            Value::map(many(1025)),
            Value::map([("k".into(), list)]),
            Value::map([("k".into(), "v".repeat(64 << 10).into())]),
            Value::map([
                ("k".repeat(64 << 10).into(), Value::list([])),
                ("l".into(), "v".into()),
            ]),
        ] {
            let error = read(&to_vec(&map).expect("written")).expect_err("too much");
            assert!(error.contains("more than 1024 attachments"), "{error}");
        }
    }
}
